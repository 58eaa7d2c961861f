"""Tests that take minutes: S3 away while Pitwall goes on, and three runs of a thousand."""

from __future__ import annotations

import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import NamedTuple

import pytest

from reports.runs.run_report import RunReport, report_on
from service import lake_shipping
from service.fleet import Fleet
from service.lake_shipping import LakeShipping
from storage.lake.config import LakeConfig
from storage.lake.connection import opened_lake
from storage.lake.upkeep import CompactionResult, compact
from storage.queries.run_queries import RunFilter, find_runs
from tests.storage.lake.boxes import Box, assert_no_orphan, assert_whole
from tests.storage.lake.servers import S3Server

pytestmark = [pytest.mark.lake, pytest.mark.timeout(1800)]

Boxes = Callable[[str], Box]
AWAY_S = float(os.environ.get("PITWALL_LAKE_AWAY_S", "120"))
RUNS = int(os.environ.get("PITWALL_LAKE_RUNS", "1000"))
WRITERS = 4
LAPS = int(os.environ.get("PITWALL_LAKE_LAPS", "30"))  # commits of each writer before the compaction
PAUSE_S = 1.0  # between two commits of a writer; the product's is a minute
AFTER = 3  # commits of each writer once the compaction has ended


def test_s3_outage_costs_nothing_and_catches_up(
    boxes: Boxes, config: LakeConfig, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread itself ships, with shorter pauses; runs are measured and sealed all the while."""
    monkeypatch.setattr(lake_shipping, "LONGEST_PAUSE_S", 10.0)
    box = boxes("one")
    shipping = LakeShipping(box.settings, box.store, every_s=1.0)
    shipping.start()
    try:
        box.add_runs("before-", 3)
        wait_for(lambda: shipping.state.shipped_parts == 12, shipping)
        s3.stop_hard()
        end, laps = time.monotonic() + AWAY_S, 0
        try:
            while time.monotonic() < end:
                box.add_runs(f"away{laps:03}-", 1)
                assert box.store.health().is_storing
                laps += 1
                time.sleep(2.0)
            wait_for(lambda: shipping.state.failure is not None, shipping)
            assert shipping.state.shipped_parts == 12, "nothing can be shipped to it"
        finally:
            s3.start()
        wait_for(lambda: shipping.state.failure is None, shipping)
        wait_for(lambda: shipping.state.shipped_parts == 12 + 4 * laps, shipping)
    finally:
        shipping.close(60.0)
    assert_whole(config, box)
    compact(config, kept_days=0)
    assert_whole(config, box)
    assert_no_orphan(config)


def wait_for(holds: Callable[[], bool], shipping: LakeShipping) -> None:
    end = time.monotonic() + 600
    while not holds():
        assert time.monotonic() < end, shipping.state
        time.sleep(0.2)


def test_three_runs_of_a_thousand_are_read_once(boxes: Boxes, s3: S3Server) -> None:
    """Equal to the digit; what was read is not asked for again, so it is there while the files are not."""
    box, other_boxes = boxes("one"), boxes("other")
    for first in range(0, RUNS, 100):
        box.add_runs(f"r{first:05}-", min(100, RUNS - first), seconds=5)
    assert box.ship().records == RUNS
    ids = [run.id for run in find_runs(box.store, RunFilter(), RUNS)]
    picked = [ids[0], ids[len(ids) // 2], ids[-1]]
    expected = report_on(box.store, box.store.runs_of(picked))
    with closing(Fleet(other_boxes.settings, other_boxes.store)) as fleet:
        assert [run.id for run in find_runs(fleet, RunFilter(), RUNS)] == ids
        assert_equal(expected, report_on(fleet.queryable_for(picked), fleet.runs_of(picked)))
        s3.stop_hard()
        try:
            assert_equal(expected, report_on(fleet.queryable_for(picked), fleet.runs_of(picked)))
        finally:
            s3.start()


def assert_equal(expected: Sequence[RunReport], run_reports: Sequence[RunReport]) -> None:
    for here, run_report in zip(expected, run_reports, strict=True):
        assert here.windows and here.windows == run_report.windows
        assert (here.summary, here.requests) == (run_report.summary, run_report.requests)


def test_a_run_that_got_new_parts_is_read_anew(boxes: Boxes) -> None:
    box, other_boxes = boxes("one"), boxes("other")
    box.add_runs("a", 2)
    box.ship()
    with closing(Fleet(other_boxes.settings, other_boxes.store)) as fleet:
        copies = fleet.queryable_for(["a000", "a001"])
        counted = "SELECT count(*) AS n FROM gpu_samples WHERE run_id = 'a000'"
        before = copies.query(counted).to_pylist()[0]["n"]
        box.add_run("a000")  # as if it had gone on: its rows come once more, as another part
        box.seal()
        assert box.ship().parts
        assert fleet.queryable_for(["a000", "a001"]).query(counted).to_pylist() == [{"n": 2 * before}]
        assert find_runs(fleet, RunFilter(), 9) == fleet.runs_of(["a001", "a000"])


class Try(NamedTuple):
    """One try of a writer at a commit, by the monotonic clock."""

    began_s: float
    ended_s: float
    parts: int
    is_held: bool


def test_compaction_ends_beside_four_writers(boxes: Boxes, config: LakeConfig) -> None:
    """A compaction waits for the commits under way; writers try again and lose nothing before, during or after it."""
    many = [boxes(f"box{number}") for number in range(WRITERS)]
    goes_on = [threading.Event() for _ in many]
    is_over = threading.Event()
    with ThreadPoolExecutor(WRITERS) as pool:
        writers = [pool.submit(write_on, box, goes, is_over) for box, goes in zip(many, goes_on, strict=True)]
        try:
            assert all(goes.wait(900) for goes in goes_on), "the writers did not come to their laps"
            began_s = time.monotonic()
            done = compact(config, kept_days=0)
            ended_s = time.monotonic()
        finally:
            is_over.set()
        tries = [writer.result() for writer in writers]
    tell(done, began_s, ended_s, tries)
    assert done.files_after < done.files_before
    for own in tries:
        assert any(one.began_s < began_s and one.parts for one in own)
        assert any(began_s < one.began_s < ended_s for one in own), "it did not write beside the compaction"
        assert sum(one.began_s > ended_s and one.parts > 0 for one in own) >= AFTER
    for box in many:
        assert box.ship().parts == 0, "nothing waits any more"
    assert_whole(config, *many)
    compact(config, kept_days=0)
    assert_whole(config, *many)
    assert_no_orphan(config)


def write_on(box: Box, goes_on: threading.Event, is_over: threading.Event) -> list[Try]:
    """A run and a commit of it, over and over, until the compaction is over and a few more are in."""
    shipper, tries, after = box.shipper(), list[Try](), 0
    with opened_lake(box.config) as connection:
        while after < AFTER:
            has_ended = is_over.is_set()
            box.add_runs(f"{box.name}-{len(tries):04}-", 1, seconds=5)
            began_s = time.monotonic()
            ship = shipper.ship(connection)
            tries.append(Try(began_s, time.monotonic(), ship.parts, ship.is_held))
            after += has_ended and ship.parts > 0
            if len(tries) >= LAPS:
                goes_on.set()
                time.sleep(PAUSE_S)
    return tries


def tell(compaction: CompactionResult, began_s: float, ended_s: float, tries: Sequence[Sequence[Try]]) -> None:
    """Figures for benchmarks/README.md, shown by `pytest -s`."""
    beside = [one for own in tries for one in own if began_s < one.began_s < ended_s]
    kept_out = [
        later.ended_s - earlier.ended_s
        for own in tries
        for commits in [[one for one in own if one.parts]]
        for earlier, later in itertools.pairwise(commits)
    ]
    sys.stdout.write(
        f"{compaction.files_before} files -> {compaction.files_after} in {ended_s - began_s:.1f} s; "
        f"beside it {len(beside)} tries, {sum(one.parts > 0 for one in beside)} commits; "
        f"{max(kept_out):.1f} s at most between a writer's commits\n"
    )

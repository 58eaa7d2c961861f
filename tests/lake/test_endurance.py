"""What takes minutes: S3 away while Pitwall goes on, and three runs of a thousand."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

import pytest

from reports.runs.run_report import RunReport, report_on
from service import lake_shipping
from service.fleet import Fleet
from service.lake_shipping import LakeShipping
from storage.ask.run_queries import RunFilter, find_runs
from storage.lake.config import LakeConfig
from storage.lake.upkeep import compact
from tests.lake.boxes import Box, assert_no_orphan, assert_whole
from tests.lake.servers import S3Server

pytestmark = [pytest.mark.lake, pytest.mark.timeout(1800)]

Boxes = Callable[[str], Box]
AWAY_S = float(os.environ.get("PITWALL_LAKE_AWAY_S", "120"))
RUNS = int(os.environ.get("PITWALL_LAKE_RUNS", "1000"))


def test_s3_away_for_minutes_costs_nothing_here_and_is_caught_up(
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
    box, other = boxes("one"), boxes("other")
    for first in range(0, RUNS, 100):
        box.add_runs(f"r{first:05}-", min(100, RUNS - first), seconds=5)
    assert box.ship().records == RUNS
    ids = [run.id for run in find_runs(box.store, RunFilter(), RUNS)]
    picked = [ids[0], ids[len(ids) // 2], ids[-1]]
    expected = report_on(box.store, box.store.runs_of(picked))
    with Fleet(other.settings, other.store).closing() as fleet:
        assert [run.id for run in find_runs(fleet, RunFilter(), RUNS)] == ids
        assert_equal(expected, report_on(fleet.asked_about(picked), fleet.runs_of(picked)))
        s3.stop_hard()
        try:
            assert_equal(expected, report_on(fleet.asked_about(picked), fleet.runs_of(picked)))
        finally:
            s3.start()


def assert_equal(expected: Sequence[RunReport], found: Sequence[RunReport]) -> None:
    for here, there in zip(expected, found, strict=True):
        assert here.windows and here.windows == there.windows
        assert (here.summary, here.requests) == (there.summary, there.requests)


def test_a_run_that_got_new_parts_is_read_anew(boxes: Boxes) -> None:
    box, other = boxes("one"), boxes("other")
    box.add_runs("a", 2)
    box.ship()
    with Fleet(other.settings, other.store).closing() as fleet:
        copies = fleet.asked_about(["a000", "a001"])
        counted = "SELECT count(*) AS n FROM gpu_samples WHERE run_id = 'a000'"
        before = copies.query(counted).to_pylist()[0]["n"]
        box.add_run("a000")  # as if it had gone on: its rows come once more, as another part
        box.seal()
        assert box.ship().parts
        assert fleet.asked_about(["a000", "a001"]).query(counted).to_pylist() == [{"n": 2 * before}]
        assert find_runs(fleet, RunFilter(), 9) == fleet.runs_of(["a001", "a000"])

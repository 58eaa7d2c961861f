"""Inputs that no honest program writes: nothing crashes, and all that was imported can be shown.

`PITWALL_FUZZ=5000 PITWALL_FUZZ_SEED=7 .venv/bin/pytest -n0 -m slow tests/fuzz` tries more, from another seed. A failure
names its input and seed, for `PITWALL_FUZZ_CASE=import_log:123`, which repeats it.
"""

from __future__ import annotations

import json
import logging
import os
import time
import traceback
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest

from analysis.metrics.registry import LIST_COLUMNS
from domain import Run
from launcher.remote.hosts import HostBook
from reports.arms.comparison import comparison_of
from reports.arms.report_data import ReportProvenance, report_data
from reports.runs.evidence import evidence_of
from reports.runs.run_line import compute_lines, sort_runs
from service.notifications.channels import ChannelBook
from service.proposals import ProposalBook
from tests.fuzz.inputs import INPUTS, JSON_FILES, LONGEST_S, World, expect_no_crash, honest_bundle, opened_world
from web.live.finished_charts import compute_charts
from web.live.peers.peers import PeerBook
from web.report_export.markdown import report_markdown
from web.report_export.page import report_page
from web.report_export.tables import as_zip, data_tables

SMALL = 8  # cases of each input in `make test`
LONG = int(os.environ.get("PITWALL_FUZZ", "2000"))  # cases of all inputs together
SEED = int(os.environ.get("PITWALL_FUZZ_SEED", "1"))
CASE = os.environ.get("PITWALL_FUZZ_CASE", "")
BATCH = 24  # runs that are shown together
REPORTED = 3  # of them are in a report


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("fuzz")
    with opened_world(folder, honest_bundle(folder)) as opened:
        yield opened


def test_lists_are_valid_before_they_are_mutated(tmp_path: Path) -> None:
    books = {"hosts.json": HostBook, "peers.json": PeerBook, "notify.json": ChannelBook, "proposals.json": ProposalBook}
    for name, book in books.items():
        path = tmp_path / name
        path.write_text(json.dumps(JSON_FILES[name]))
        path.chmod(0o600)
        assert len(book(path).all()) >= 1, name


@pytest.mark.parametrize("name", INPUTS)
def test_small_fuzz(world: World, caplog: pytest.LogCaptureFixture, name: str) -> None:
    expect_all(world, caplog, [(name, seed) for seed in range(SMALL)])


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("name", INPUTS)
def test_long_fuzz(world: World, caplog: pytest.LogCaptureFixture, name: str) -> None:
    expect_all(world, caplog, [(name, 1_000_000 * SEED + number) for number in range(LONG // len(INPUTS))])


@pytest.mark.skipif(not CASE, reason="PITWALL_FUZZ_CASE names no case")
def test_single_case(world: World, caplog: pytest.LogCaptureFixture) -> None:
    name, _, seed = CASE.partition(":")
    expect_all(world, caplog, [(name, int(seed))])


def expect_all(world: World, caplog: pytest.LogCaptureFixture, cases: Sequence[tuple[str, int]]) -> None:
    """Try the cases; all that failed are told together."""
    failures = []
    for name, seed in cases:
        caplog.clear()
        begun_s = time.monotonic()
        try:
            INPUTS[name](world, Random(seed))
            expect_no_crash(world)
            expect_calm_log(caplog.records)
            if len(world.run_ids) >= BATCH or (name, seed) == cases[-1]:
                expect_pages(world)
            assert time.monotonic() - begun_s < LONGEST_S
        except Exception:
            world.run_ids.clear()
            failures.append(f"{name}:{seed}\n{traceback.format_exc()}")
    assert not failures, f"{len(failures)} of {len(cases)} failed\n\n" + "\n\n".join(failures)


def expect_calm_log(records: Sequence[logging.LogRecord]) -> None:
    """Require that nothing was logged as an error, or with a traceback."""
    loud = [record.getMessage() for record in records if record.exc_info or record.levelno >= logging.ERROR]
    assert not loud, loud


# --- what pages ask ---------------------------------------------------------------------------------------------------
def expect_pages(world: World) -> None:
    """What the pages show of the imported runs, each by itself and all together."""
    run_ids, world.run_ids[:] = dict.fromkeys(world.run_ids), []
    runs = [run for run in map(world.store.run, run_ids) if run]
    assert len(runs) == len(run_ids)
    stored_ids = {run.id for run in world.store.runs()}
    assert stored_ids >= run_ids.keys(), "the list of runs has them"
    lines = compute_lines(world.store, runs)
    for name in LIST_COLUMNS:
        sort_runs(runs, lines, name)
    assert compute_charts(world.store, runs).keys() == run_ids.keys()
    assert len(evidence_of(world.store, runs)) == len(runs)
    comparison_of(world.store, runs)
    expect_report(world, runs[-REPORTED:])
    assert world.store.health().ok


def expect_report(world: World, runs: Sequence[Run]) -> None:
    """The report of these runs, which is what Compare and Run show, as files."""
    if not runs:
        return
    provenance = ReportProvenance("me", datetime.now(UTC), "1")
    data = report_data(world.store, [run.id for run in runs], provenance, Path("/nonexistent/prices.toml"))
    assert report_page(data).encode() and report_markdown(data).encode() and as_zip(data_tables(data))

"""Two arms of three starts in a real store, with names and texts that a hostile server could have written."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from domain import Run
from reports.arms.comparison import ComparisonOptions
from reports.arms.report_data import ReportData, ReportProvenance, report_data
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored

EVIL = "</script><img src=x onerror=window.owned=1>|`a`[l](javascript:1)\"'--><b>\\ @me =1+1"
SECRET = "s3cr3t-value-of-mine"
MADE = ReportProvenance("a test", datetime(2026, 11, 22, 12, 0, tzinfo=UTC), "0.1.0")
Report = Callable[..., ReportData]


@pytest.fixture
def runs(store: Store) -> list[Run]:
    """Three starts without drafts, then three with drafts of 4."""
    rng = np.random.default_rng(21)
    made = []
    for place, k in enumerate((0, 4)):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        facts = repeats(engine, "ladder", 3, rng, **SMALL)
        made += [stored(store, facts, k, place * 10 + n) for n, facts in enumerate(facts)]
    return made


@pytest.fixture
def evil_runs(store: Store, runs: list[Run]) -> list[Run]:
    """The same whose every text is hostile and holds a secret."""
    text = f"{EVIL} --api-key {SECRET}"
    fields: dict[str, Any] = {"cause": text, "cause_line": f"{text} line", "note": f"{text} note"}
    made = []
    for run in runs:
        config = run.config.model_copy(
            update={"argv": (*run.config.argv, "--chat-template", EVIL, "--api-key", SECRET)}
        )
        changed = run.model_copy(update={"name": f"{EVIL} {run.name}", "config": config, **fields})
        store.save_run(changed)
        made.append(changed)
    return made


@pytest.fixture
def report(store: Store, tmp_path: Path) -> Report:
    """The report on some runs, as a page or the command line asks for it."""

    def make_report_data(runs: list[Run], options: ComparisonOptions | None = None) -> ReportData:
        return report_data(store, [run.id for run in runs], MADE, tmp_path / "prices.toml", options)

    return make_report_data

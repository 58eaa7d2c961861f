"""The arms of a long list of runs are those of Compare, though no request is read."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.comparison.arms import arms_of
from reports.arms.facts import facts_of
from reports.arms.run_arms import run_arms
from storage.queries import load_queries
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from tests.many_runs import many_runs


def test_they_are_those_of_compare(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(21)
    runs = many_runs(store)
    for place, k in enumerate((0, 4)):
        made_repeats = repeats(IdealEngine(0.02, drafts=k), "ladder", 2, rng, **SMALL)
        runs += [stored(store, facts, k, place * 10 + n) for n, facts in enumerate(made_repeats)]
    expected = [(arm.key, [run.run_id for run in arm.runs]) for arm in arms_of(facts_of(store, runs))]
    monkeypatch.setattr(load_queries, "loads", lambda *_: pytest.fail("the requests were read"))
    assert [(arm.key, [run.run_id for run in arm.runs]) for arm in run_arms(store, runs)] == expected
    assert len(expected) == 10

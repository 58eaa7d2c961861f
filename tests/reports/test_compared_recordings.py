"""Two recordings of other clients' requests: Compare refuses to rank them, and says what can be compared instead."""

from __future__ import annotations

import pytest

from analysis.guard import RowCode
from commands.explain import explain
from domain import Config, Run, RunState
from load_records import RECORDED, Load
from reports.arms.comparison import comparison_of
from samples import Batch
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from web.compare.answer.guard_words import RECORDED_TEXT, row_text


@pytest.mark.parametrize("workload", [RECORDED, "imported"])
def test_recordings_are_not_ranked_and_say_why(store: Store, workload: str) -> None:
    runs = [
        Run(
            id=name, name=name, color=0, state=RunState.FINISHED, machine_id="m", created_at=T0, started_at=T0,
            config=explain(f"vllm serve m --port 8000 --max-num-seqs {name}").config or Config(),
        )
        for name in ("1", "2")
    ]  # fmt: skip
    for run in runs:
        store.save_run(run)
    store.write(Batch(tuple(Load(run.id, f"l{run.id}", T0, "recorder", workload) for run in runs))).result()
    store.publish()
    (answer,) = comparison_of(store, runs).answers
    text = next(row_text(row, {}) for row in answer.rows if row.code is RowCode.WORKLOAD)
    assert not answer.is_ranked and (text == RECORDED_TEXT) is (workload == RECORDED)

"""What runs where, from the runs of a store: works, fails with its cause, or both."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.decide.compatibility import Outcome
from domain import Config, Run, RunState, utc_now
from reports.compatibility import compatibility
from web.compare.compatibility_table import compatibility_table, place_words

H100 = {"gpus": [{"name": "NVIDIA H100"}] * 2}


def run(name: str, model: str, provenance: dict[str, Any] | None, **fields: Any) -> Run:
    now = utc_now()
    told: dict[str, Any] = {"state": RunState.FINISHED, "ready_at": now, "started_at": now} | fields
    config = Config(engine="vllm", model=model, argv=("vllm", "serve", model))
    return Run(
        id=name, name=name, color=0, machine_id="m", created_at=now, provenance=provenance, config=config, **told
    )


FAILED = {"state": RunState.FAILED, "ready_at": None, "cause": "CUDA out of memory <b>"}


def test_each_configuration_has_its_outcome_on_each_gpu() -> None:
    found = compatibility(
        [
            run("a1", "org/small", H100),
            run("a2", "org/small", H100),
            run("b1", "org/large", H100, **FAILED),
            run("b2", "org/large", {"gpus": []}),
            run("c1", "org/mixed", None),
            run("c2", "org/mixed", None, **FAILED),
        ]
    )
    told = {(one.configuration.split(" · ")[0], one.gpu): one for one in found}
    assert {key: one.outcome for key, one in told.items()} == {
        ("small", "2 x NVIDIA H100"): Outcome.WORKS,
        ("large", "2 x NVIDIA H100"): Outcome.FAILS,
        ("large", "no GPU"): Outcome.WORKS,
        ("mixed", None): Outcome.MIXED,
    }
    assert place_words(told["large", "2 x NVIDIA H100"]) == "fails, 1 start: CUDA out of memory <b>"
    assert place_words(told["mixed", None]).startswith("1 of 2 starts came up; the last failure: CUDA")
    shown = compatibility_table(found)
    assert "&lt;b&gt;" in shown and "<b>" not in shown and "GPU not known" in shown


@pytest.mark.parametrize("fields", [{"kind": "attached"}, {"state": RunState.FINISHED, "ready_at": None}])
def test_what_tells_nothing_of_a_start_is_left_out(fields: dict[str, Any]) -> None:
    assert compatibility([run("a", "org/small", H100, **fields)]) == []

"""The loads that are compared where a server start carried several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import arms_of
from analysis.comparison.facts import Neighbour, RunFacts
from analysis.comparison.workload import (
    WorkloadNotSharedError,
    find_workload,
    has_workload,
    restrict_to_workload,
    shared_workloads,
)
from analysis.evidence.loads import LoadRecord
from analysis.guard import RowCode
from analysis.runs.conditions import Conditions
from tests.analysis.comparison.hand_made import faster, load, run, streams
from tests.analysis.comparison.ideal_engine import SERVED

OTHER = replace(SERVED, settings={"max_model_len": 8192})


def five(speed: float = 1.0, load_id: str = "five", **asked: object) -> LoadRecord:
    return _renamed_load(load(faster(streams(3), speed), workload="five", prompt_set_hash="h5", **asked), load_id)


def ladder(speed: float = 1.0, load_id: str = "ladder") -> LoadRecord:
    return _renamed_load(load(faster(streams(4, 2), speed), workload="ladder", prompt_set_hash="hl"), load_id)


def _renamed_load(load: LoadRecord, load_id: str) -> LoadRecord:
    assert load.plan
    return replace(load, load_id=load_id, plan=replace(load.plan, load_id=load_id))


def compared(*runs: RunFacts, workload: str | None = None) -> list[ArmComparison]:
    chosen_workload = find_workload(shared_workloads(runs), workload)
    return compare_arms(arms_of([restrict_to_workload(run, chosen_workload) for run in runs]))


def test_starts_are_ranked_on_their_shared_load() -> None:
    a = [run("a0", five(), ladder()), run("a1", ladder(0.9), five(1.01))]
    b = [run("b0", five(1.5), served=OTHER), run("b1", five(1.51), served=OTHER)]
    (told,) = compared(*a, *b)
    assert told.is_ranked, [row.code for row in told.refused]
    assert told.pair.objective.name == "decode_tps" and told.judgement is not None
    assert told.judgement.replicates == (2, 2) and told.judgement.ratio == pytest.approx(1.5, rel=0.01)


def test_two_loads_on_three_starts_count_thrice() -> None:
    def twice(name: str, speed: float) -> RunFacts:
        return run(name, five(speed), five(speed * 1.02, "again"), served=OTHER if name[0] == "b" else SERVED)

    runs = [twice(f"{arm}{n}", speed + n / 100) for arm, speed in (("a", 1.0), ("b", 2.0)) for n in range(3)]
    (told,) = compared(*runs)
    assert told.judgement is not None and told.judgement.replicates == (3, 3)


def test_most_common_load_is_the_default() -> None:
    runs = [run("a", ladder(), five()), run("b", five(), ladder(), served=OTHER), run("c", five())]
    five_prompts, rungs = shared_workloads(runs)
    assert (five_prompts.name, rungs.name) == ("five", "ladder")
    assert find_workload([five_prompts, rungs], None) == five_prompts
    for text in ("ladder", rungs.id):
        assert find_workload([five_prompts, rungs], text) == rungs
    (told,) = compared(runs[0], runs[1], workload="ladder")
    assert told.pair.objective.name == "output_tps@2", "what is proposed follows the workload"
    with pytest.raises(WorkloadNotSharedError) as refused:
        find_workload([rungs], "five")
    assert str(refused.value) == (f"No two of these runs have the workload 'five': the runs share {rungs.id}.")


def test_runs_without_shared_load_are_refused() -> None:
    a, b = run("a", five()), run("b", ladder(), served=OTHER)
    assert shared_workloads([a, b]) == []
    (told,) = compared(a, b)
    assert {RowCode.WORKLOAD, RowCode.PROMPTS} <= {row.code for row in told.refused}


def test_loads_with_other_params_are_no_repeats() -> None:
    warm, cold = five(params={"temperature": 1}), five(load_id="cold", params={"temperature": 0})
    runs = [run("a", cold, warm), run("b", warm, cold, served=OTHER), run("c", cold, served=OTHER)]
    first, _ = shared_workloads(runs)
    assert first.params == {"temperature": 0}
    assert [len(restrict_to_workload(run, first).loads) for run in runs] == [1, 1, 1]


def older(run_id: str, *prompts: str, workload: str | None = "five") -> RunFacts:
    """A run of a Pitwall that wrote the requests alone."""
    requests = [replace(stream, prompt_hash=text) for stream, text in zip(streams(len(prompts)), prompts, strict=True)]
    return replace(run(run_id, replace(load(requests), plan=None)), workload=workload)


def test_older_load_known_by_name_and_texts() -> None:
    def shared(*runs: RunFacts) -> list[str]:
        return [shared_workload.name for shared_workload in shared_workloads(runs)]

    assert shared(older("a", "p", "q"), older("b", "q", "p")) == ["five"], "in any order"
    assert shared(older("a", "p", "q"), older("b", "p", "x")) == []
    assert shared(older("a", "p"), older("b", "p", workload="ladder")) == []
    assert shared(older("a", "p", workload=None), older("b", "p", workload=None)) == [""]
    assert shared_workloads([older("a", "p"), older("b", "p")])[0].params == {}
    one, other = older("a", "p"), older("b", "p")
    (workload,) = shared_workloads([one, other])
    assert has_workload(one, workload) and not has_workload(older("c", "x"), workload)
    assert restrict_to_workload(one, workload) is one


def test_param_order_is_ignored_but_prompts_count() -> None:
    ab, ba = five(params={"a": 1, "b": 2}), five(params={"b": 2, "a": 1})
    assert len(shared_workloads([run("a", ab), run("b", ba)])) == 1
    texts = _renamed_load(load(streams(3), workload="five", prompt_set_hash="other"), "five")
    assert shared_workloads([run("a", five()), run("b", texts)]) == []


def test_unshared_workload_gets_a_sentence() -> None:
    with pytest.raises(WorkloadNotSharedError, match=r"have the workload 'five': the runs share none\.$"):
        find_workload([], "five")
    shared = shared_workloads([run("a", five(), ladder()), run("b", five(), ladder())])
    ids = ", ".join(one.id for one in shared)
    with pytest.raises(WorkloadNotSharedError) as refused:
        find_workload(shared, "x" * 90)
    assert str(refused.value).endswith(f"'{'x' * 80}': the runs share {ids}.") and ids.count("@") == 2


def test_aborted_load_yields_to_a_whole_load() -> None:
    part = five(9.0, "part", planned_requests=7)
    a, b = run("a", part, five()), run("b", five(), served=OTHER)
    (told,) = compared(a, b)
    assert told.is_ranked and told.judgement is not None and told.judgement.ratio == pytest.approx(1.0)
    (alone,) = compared(run("a", part), b)
    assert RowCode.UNFINISHED in {row.code for row in alone.refused}


def test_only_activity_during_the_load_counts() -> None:
    calm, starved = (Conditions("a", name, starvation_ratio=share) for name, share in (("five", 0.0), ("ladder", 0.9)))
    near = (Neighbour("x", True, "ladder"),)
    a = run("a", five(), ladder(), conditions=(calm, starved), neighbours=near)
    (told,) = compared(a, run("b", five(), served=OTHER, conditions=(replace(calm, run_id="b"),)))
    assert told.is_ranked, [row.code for row in told.refused]

"""The guard: each unlike pair that was once ranked is refused, each alike pair that was once refused is ranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.compare_arms import ArmComparison, compare_arms
from analysis.comparison.arms import Arm, arm_key
from analysis.comparison.facts import Neighbour, RunFacts, ServerSetup
from analysis.comparison.log_speed import LogSpeed
from analysis.evidence.loads import LoadRecord
from analysis.evidence.objectives import parse_objective
from analysis.guard import DECLARABLE, RowCode, RowStatus
from analysis.runs.conditions import Conditions
from analysis.verdict import VerdictAnswer
from load_records import Load, RequestRecord
from tests.analysis.comparison.ideal_engine import SERVED, T0, IdealEngine, repeats
from web.compare.answer.guard_words import row_text
from web.compare.answer.sentence import answer_sentence

SMALL = {"token_scale": 0.1, "parallel": 2}
Change = Callable[[RunFacts], RunFacts]


def arm(runs: Sequence[RunFacts]) -> Arm:
    return Arm(arm_key(runs[0]), tuple(runs))


def pair(
    change: Change = lambda run: run,
    speed: float = 1.5,
    objective: str | None = None,
    declared: Sequence[RowCode] = (),
    both: Change = lambda run: run,
) -> ArmComparison:
    """Two arms of two starts, the second `speed` times as fast and changed."""
    rng = np.random.default_rng(8)
    a = repeats(IdealEngine(0.02, start_sd=0.002), "five-prompts", 2, rng, **SMALL)
    b = repeats(IdealEngine(0.02 / speed, start_sd=0.002), "five-prompts", 2, rng, **SMALL)
    arms = [arm([both(run) for run in a]), arm([change(both(run)) for run in b])]
    chosen_objective = parse_objective(objective) if objective else None
    return compare_arms(arms, chosen_objective, declared=declared)[0]


def standing(comparison: ArmComparison, code: RowCode) -> RowStatus:
    return next(row.status for row in comparison.rows if row.code is code)


def requests(change: Callable[[RequestRecord], RequestRecord]) -> Change:
    """Each request of a run changed."""
    return lambda run: replace(
        run, loads=tuple(replace(load, requests=tuple(map(change, load.requests))) for load in run.loads)
    )


def serving(**fields: Any) -> Change:
    return lambda run: replace(run, served=replace(run.served, **fields))


def setting(**settings: Any) -> Change:
    return lambda run: serving(
        settings={**run.served.settings, **{k.replace("__", "."): v for k, v in settings.items()}}
    )(run)


def looped(share: float, **sampling: Any) -> Callable[[RequestRecord], RequestRecord]:
    return lambda r: replace(
        r, extra={**r.extra, "collapse": {"looped_ratio": share}}, sampling={**r.sampling, **sampling}
    )


def conditions(**values: Any) -> Change:
    return lambda run: replace(run, conditions=(Conditions(run.run_id, **values),))


def some_fail(request: RequestRecord) -> RequestRecord:
    return replace(request, error_kind="http") if (request.sequence or 0) > 0 else request


REFUSED: list[tuple[str, RowCode, Change, Change]] = [
    ("another model", RowCode.MODEL, serving(model="meta/Llama-3.2-1B"), serving(model="Qwen/Qwen3-32B")),
    ("requests that fail", RowCode.FAILED, requests(some_fail), lambda run: run),
    ("answers that loop", RowCode.LOOPS, requests(looped(0.8)), lambda run: run),
    (
        "answers of another length",
        RowCode.LENGTHS,
        requests(lambda r: replace(r, completion_tokens=(r.completion_tokens or 0) * 3)),
        lambda run: run,
    ),
    (
        "a throttled GPU",
        RowCode.THROTTLING,
        conditions(hardware_throttled=True, throttle_bits=0x40),
        conditions(hardware_throttled=False, sm_clock_mhz_median=1900.0),
    ),
    ("no warm-up", RowCode.WARMUP, requests(lambda r: replace(r, phase="measure")), lambda run: run),
    ("sampling set on the server", RowCode.SAMPLING, setting(sampling__repetition_penalty=1.3), lambda run: run),
    ("another GPU", RowCode.HARDWARE, serving(gpus=("NVIDIA H200",), machine_id="m2"), lambda run: run),
    ("another machine of the same GPU", RowCode.HARDWARE, serving(machine_id="m2"), lambda run: run),
    ("a starved server", RowCode.STARVATION, conditions(starvation_ratio=0.7), conditions(starvation_ratio=0.02)),
    (
        "a client that is kept from the CPU",
        RowCode.CLIENT,
        requests(lambda r: replace(r, extra={**r.extra, "client_wait_ms": 0.2 * (r.total_ms or 0.0)})),
        lambda run: run,
    ),
    (
        "a neighbour on the same GPU",
        RowCode.NEIGHBOURS,
        lambda run: replace(run, neighbours=(Neighbour("x", True),)),
        lambda run: run,
    ),
]


@pytest.mark.parametrize(("name", "code", "change", "both"), REFUSED, ids=[one[0] for one in REFUSED])
def test_unlike_pairs_are_not_ranked(name: str, code: RowCode, change: Change, both: Change) -> None:
    actual_pair = pair(change, both=both)
    assert standing(actual_pair, code) is RowStatus.MATTERS and not actual_pair.is_ranked
    names = {run.run_id: run.run_id for arm in actual_pair.pair.arms for run in arm.runs}
    assert "is not ranked against" in answer_sentence(actual_pair, names)
    assert "None" not in answer_sentence(actual_pair, names)
    still = pair(change, both=both, declared=[code])
    assert still.is_ranked is (code in DECLARABLE), "failures, loops and starvation cannot be declared away"


def test_what_is_declared_stands_in_the_answer() -> None:
    actual_pair = pair(
        serving(model="meta/Llama-3.2-1B"), both=serving(model="Qwen/Qwen3-32B"), declared=[RowCode.MODEL]
    )
    names = {run.run_id: run.run_id for arm in actual_pair.pair.arms for run in arm.runs}
    assert actual_pair.is_ranked and "Llama-3.2-1B, which is compared on purpose" in answer_sentence(actual_pair, names)


ALIKE: list[tuple[str, Change]] = [
    ("as they are", lambda run: run),
    ("the same model in another quantization", serving(model="org/model-FP8", model_files="f2")),
    ("another engine version", serving(engine_version="0.34.0")),
    ("other speculation", setting(speculative__num_tokens=4)),
    ("another KV dtype", setting(kv_cache_dtype="fp8")),
    ("a neighbour on another GPU", lambda run: replace(run, neighbours=(Neighbour("x", False),))),
    (
        "the software power cap alone",
        conditions(hardware_throttled=False, power_capped=True, sm_clock_mhz_median=1900.0),
    ),
    ("starved alike and little", conditions(starvation_ratio=0.02)),
    ("one request of many failed", requests(lambda r: r)),
]


@pytest.mark.parametrize(("name", "change"), ALIKE, ids=[one[0] for one in ALIKE])
def test_what_can_be_compared_is_not_refused(name: str, change: Change) -> None:
    actual_pair = pair(
        change, both=conditions(starvation_ratio=0.02, hardware_throttled=False, sm_clock_mhz_median=1900.0)
    )
    assert actual_pair.refused == [] and actual_pair.judgement and actual_pair.judgement.answer is VerdictAnswer.BETTER


def test_client_without_wait_record_is_unknown() -> None:
    def silent(request: RequestRecord) -> RequestRecord:
        return replace(request, extra={k: v for k, v in request.extra.items() if k != "client_wait_ms"})

    actual_pair = pair(requests(silent))
    assert standing(actual_pair, RowCode.CLIENT) is RowStatus.UNKNOWN and actual_pair.is_ranked
    started = pair(objective="startup_s", both=lambda run: replace(run, startup_s=30.0))
    assert standing(started, RowCode.CLIENT) is RowStatus.SAME, "there it measures nothing"


def test_both_loop_alike_and_the_answer_says_so() -> None:
    actual_pair = pair(both=requests(looped(0.6)))
    names = {run.run_id: run.run_id for arm in actual_pair.pair.arms for run in arm.runs}
    assert actual_pair.is_ranked and "60 % of the text is looping" in answer_sentence(actual_pair, names)


def test_loops_past_natural_end_only_noted() -> None:
    actual_pair = pair(requests(looped(0.5, ignore_eos=True)), both=requests(looped(0.0, ignore_eos=True)))
    assert standing(actual_pair, RowCode.LOOPS) is RowStatus.TOLD and actual_pair.is_ranked


def test_slower_arm_with_more_loops_is_worse() -> None:
    actual_pair = pair(requests(looped(0.8)), speed=1 / 1.5)
    assert actual_pair.is_ranked and actual_pair.judgement and actual_pair.judgement.answer is VerdictAnswer.WORSE


def test_a_run_that_goes_on_is_not_ranked_yet() -> None:
    def some(run: RunFacts) -> RunFacts:
        loads = tuple(replace(load, requests=load.requests[:4], phases=load.phases[:1]) for load in run.loads)
        return replace(run, loads=loads, state="running")

    actual_pair = pair(some)
    row = next(row for row in actual_pair.rows if row.code is RowCode.UNFINISHED)
    assert row.status is RowStatus.MATTERS
    names = {run.run_id: "B" for arm in actual_pair.pair.arms for run in arm.runs}
    assert "B is still running: " in row_text(row, names)


def test_two_unknowns_are_never_equal() -> None:
    nothing = ServerSetup(None, "m1", is_configuration_known=False)
    actual_pair = pair(both=lambda run: replace(run, served=nothing))
    for code in (RowCode.MODEL, RowCode.ENGINE, RowCode.QUANTIZATION, RowCode.SETTINGS):
        assert standing(actual_pair, code) is RowStatus.UNKNOWN, code
    assert SERVED.model_files


def imported(tps: float, start: int, workload: str | None, streams: int = 1, definition: str = "vllm.log") -> RunFacts:
    """A log of a server elsewhere, with what its owner declared of the load."""
    run_id = f"log-{tps}-{start}"
    declared = Load(run_id, "l", T0, "declared", workload, params={"requests at once": streams}) if workload else None
    loads = (LoadRecord(run_id, "l", declared),) if declared else ()
    log_speed = LogSpeed(tps, 20, definition, 10.0)
    return RunFacts(run_id, run_id, SERVED, kind="imported", loads=loads, log=log_speed)


def test_logs_rank_only_under_same_declared_load() -> None:
    bare = compare_arms([arm([imported(50.0, 1, None)]), arm([imported(80.0, 1, None)])])[0]
    assert standing(bare, RowCode.WORKLOAD) is RowStatus.MATTERS
    slow = arm([imported(50.0 + n / 10, n, "replay") for n in range(3)])
    fast = arm([imported(80.0 + n / 10, n, "replay") for n in range(3)])
    comparison = compare_arms([slow, fast])[0]
    assert comparison.judgement and comparison.judgement.answer is VerdictAnswer.BETTER and not comparison.refused
    assert standing(comparison, RowCode.WORKLOAD) is RowStatus.TOLD, "it stands there as declared"
    for code in (RowCode.WARMUP, RowCode.LENGTHS, RowCode.LOOPS, RowCode.STARVATION):
        assert standing(comparison, code) is RowStatus.UNKNOWN
    other_comparison = compare_arms([slow, arm([imported(80.0, 1, "replay", streams=8)])])[0]
    assert standing(other_comparison, RowCode.WORKLOAD) is RowStatus.MATTERS
    unlike = compare_arms([slow, arm([imported(80.0, 1, "replay", definition="sglang.log")])])[0]
    assert standing(unlike, RowCode.DEFINITION) is RowStatus.MATTERS and not unlike.is_ranked

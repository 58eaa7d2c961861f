"""Single rows of the guard on their thresholds, and what once slipped past them; each number stands in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import LogSpeed, Neighbour, RunFacts
from analysis.guard import CHECKS, Row, RowCode, Standing, guard, refusals
from analysis.runs.conditions import Conditions
from load_records import RequestRecord
from reasons import Code, Reason
from tests.comparison.hand_made import load, pair_of, request, run, streams
from tests.comparison.ideal_engine import SERVED
from web.compare.answer.guard_words import row_words

SAME, TOLD, MATTERS = Standing.SAME, Standing.TOLD, Standing.MATTERS
COMPARED, UNKNOWN = Standing.COMPARED, Standing.UNKNOWN
Runs = Sequence[RunFacts]


def row(code: RowCode, a: Runs | RunFacts, b: Runs | RunFacts, objective: str = "decode_tps", **fields: Any) -> Row:
    """The row, which is the one that was asked for and has words."""
    sides = [[one] if isinstance(one, RunFacts) else one for one in (a, b)]
    found = CHECKS[code](pair_of(sides[0], sides[1], objective, **fields))
    assert found.code is code and row_words(found, {"a": "a", "b": "b"})
    return found


def of(*requests: RequestRecord, **asked: Any) -> RunFacts:
    return run("b", load(requests, **asked))


def serving(**fields: Any) -> RunFacts:
    return run("b", load(streams(1)), served=replace(SERVED, **fields))


def having(*conditions: dict[str, Any], **served: Any) -> RunFacts:
    facts = serving(**served)
    return replace(facts, conditions=tuple(Conditions("b", **one) for one in conditions))


def answers(tokens: int, count: int = 4, **fields: Any) -> RunFacts:
    return of(*(request(n, n, completion_tokens=tokens, **fields) for n in range(count)))


def prompts_of(tokens: int | None, cached: int | None = 0) -> RunFacts:
    extra = {"cached_prompt_tokens": cached}
    return of(*(request(n, n, prompt_tokens=tokens, extra=extra) for n in range(4)))


# What was served


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, SAME),
        ({"model": "org/model-FP8", "model_files": "f2"}, SAME),
        ({"model": "org/another"}, MATTERS),
        ({"model_files": "f2"}, MATTERS),
        ({"model_files": None}, SAME),
        ({"model": None}, UNKNOWN),
    ],
)
def test_model(fields: dict[str, Any], standing: Standing) -> None:
    assert row(RowCode.MODEL, serving(), serving(**fields)).standing is standing
    assert row(RowCode.MODEL, serving(**fields), serving()).standing is standing


def test_other_files_under_one_name_are_said() -> None:
    found = row(RowCode.MODEL, serving(), serving(model_files="f2"))
    assert found.values == {"models": ("org/model", "org/model"), "files_differ": True}
    declared = row(RowCode.MODEL, serving(), serving(model_files="f2"), declared=frozenset({RowCode.MODEL}))
    assert declared.standing is COMPARED


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, SAME),
        ({"engine_version": "0.34.0"}, COMPARED),
        ({"engine_version": None}, UNKNOWN),
        ({"engine": "sglang", "engine_version": None}, COMPARED),
    ],
)
def test_engine(fields: dict[str, Any], standing: Standing) -> None:
    found = row(RowCode.ENGINE, serving(), serving(**fields))
    assert found.standing is standing
    second = replace(SERVED, **fields)
    assert found.values["engines"] == ("vllm", second.engine)
    assert found.values["versions"] == ("0.33.0", second.engine_version)
    assert row(RowCode.ENGINE, serving(**fields), serving()).standing is standing


def test_an_image_stands_for_the_version() -> None:
    served = {"engine_version": None, "image": "vllm@sha256:1"}
    assert row(RowCode.ENGINE, serving(**served), serving(**served)).standing is SAME


@pytest.mark.parametrize(
    ("name", "code", "standing"),
    [
        ("quantization", RowCode.QUANTIZATION, COMPARED),
        ("dtype", RowCode.QUANTIZATION, COMPARED),
        ("kv_cache_dtype", RowCode.KV_DTYPE, COMPARED),
        ("max_model_len", RowCode.SETTINGS, COMPARED),
        ("sampling.temperature", RowCode.SAMPLING, MATTERS),
    ],
)
def test_a_setting_has_one_row(name: str, code: RowCode, standing: Standing) -> None:
    told = {row.code: row for row in guard(pair_of([serving()], [serving(settings={**SERVED.settings, name: "x"})]))}
    assert told[code].standing is standing
    assert told[code].values["fields"] == {
        name: (str(SERVED.settings.get(name)) if name in SERVED.settings else None, "x")
    }
    others = {RowCode.QUANTIZATION, RowCode.KV_DTYPE, RowCode.SETTINGS, RowCode.SAMPLING} - {code}
    assert {told[other].standing for other in others} == {SAME}


def test_the_quantization_of_a_name_counts_where_no_setting_tells_it() -> None:
    found = row(RowCode.QUANTIZATION, serving(), serving(model="org/model-FP8"))
    assert found.standing is COMPARED and found.values["fields"] == {"weights": (None, "fp8")}
    several = row(RowCode.QUANTIZATION, serving(model=None), serving(model="m-i1-Q4_K_M.gguf"))
    assert several.values["fields"] == {"weights": (None, "i1-q4_k_m")}
    both = {"quantization": "fp8"}
    assert row(RowCode.QUANTIZATION, serving(settings=both), serving(settings=both, model="m-FP8")).standing is SAME


def test_a_setting_that_most_runs_of_an_arm_lack_is_not_stated() -> None:
    """The word 'None' is no value: it once told arms apart that state nothing, and refused them by their sampling."""
    odd = [serving(), serving(), serving(settings={**SERVED.settings, "sampling.top_p": 0.9})]
    found = row(RowCode.SAMPLING, odd, serving())
    assert found.standing is SAME and found.values["values"] == {}


def test_settings_of_an_unknown_configuration_are_not_known() -> None:
    bare = serving(is_configuration_known=False)
    for code in (RowCode.SETTINGS, RowCode.SAMPLING, RowCode.KV_DTYPE, RowCode.QUANTIZATION):
        assert row(code, serving(), bare).standing is UNKNOWN


def test_more_gpus_of_one_kind_are_a_setting() -> None:
    assert row(RowCode.SETTINGS, serving(gpus=()), serving(gpus=None)).values["values"] == {"max_model_len": "4096"}
    found = row(RowCode.SETTINGS, serving(), serving(gpus=("H100", "H100")))
    assert found.values["fields"] == {"gpu_count": ("1", "2")}
    assert row(RowCode.HARDWARE, serving(), serving(gpus=("H100", "H100"))).standing is COMPARED


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, SAME),
        ({"gpus": ("H200",)}, MATTERS),
        ({"machine_id": "m2"}, MATTERS),
        ({"machine_id": "m2", "gpus": None}, MATTERS),
        ({"gpus": None}, UNKNOWN),
    ],
)
def test_hardware(fields: dict[str, Any], standing: Standing) -> None:
    found = row(RowCode.HARDWARE, serving(), serving(**fields))
    assert found.standing is standing
    assert found.values["gpus"] == (("H100",), fields.get("gpus", ("H100",)))
    assert found.values["machines"] == (["m1"], [fields.get("machine_id", "m1")])
    assert row(RowCode.HARDWARE, serving(**fields), serving()).standing is standing


def test_gpus_that_neither_arm_tells_are_not_the_same() -> None:
    assert row(RowCode.HARDWARE, serving(gpus=None), serving(gpus=None)).standing is UNKNOWN
    assert row(RowCode.HARDWARE, serving(gpus=()), serving(gpus=())).standing is SAME


# The load


def test_workload() -> None:
    one = of(*streams(1), params={"t": 0, "u": 1})
    assert row(RowCode.WORKLOAD, one, of(*streams(1), params={"t": 0, "u": 1})).standing is SAME
    assert row(RowCode.WORKLOAD, one, of(*streams(1), params={"u": 1, "t": 0})).standing is SAME, "in any order"
    fewer = row(RowCode.WORKLOAD, one, of(*streams(1), params={"u": 1}))
    assert fewer.standing is MATTERS and fewer.values["params"] == ["t"]
    two = run("b", load(streams(1)), load(streams(1), workload="ladder"))
    assert row(RowCode.WORKLOAD, two, two).values["workloads"] == (["ladder, w"], ["ladder, w"])
    other = row(RowCode.WORKLOAD, one, of(*streams(1), params={"t": 1, "u": 1, "v": 2}))
    assert other.standing is MATTERS and other.values["params"] == ["t", "v"]
    named = row(RowCode.WORKLOAD, one, of(*streams(1), params={"t": 0, "u": 1}, workload="ladder"))
    assert named.standing is MATTERS and named.values["workloads"] == (["w"], ["ladder"])
    declared = row(RowCode.WORKLOAD, one, of(*streams(1), params={"t": 0, "u": 1}, tool="declared"))
    assert declared.standing is TOLD and declared.values["declared"] is True


def test_without_a_load_nothing_is_ranked_but_the_start() -> None:
    bare, loaded = run("b"), of(*streams(1))
    for a, b in ((bare, loaded), (loaded, bare), (bare, bare)):
        found = row(RowCode.WORKLOAD, a, b)
        assert found.standing is MATTERS and found.values["missing"] is True


def older(*requests: RequestRecord, workload: str | None = "w") -> RunFacts:
    """A run of a Pitwall that wrote the requests alone."""
    return replace(run("b", replace(load(requests), asked=None)), workload=workload)


def test_the_parameters_of_an_older_load_are_not_known_and_so_not_the_same() -> None:
    assert row(RowCode.WORKLOAD, older(*streams(1)), older(*streams(1))).standing is UNKNOWN
    assert (
        row(RowCode.WORKLOAD, older(*streams(1), workload=None), older(*streams(1), workload=None)).standing is UNKNOWN
    )
    assert row(RowCode.WORKLOAD, older(*streams(1)), older(*streams(1), workload="x")).standing is MATTERS


def test_prompts() -> None:
    one = of(*streams(3))
    found = row(RowCode.PROMPTS, one, of(*streams(2)))
    assert found.standing is SAME and found.values == {"matched": 2, "measured": 3}
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash="other")).standing is MATTERS
    assert row(RowCode.PROMPTS, one, of(*streams(3), prompt_set_hash=None)).standing is MATTERS
    assert row(RowCode.PROMPTS, run("a"), run("b")).values == {"matched": 0, "measured": 0}
    bare = of(*streams(3), prompt_set_hash=None)
    assert row(RowCode.PROMPTS, bare, bare).standing is UNKNOWN
    few = row(
        RowCode.PROMPTS, of(*streams(4)), of(request(0), *(request(n, n, error_kind="cancelled") for n in (1, 2, 3)))
    )
    assert few.standing is TOLD and few.values == {"matched": 1, "measured": 4}
    assert row(RowCode.PROMPTS, of(*streams(4)), of(*streams(2))).standing is SAME, "half of them are shared"
    mixed = [one, of(*streams(3), prompt_set_hash="other")]
    assert row(RowCode.PROMPTS, mixed, mixed).standing is MATTERS


def test_the_prompts_of_older_loads_are_held_by_their_texts() -> None:
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*streams(2))).standing is SAME
    nothing = older(*[replace(r, phase="warmup") for r in streams(1)])
    assert row(RowCode.PROMPTS, nothing, nothing).standing is UNKNOWN
    others = [replace(r, prompt_hash="x") for r in streams(2)]
    assert row(RowCode.PROMPTS, older(*streams(2)), older(*others)).standing is MATTERS


def test_concurrency() -> None:
    both = of(*streams(1), *(replace(r, phase_index=2) for r in streams(1, 4)))
    alone = of(*streams(1))
    found = row(RowCode.CONCURRENCY, both, alone, "output_tps@4")
    assert found.standing is MATTERS and found.values == {"wanted": 4, "targets": [[1, 4], [1]]}
    assert row(RowCode.CONCURRENCY, both, both, "output_tps@4").standing is SAME
    assert row(RowCode.CONCURRENCY, both, alone).standing is SAME
    assert row(RowCode.CONCURRENCY, both, of(*streams(1, 4))).standing is MATTERS, "one stream is decode speed's"
    assert row(RowCode.CONCURRENCY, both, alone, "tokens_per_j").values["wanted"] is None
    assert row(RowCode.CONCURRENCY, of(), of()).standing is UNKNOWN, "a tool's results do not tell it"
    assert row(RowCode.CONCURRENCY, alone, of()).standing is MATTERS


@pytest.mark.parametrize(
    ("tokens", "standing"), [(100, SAME), (120, SAME), (121, TOLD), (83, TOLD), (0, UNKNOWN), (None, UNKNOWN)]
)
def test_context(tokens: int | None, standing: Standing) -> None:
    """Another model may cut the same text into other tokens; of one model it was another text, such as a part of it."""
    here, there = prompts_of(100), prompts_of(tokens)
    other = replace(there, served=replace(SERVED, model="org/another"))
    found = row(RowCode.CONTEXT, here, other)
    assert found.standing is standing and found.values == {"prompt_tokens": (100, tokens or None)}
    assert row(RowCode.CONTEXT, here, there).standing is (MATTERS if standing is TOLD else standing)


@pytest.mark.parametrize(
    ("cached", "ttft", "decode"), [(5, SAME, SAME), (10, SAME, SAME), (20, MATTERS, TOLD), (None, UNKNOWN, UNKNOWN)]
)
def test_prefix_cache(cached: int | None, ttft: Standing, decode: Standing) -> None:
    for a, b in ((prompts_of(100), prompts_of(100, cached)), (prompts_of(100, cached), prompts_of(100))):
        assert row(RowCode.PREFIX_CACHE, a, b).standing is decode
        for objective in ("ttft_ms@1", "ttft_p95_ms@1", "e2e_ms@1", "e2e_p95_ms@1", "output_tps@1", "work_s@1"):
            assert row(RowCode.PREFIX_CACHE, a, b, objective).standing is ttft
        assert row(RowCode.PREFIX_CACHE, a, b, "tokens_per_j").standing is ttft, "prefill takes energy"


def test_prompts_that_came_from_the_cache_alike_are_the_same() -> None:
    found = row(RowCode.PREFIX_CACHE, prompts_of(100, 80), prompts_of(100, 85), "ttft_ms@1")
    assert found.standing is SAME and found.values == {"cached_share": (0.8, 0.85)}
    assert row(RowCode.PREFIX_CACHE, run("a"), run("b")).standing is UNKNOWN
    part = of(request(0, extra={"cached_prompt_tokens": 5}), request(1, extra={}))
    assert row(RowCode.PREFIX_CACHE, part, part).standing is UNKNOWN
    assert row(RowCode.CONTEXT, run("a"), run("b")).standing is UNKNOWN


def test_prefix_caching_as_a_setting_is_what_is_compared() -> None:
    off = replace(prompts_of(100), served=replace(SERVED, settings={"prefix_caching": False}))
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").standing is COMPARED
    assert row(RowCode.PREFIX_CACHE, off, prompts_of(100, 50), "ttft_ms@1").values == {"cached_share": (0.0, 0.5)}


def test_warmup() -> None:
    warm = of(*streams(2))
    cold = run("b", replace(warm.loads[0], requests=tuple(streams(2))))
    assert row(RowCode.WARMUP, warm, warm).standing is SAME
    assert row(RowCode.WARMUP, cold, cold).standing is TOLD
    found = row(RowCode.WARMUP, warm, cold)
    assert found.standing is MATTERS and found.values == {"warm": ((True,), (False,))}
    assert row(RowCode.WARMUP, [warm, cold], [warm, cold]).standing is MATTERS
    assert row(RowCode.WARMUP, run("b"), run("b")) == Row(RowCode.WARMUP, UNKNOWN, {"warm": ((), ())})
    assert row(RowCode.WARMUP, warm, run("b")).standing is MATTERS


def broken_off(facts: RunFacts) -> RunFacts:
    one = facts.loads[0]
    return replace(facts, loads=(replace(one, phases=tuple(replace(p, is_complete=False) for p in one.phases)),))


def test_unfinished() -> None:
    whole = replace(of(*streams(4)), run_id="a")
    part = of(*streams(3), planned_requests=5)
    assert row(RowCode.UNFINISHED, whole, whole).standing is SAME
    found = row(RowCode.UNFINISHED, whole, part)
    assert found.standing is MATTERS and found.values == {"unsent": {"b": 2}, "live": []}
    live = row(RowCode.UNFINISHED, whole, replace(part, state="running"))
    assert live.values == {"unsent": {"b": 2}, "live": ["b"]}
    assert row(RowCode.UNFINISHED, whole, broken_off(of(*streams(4)))).values == {"unsent": {"b": 0}, "live": []}
    assert row(RowCode.UNFINISHED, whole, of(*streams(4), planned_requests=None)).standing is SAME


def failing(failures: int, of_all: int, kind: str = "http") -> RunFacts:
    return of(*(request(n, n, error_kind=kind if n < failures else None) for n in range(of_all)))


def test_failed() -> None:
    good = failing(0, 100)
    assert row(RowCode.FAILED, good, good).standing is SAME
    few = row(RowCode.FAILED, good, failing(2, 100))
    assert few.standing is TOLD and few.values == {"failed": ((0, 100), (2, 100))}
    assert row(RowCode.FAILED, failing(3, 100), good).standing is MATTERS
    assert row(RowCode.FAILED, good, failing(3, 100, "cancelled")).standing is SAME
    assert row(RowCode.FAILED, run("b"), run("b")).standing is SAME


def test_few_failures_of_many_may_be_most_of_the_concurrency_compared() -> None:
    """4 of 8 requests at 8 streams beside 992 sequential ones: 0.4 % of all, half of what is measured."""
    alone = streams(992)
    together = [replace(r, phase_index=2) for r in streams(1, 8)]
    bad = [replace(r, error_kind="http") if n % 2 else r for n, r in enumerate(together)]
    good, half = of(*alone, *together), of(*alone, *bad)
    found = row(RowCode.FAILED, good, half, "output_tps@8")
    assert found.standing is MATTERS and found.values == {"failed": ((0, 8), (4, 8))}
    assert row(RowCode.FAILED, good, half, "decode_tps").standing is TOLD


def test_the_start_up_time_asks_nothing_of_a_load() -> None:
    """Failed requests, unlike lengths and a broken load have nothing to do with how long a server takes to start."""
    one = replace(failing(0, 4), startup_s=20.0)
    other = replace(failing(3, 4), startup_s=30.0, loads=broken_off(answers(90)).loads)
    told = {row.code: row for row in guard(pair_of([one], [other], "startup_s"))}
    for code in (RowCode.FAILED, RowCode.UNFINISHED, RowCode.LENGTHS, RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.LOOPS):
        assert told[code].standing is SAME and told[code].values == {"not_needed": True}
    assert "not_needed" not in told[RowCode.MODEL].values and "not_needed" not in told[RowCode.STARVATION].values


def test_the_definition_of_logs() -> None:
    def logged(definition: str | None, window_s: float | None = 10.0) -> RunFacts:
        log = LogSpeed(10.0, 5, definition, window_s) if definition else None
        return replace(of(*streams(1)), log=log)

    assert row(RowCode.DEFINITION, logged("x"), logged("y")) == Row(RowCode.DEFINITION, SAME, {"client": True})
    assert row(RowCode.DEFINITION, logged("x"), logged("x"), "log_tps").standing is SAME
    for a, b in ((logged("x"), logged("y")), (logged("x"), logged("x", 5.0)), (logged("x"), logged(None))):
        assert row(RowCode.DEFINITION, a, b, "log_tps").standing is MATTERS
    mixed = [logged("x"), logged("y")]
    assert row(RowCode.DEFINITION, mixed, mixed, "log_tps").standing is MATTERS
    assert row(RowCode.DEFINITION, logged("x"), logged("y"), "log_tps").values["definitions"] == (
        [("x", 10.0)],
        [("y", 10.0)],
    )


# The answers


@pytest.mark.parametrize(("tokens", "standing"), [(100, SAME), (102, SAME), (103, TOLD), (150, TOLD), (151, MATTERS)])
def test_lengths(tokens: int, standing: Standing) -> None:
    for a, b in ((100, tokens), (tokens, 100)):
        found = row(RowCode.LENGTHS, answers(a), answers(b))
        assert found.standing is standing
        assert found.values == {"prompt_class": "Code", "tokens": (a, b), "ratio": pytest.approx(tokens / 100)}


def test_the_worst_class_of_lengths_is_told() -> None:
    def two(tokens: int) -> RunFacts:
        return of(*streams(3), *(request(5 + n, prompt_class="Q&A", completion_tokens=tokens) for n in range(2)))

    assert row(RowCode.LENGTHS, of(*streams(1)), answers(30, prompt_class="Code")).values["ratio"] == 3.0
    grown = of(*(replace(r, completion_tokens=30) for r in streams(3)), *two(10).loads[0].measured[3:])
    assert row(RowCode.LENGTHS, two(10), grown).values["prompt_class"] == "Code"
    found = row(RowCode.LENGTHS, two(10), two(30))
    assert found.standing is MATTERS and found.values["prompt_class"] == "Q&A" and found.values["ratio"] == 3.0
    assert row(RowCode.LENGTHS, run("b"), two(10)).standing is UNKNOWN


def test_the_lengths_of_another_concurrency_are_not_asked() -> None:
    """Decode speed is of one stream: answers that grew at 8 streams do not concern it."""

    def both(tokens: int) -> RunFacts:
        return of(*streams(4), *(replace(r, phase_index=2, completion_tokens=tokens) for r in streams(2, 8)))

    assert row(RowCode.LENGTHS, both(10), both(40)).standing is SAME
    assert row(RowCode.LENGTHS, both(10), both(40), "output_tps@8").standing is MATTERS


def looping(share: float | None, **fields: Any) -> RunFacts:
    extra = {"collapse": {"looped_ratio": share}} if share is not None else {}
    return of(*(request(n, n, extra=extra, **fields) for n in range(4)))


@pytest.mark.parametrize(
    ("shares", "ratio", "standing"),
    [
        ((0.0, 0.1), 2.0, SAME),
        ((0.0, 0.11), 2.0, MATTERS),
        ((0.11, 0.0), 0.5, MATTERS),
        ((0.11, 0.0), 2.0, TOLD),
        ((0.0, 0.11), 0.5, TOLD),
        ((0.25, 0.35), 2.0, TOLD),
        ((0.5, 0.59), 2.0, TOLD),
        ((0.5, 0.61), 2.0, MATTERS),
        ((0.0, 0.5), None, TOLD),
        ((0.0, None), 2.0, UNKNOWN),
        ((None, 0.9), 2.0, UNKNOWN),
    ],
)
def test_loops(shares: tuple[float | None, float | None], ratio: float | None, standing: Standing) -> None:
    found = row(RowCode.LOOPS, looping(shares[0]), looping(shares[1]), ratio=ratio)
    assert found.standing is standing
    if standing is not UNKNOWN:
        assert found.values["looped"] == pytest.approx(shares) and found.values["past_the_end"] is False


def test_of_a_time_the_shorter_is_the_faster() -> None:
    assert row(RowCode.LOOPS, looping(0.0), looping(0.9), "ttft_ms@1", ratio=0.5).standing is MATTERS
    assert row(RowCode.LOOPS, looping(0.0), looping(0.9), "ttft_ms@1", ratio=2.0).standing is TOLD


def test_loops_past_the_end_are_told_only_where_all_go_past_it() -> None:
    past = {"sampling": {"ignore_eos": True}}
    found = row(RowCode.LOOPS, looping(0.0, **past), looping(0.9, **past), ratio=2.0)
    assert found.standing is TOLD and found.values["past_the_end"] is True
    assert row(RowCode.LOOPS, looping(0.0), looping(0.9, **past), ratio=2.0).standing is MATTERS


def test_loops_of_which_one_answer_was_not_judged_are_not_known() -> None:
    part = of(request(0), request(1, extra={}))
    assert row(RowCode.LOOPS, part, part, ratio=2.0).standing is UNKNOWN


# The machine meanwhile


def test_gpu_clocks() -> None:
    cool = {"hardware_throttled": False, "power_capped": False, "sm_clock_mhz_median": 1900.0}
    assert row(RowCode.THROTTLING, having(cool), having(cool)).standing is SAME
    slow = row(RowCode.THROTTLING, having(cool), having(cool | {"sm_clock_mhz_median": 1800.0}))
    assert slow.standing is MATTERS
    assert slow.values["found"] == {"sm_clock_mhz_median": ((1900.0,), (1800.0,))}
    assert row(RowCode.THROTTLING, having(cool), having()).standing is UNKNOWN
    none = row(RowCode.THROTTLING, having(gpus=()), having(gpus=()))
    assert none.standing is SAME and none.values == {"no_gpu": True}
    assert row(RowCode.THROTTLING, having(gpus=()), having(cool)).standing is UNKNOWN


def test_another_kind_of_gpu_has_clocks_of_its_own() -> None:
    """A declared comparison of two GPUs could otherwise never be made."""
    cool = {"hardware_throttled": False, "power_capped": False, "sm_clock_mhz_median": 1900.0}
    h200 = having(cool | {"sm_clock_mhz_median": 1600.0}, gpus=("H200",))
    assert row(RowCode.THROTTLING, having(cool), h200).standing is SAME
    hot = having(cool | {"hardware_throttled": True, "throttle_bits": 0x40}, gpus=("H200",))
    found = row(RowCode.THROTTLING, having(cool), hot)
    assert found.standing is MATTERS
    assert found.values["found"] == {"hardware_throttled": ((False,), (True,)), "throttle_bits": ((None,), (0x40,))}
    mixed = [h200, having(cool, gpus=("H200",))]
    assert row(RowCode.THROTTLING, having(cool), mixed).standing is MATTERS, "unlike within an arm"
    capped = having(cool | {"power_capped": True}, gpus=("H200",))
    assert row(RowCode.THROTTLING, having(cool), capped).standing is TOLD
    assert row(RowCode.THROTTLING, capped, having(gpus=("H100",))).standing is UNKNOWN


def test_starvation_and_others_on_the_gpus() -> None:
    for code, name in ((RowCode.STARVATION, "starvation_ratio"), (RowCode.GPU_SHARED, "other_gpu_utilization")):
        calm = {name: 0.0, "other_gpu_memory_bytes": 0}
        assert row(code, having(calm), having(calm)).standing is SAME
        assert row(code, having(calm), having(calm | {name: 0.5})).standing is MATTERS
        why = Reason(Code.NO_GPU_LOOKED_AT_WITHIN)
        unseen = replace(having({}), conditions=(Conditions("b", reasons={name: why}),))
        found = row(code, having(calm), unseen)
        assert found.standing is UNKNOWN and found.values["reasons"] == (why,)
    assert row(RowCode.GPU_SHARED, having(gpus=()), having(gpus=())).standing is SAME
    held = {"starvation_ratio": 0.5}
    assert row(RowCode.STARVATION, having(held), having(held)).standing is TOLD
    assert row(RowCode.STARVATION, having(gpus=()), having(gpus=())).standing is UNKNOWN


def test_neighbours() -> None:
    alone = replace(serving(), run_id="a")
    far, near = (replace(serving(), neighbours=(Neighbour("x", shares),)) for shares in (False, True))
    assert row(RowCode.NEIGHBOURS, alone, alone).standing is SAME
    assert row(RowCode.NEIGHBOURS, alone, far) == Row(RowCode.NEIGHBOURS, TOLD, {"beside": {"b": ["x"]}})
    assert row(RowCode.NEIGHBOURS, alone, near) == Row(RowCode.NEIGHBOURS, MATTERS, {"sharing": {"b": ["x"]}})


def test_a_row_that_matters_refuses_and_no_other() -> None:
    rows = [Row(RowCode.MODEL, standing) for standing in Standing]
    assert [row.standing for row in refusals(rows)] == [MATTERS]
    told = guard(pair_of([of(*streams(1))], [failing(3, 4)]))
    assert [row.code for row in refusals(told)] == [RowCode.FAILED]


def test_each_row_is_there_once_and_in_order() -> None:
    assert [row.code for row in guard(pair_of([of(*streams(1))], [of(*streams(1))]))] == list(RowCode)
    assert [row.code for row in guard(pair_of([run("a")], [run("b")], "startup_s"))] == list(RowCode)

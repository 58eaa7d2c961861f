"""Single rows of the guard on their thresholds, and what once slipped past them; each number stands in the test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from analysis.comparison.facts import RunFacts
from analysis.comparison.log_speed import LogSpeed
from analysis.guard import CHECKS, DECLARABLE, GuardRow, RowCode, RowStatus, guard, refusals
from load_records import OWN_ANSWERS, RequestRecord
from tests.analysis.comparison.hand_made import load, pair_of, request, run, streams
from tests.analysis.comparison.ideal_engine import SERVED
from web.compare.answer.guard_words import row_text

SAME, TOLD, MATTERS = RowStatus.SAME, RowStatus.TOLD, RowStatus.MATTERS
COMPARED, UNKNOWN = RowStatus.COMPARED, RowStatus.UNKNOWN
Runs = Sequence[RunFacts]


def row(
    code: RowCode, a: Runs | RunFacts, b: Runs | RunFacts, objective: str = "decode_tps", **fields: Any
) -> GuardRow:
    """The row, which is the one that was asked for and has words."""
    sides = [[one] if isinstance(one, RunFacts) else one for one in (a, b)]
    found = CHECKS[code](pair_of(sides[0], sides[1], objective, **fields))
    assert found.code is code and row_text(found, {"a": "a", "b": "b"})
    return found


def of(*requests: RequestRecord, **asked: Any) -> RunFacts:
    return run("b", load(requests, **asked))


def serving(**fields: Any) -> RunFacts:
    return run("b", load(streams(1)), served=replace(SERVED, **fields))


def answers(tokens: int, count: int = 4, **fields: Any) -> RunFacts:
    return of(*(request(n, n, completion_tokens=tokens, **fields) for n in range(count)))


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
def test_model(fields: dict[str, Any], standing: RowStatus) -> None:
    assert row(RowCode.MODEL, serving(), serving(**fields)).status is standing
    assert row(RowCode.MODEL, serving(**fields), serving()).status is standing


def test_other_files_under_one_name_are_said() -> None:
    actual_row = row(RowCode.MODEL, serving(), serving(model_files="f2"))
    assert actual_row.values == {"models": ("org/model", "org/model"), "files_differ": True}
    declared = row(RowCode.MODEL, serving(), serving(model_files="f2"), declared=frozenset({RowCode.MODEL}))
    assert declared.status is COMPARED


@pytest.mark.parametrize(
    ("fields", "standing"),
    [
        ({}, SAME),
        ({"engine_version": "0.34.0"}, COMPARED),
        ({"engine_version": None}, UNKNOWN),
        ({"engine": "sglang", "engine_version": None}, COMPARED),
    ],
)
def test_engine(fields: dict[str, Any], standing: RowStatus) -> None:
    actual_row = row(RowCode.ENGINE, serving(), serving(**fields))
    assert actual_row.status is standing
    second = replace(SERVED, **fields)
    assert actual_row.values["engines"] == ("vllm", second.engine)
    assert actual_row.values["versions"] == ("0.33.0", second.engine_version)
    assert row(RowCode.ENGINE, serving(**fields), serving()).status is standing


def test_an_image_stands_for_the_version() -> None:
    served = {"engine_version": None, "image": "vllm@sha256:1"}
    assert row(RowCode.ENGINE, serving(**served), serving(**served)).status is SAME


def test_forced_acceptance_is_never_ranked() -> None:
    """Not if it is slower, not if both are forced, and not if somebody declares it."""
    forced = serving(forced_acceptance="SGLANG_SIMULATE_ACC_LEN=3.5")
    for a, b in ((serving(), forced), (forced, serving()), (forced, forced)):
        for ratio in (0.5, 1.5, None):
            declared = frozenset({RowCode.FORCED_ACCEPTANCE})
            actual_row = row(RowCode.FORCED_ACCEPTANCE, a, b, ratio=ratio, declared=declared)
            assert actual_row.status is MATTERS and "SGLANG_SIMULATE_ACC_LEN=3.5" in row_text(actual_row, {})
    assert row(RowCode.FORCED_ACCEPTANCE, serving(), serving()).status is SAME
    actual_row = row(RowCode.FORCED_ACCEPTANCE, serving(), serving(is_configuration_known=False))
    assert actual_row.status is UNKNOWN and row_text(actual_row, {}) == "the configuration of one arm is not known"
    assert RowCode.FORCED_ACCEPTANCE not in DECLARABLE
    by_code = {row.code: row for row in guard(pair_of([serving()], [forced], "startup_s"))}
    assert by_code[RowCode.FORCED_ACCEPTANCE].status is SAME, "a start-up drafts nothing"


def test_sampling_that_requests_override_is_same() -> None:
    def sampled(sent: float, **defaults: float) -> RunFacts:
        settings = {f"sampling.{name}": value for name, value in defaults.items()}
        requests = [request(n, n, sampling={"temperature": sent, "seed": 1}) for n in range(3)]
        return replace(of(*requests), served=replace(SERVED, settings=settings))

    def standing(sent: float, **defaults: float) -> RowStatus:
        pair = (sampled(sent), sampled(sent, **defaults))
        return row(RowCode.SAMPLING, *pair).status

    assert standing(0, temperature=1.0, top_k=20, top_p=0.8) is SAME
    assert standing(0, repetition_penalty=1.3) is MATTERS
    assert standing(0.7, temperature=1.0) is SAME and standing(0.7, top_k=20) is MATTERS


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
def test_a_setting_has_one_row(name: str, code: RowCode, standing: RowStatus) -> None:
    rows_by_code = {
        row.code: row for row in guard(pair_of([serving()], [serving(settings={**SERVED.settings, name: "x"})]))
    }
    assert rows_by_code[code].status is standing
    assert rows_by_code[code].values["fields"] == {
        name: (str(SERVED.settings.get(name)) if name in SERVED.settings else None, "x")
    }
    others = {RowCode.QUANTIZATION, RowCode.KV_DTYPE, RowCode.SETTINGS, RowCode.SAMPLING} - {code}
    assert {rows_by_code[other].status for other in others} == {SAME}


def test_quantization_from_name_without_setting() -> None:
    actual_row = row(RowCode.QUANTIZATION, serving(), serving(model="org/model-FP8"))
    assert actual_row.status is COMPARED and actual_row.values["fields"] == {"weights": (None, "fp8")}
    several = row(RowCode.QUANTIZATION, serving(model=None), serving(model="m-i1-Q4_K_M.gguf"))
    assert several.values["fields"] == {"weights": (None, "i1-q4_k_m")}
    fields = {"quantization": "fp8"}
    assert row(RowCode.QUANTIZATION, serving(settings=fields), serving(settings=fields, model="m-FP8")).status is SAME


def test_setting_missing_in_most_runs_is_unstated() -> None:
    """The word 'None' is no value: it once told arms apart that state nothing, and refused them by their sampling."""
    odd = [serving(), serving(), serving(settings={**SERVED.settings, "sampling.top_p": 0.9})]
    actual_row = row(RowCode.SAMPLING, odd, serving())
    assert actual_row.status is SAME and actual_row.values["values"] == {}


def test_settings_of_unknown_config_are_unknown() -> None:
    bare = serving(is_configuration_known=False)
    for code in (RowCode.SETTINGS, RowCode.SAMPLING, RowCode.KV_DTYPE, RowCode.QUANTIZATION):
        assert row(code, serving(), bare).status is UNKNOWN


# The load


def test_workload() -> None:
    facts = of(*streams(1), params={"t": 0, "u": 1})
    assert row(RowCode.WORKLOAD, facts, of(*streams(1), params={"t": 0, "u": 1})).status is SAME
    assert row(RowCode.WORKLOAD, facts, of(*streams(1), params={"u": 1, "t": 0})).status is SAME, "in any order"
    here, there = (of(*streams(1), params={"file": f"/{place}/shape.jsonl"}) for place in ("here", "there"))
    assert row(RowCode.WORKLOAD, here, there).status is SAME, "the hash of the prompts stands for the file's content"
    unhashed = of(*streams(1), params={"file": "/there/shape.jsonl"}, prompt_set_hash=None)
    assert row(RowCode.WORKLOAD, here, unhashed).status is MATTERS
    fewer = row(RowCode.WORKLOAD, facts, of(*streams(1), params={"u": 1}))
    assert fewer.status is MATTERS and fewer.values["params"] == ["t"]
    two = run("b", load(streams(1)), load(streams(1), workload="ladder"))
    assert row(RowCode.WORKLOAD, two, two).values["workloads"] == (["ladder, w"], ["ladder, w"])
    other_row = row(RowCode.WORKLOAD, facts, of(*streams(1), params={"t": 1, "u": 1, "v": 2}))
    assert other_row.status is MATTERS and other_row.values["params"] == ["t", "v"]
    named_row = row(RowCode.WORKLOAD, facts, of(*streams(1), params={"t": 0, "u": 1}, workload="ladder"))
    assert named_row.status is MATTERS and named_row.values["workloads"] == (["w"], ["ladder"])
    declared = row(RowCode.WORKLOAD, facts, of(*streams(1), params={"t": 0, "u": 1}, tool="declared"))
    assert declared.status is TOLD and declared.values["declared"] is True


def test_own_answers_in_later_prompts_are_told() -> None:
    generated, facts = (of(*streams(1), params={"answers": answers}) for answers in ("generated", OWN_ANSWERS))
    assert row(RowCode.PROMPTS, generated, generated).status is SAME
    shown_row = row(RowCode.PROMPTS, facts, facts)
    assert shown_row.status is TOLD and "each server's own" in row_text(shown_row, {})


def test_without_load_only_startup_is_ranked() -> None:
    bare, loaded = run("b"), of(*streams(1))
    for a, b in ((bare, loaded), (loaded, bare), (bare, bare)):
        actual_row = row(RowCode.WORKLOAD, a, b)
        assert actual_row.status is MATTERS and actual_row.values["missing"] is True


def test_recordings_are_refused_with_the_way_to_compare_them() -> None:
    recorded, loaded = replace(run("b"), has_recording=True), of(*streams(1))
    for a, b in ((recorded, loaded), (loaded, recorded), (recorded, recorded)):
        refused = row(RowCode.WORKLOAD, a, b)
        assert refused.status is MATTERS and "Agent replay" in row_text(refused, {})
    also_loaded = replace(loaded, has_recording=True)
    assert row(RowCode.WORKLOAD, also_loaded, also_loaded).status is SAME, "a load of Pitwall counts"


def older(*requests: RequestRecord, workload: str | None = "w") -> RunFacts:
    """A run of a Pitwall that wrote the requests alone."""
    return replace(run("b", replace(load(requests), plan=None)), workload=workload)


def test_older_load_params_are_unknown() -> None:
    assert row(RowCode.WORKLOAD, older(*streams(1)), older(*streams(1))).status is UNKNOWN
    assert row(RowCode.WORKLOAD, older(*streams(1), workload=None), older(*streams(1), workload=None)).status is UNKNOWN
    assert row(RowCode.WORKLOAD, older(*streams(1)), older(*streams(1), workload="x")).status is MATTERS


def test_concurrency() -> None:
    facts = of(*streams(1), *(replace(r, phase_index=2) for r in streams(1, 4)))
    alone = of(*streams(1))
    actual_row = row(RowCode.CONCURRENCY, facts, alone, "output_tps@4")
    assert actual_row.status is MATTERS and actual_row.values == {"wanted": 4, "targets": [[1, 4], [1]]}
    assert row(RowCode.CONCURRENCY, facts, facts, "output_tps@4").status is SAME
    assert row(RowCode.CONCURRENCY, facts, alone).status is SAME
    assert row(RowCode.CONCURRENCY, facts, of(*streams(1, 4))).status is MATTERS, "one stream is decode speed's"
    assert row(RowCode.CONCURRENCY, facts, alone, "tokens_per_j").values["wanted"] is None
    assert row(RowCode.CONCURRENCY, of(), of()).status is UNKNOWN, "a tool's results do not tell it"
    assert row(RowCode.CONCURRENCY, alone, of()).status is MATTERS


def test_warmup() -> None:
    warm = of(*streams(2))
    cold = run("b", replace(warm.loads[0], requests=tuple(streams(2))))
    assert row(RowCode.WARMUP, warm, warm).status is SAME
    assert row(RowCode.WARMUP, cold, cold).status is TOLD
    actual_row = row(RowCode.WARMUP, warm, cold)
    assert actual_row.status is MATTERS and actual_row.values == {"warm": ((True,), (False,))}
    assert row(RowCode.WARMUP, [warm, cold], [warm, cold]).status is MATTERS
    assert row(RowCode.WARMUP, run("b"), run("b")) == GuardRow(RowCode.WARMUP, UNKNOWN, {"warm": ((), ())})
    assert row(RowCode.WARMUP, warm, run("b")).status is MATTERS


def broken_off(facts: RunFacts) -> RunFacts:
    load = facts.loads[0]
    return replace(facts, loads=(replace(load, phases=tuple(replace(p, is_complete=False) for p in load.phases)),))


def failing(failures: int, of_all: int, kind: str = "http") -> RunFacts:
    return of(*(request(n, n, error_kind=kind if n < failures else None) for n in range(of_all)))


def test_the_start_up_time_asks_nothing_of_a_load() -> None:
    """Failed requests, unlike lengths and a broken load have nothing to do with how long a server takes to start."""
    one = replace(failing(0, 4), startup_s=20.0)
    other = replace(failing(3, 4), startup_s=30.0, loads=broken_off(answers(90)).loads)
    rows_by_code = {row.code: row for row in guard(pair_of([one], [other], "startup_s"))}
    for code in (RowCode.FAILED, RowCode.UNFINISHED, RowCode.LENGTHS, RowCode.WORKLOAD, RowCode.PROMPTS, RowCode.LOOPS):
        assert rows_by_code[code].status is SAME and rows_by_code[code].values == {"not_needed": True}
    assert (
        "not_needed" not in rows_by_code[RowCode.MODEL].values
        and "not_needed" not in rows_by_code[RowCode.STARVATION].values
    )


def test_the_definition_of_logs() -> None:
    def logged(definition: str | None, window_s: float | None = 10.0) -> RunFacts:
        log = LogSpeed(10.0, 5, definition, window_s) if definition else None
        return replace(of(*streams(1)), log=log)

    assert row(RowCode.DEFINITION, logged("x"), logged("y")) == GuardRow(RowCode.DEFINITION, SAME, {"client": True})
    assert row(RowCode.DEFINITION, logged("x"), logged("x"), "log_tps").status is SAME
    for a, b in ((logged("x"), logged("y")), (logged("x"), logged("x", 5.0)), (logged("x"), logged(None))):
        assert row(RowCode.DEFINITION, a, b, "log_tps").status is MATTERS
    mixed = [logged("x"), logged("y")]
    assert row(RowCode.DEFINITION, mixed, mixed, "log_tps").status is MATTERS
    assert row(RowCode.DEFINITION, logged("x"), logged("y"), "log_tps").values["definitions"] == (
        [("x", 10.0)],
        [("y", 10.0)],
    )


def test_a_row_that_matters_refuses_and_no_other() -> None:
    rows = [GuardRow(RowCode.MODEL, standing) for standing in RowStatus]
    assert [row.status for row in refusals(rows)] == [MATTERS]
    actual_guard = guard(pair_of([of(*streams(1))], [failing(3, 4)]))
    assert [row.code for row in refusals(actual_guard)] == [RowCode.FAILED]


def test_each_row_is_there_once_and_in_order() -> None:
    assert [row.code for row in guard(pair_of([of(*streams(1))], [of(*streams(1))]))] == list(RowCode)
    assert [row.code for row in guard(pair_of([run("a")], [run("b")], "startup_s"))] == list(RowCode)

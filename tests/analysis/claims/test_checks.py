"""The published statements, recomputed from the rows and held against numbers that were worked out by hand."""

from __future__ import annotations

import csv
import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.claims.check import CheckInput, ClaimCheck, FormulaInput, run_check
from analysis.claims.formulas import FORMULAS, rounding
from reference.statements import failures_like, load_checks, load_failures, numbers_by_part, read_table
from reports.arms.claims import checked_claims, doubts

EXPECTED = {row[0]: row[1:] for row in json.loads((Path(__file__).parent / "expected.json").read_text())}
CORPUS = os.environ.get("PITWALL_CORPUS")
ROUNDED = 0.006  # they were noted with two or three digits


def test_63_recomputations_come_out_as_by_hand() -> None:
    checked = checked_claims()
    assert [one.check.id for one in checked] == list(EXPECTED) and len(checked) == 63
    for one in checked:
        recomputed, agrees = EXPECTED[one.check.id]
        assert one.outcome.recomputed == pytest.approx(tuple(recomputed), rel=ROUNDED, abs=ROUNDED), one.check.id
        assert one.outcome.agrees is agrees, one.check.id


def test_the_contradictions_are_found() -> None:
    ids = {checked_claim.check.id for checked_claim in checked_claims() if checked_claim.is_contradiction}
    assert ids == {
        *("s002.plus300", "s004.x2conc", "x.s004.gpqa_grid", "x.s000.kv_A_equals_B", "x.s000.kv_vllm_vs_sglang"),
        *("x.s000.sglang_ctx", "x.s002.plus300", "x.s001.depth_base", "x.s001.pp_depth0"),
    }
    assert all(
        checked_claim.check.meaning for checked_claim in checked_claims() if checked_claim.outcome.agrees is not True
    )


def test_checks_take_numbers_from_input_rows() -> None:
    tables = ("measurements", "claims", "configurations")
    ids = {row.get("id") or row["config"] for table in tables for row in read_table(table)}
    for row in load_checks():
        keys = {key.partition(":")[0] for group in row.inputs for key in group} | set(row.stated_values)
        assert keys <= ids, row.id


def test_contradiction_text_has_its_own_numbers() -> None:
    constants = {"1", "198", "2", "0.0"}  # of formulas: a step's own token, questions of GPQA, sds, a printed spread
    for row in load_checks():
        typed = set(re.findall(r"(?<![A-Za-z])\d+(?:\.\d+)?", re.sub(r"\{[^}]*\}", "", row.meaning)))
        assert typed <= constants, row.id
    numbers = FormulaInput([[CheckInput("a", "1100"), CheckInput("b", "1000")]], [3.0], 0.05)
    check = ClaimCheck("c", "000", 1, "ratio", numbers, "{i0:,.0f} over {i1:,.0f} are {r0:.2f} times, not {s0:g}.")
    assert run_check(check, FORMULAS).words == "1,100 over 1,000 are 1.10 times, not 3."


def test_doubt_marks_every_contradictory_number() -> None:
    actual_doubts = doubts()
    assert {
        "s000.m001",
        "s000.m041",
        "s000.m044",
        "s000.m052",
        "s000.m006",
    } <= actual_doubts.keys()  # 876,000 and 876,006
    assert any(
        "no request of full length fits" in one for one in actual_doubts["s000.m011"]
    )  # 69,700, printed once more
    assert actual_doubts["s002.m002"] == ("40 is 264 % more than 11, not 300 %.",)  # two checks say so, one sentence
    assert "s000.m021" not in actual_doubts and "s003.m020" not in actual_doubts


def check(formula: str, groups: list[list[CheckInput]], values: list[float], tolerance: float = 0.05) -> ClaimCheck:
    return ClaimCheck("c", "000", 1, formula, FormulaInput(groups, values, tolerance))


def test_statement_must_follow_from_its_numbers() -> None:
    numbers = [[CheckInput("a", "1244"), CheckInput("b", "757")]]
    assert run_check(check("ratio", numbers, [2.0]), FORMULAS).is_contradiction
    assert not run_check(check("ratio", numbers, [1.64]), FORMULAS).is_contradiction


def test_equal_pools_need_differing_configs() -> None:
    same = [
        [CheckInput("a", "876006"), CheckInput("b", "876006"), CheckInput("wa", "NVFP4"), CheckInput("wb", "FP8 block")]
    ]
    assert run_check(check("equal_although", same, []), FORMULAS).is_contradiction
    alike = [[*same[0][:3], CheckInput("wb", "NVFP4")]]
    assert not run_check(check("equal_although", alike, []), FORMULAS).is_contradiction
    other = [[same[0][0], replace(same[0][1], text="876000"), *same[0][2:]]]
    assert not run_check(check("equal_although", other, []), FORMULAS).is_contradiction


def test_repeats_differ_beyond_spread() -> None:
    def apart(second: str, sd: float) -> bool:
        return run_check(
            check("repeats_agree", [[CheckInput("a", "6.5", sd=0.0), CheckInput("b", second, sd=sd)]], []), FORMULAS
        ).is_contradiction

    assert apart("6.79", 0.0) and not apart("6.79", 0.2) and not apart("6.54", 0.0)
    assert rounding("6.5") == 0.05 and rounding("1890") == 0.5


def test_the_second_language_repeats_the_first() -> None:
    parts = numbers_by_part("003")
    assert list(parts) == ["English", "Chinese"] and parts["Chinese"] <= parts["English"]
    formula_input = FormulaInput([], [], 0.0, None, {"one": frozenset({"1"}), "two": frozenset({"1", "2"})})
    assert FORMULAS["numbers_repeated"](formula_input).agrees is False


def test_25_failures_14_validations_106_claims() -> None:
    assert [len(read_table(name)) for name in ("failures", "validations", "claims")] == [25, 14, 106]
    for name in ("failures", "validations", "claims"):
        assert all(int(row["line"]) > 0 and row["id"] and row["source"] for row in read_table(name))
    assert {row["category"] for row in read_table("measurements")} == {"", "law", "history", "philosophy"}


@pytest.mark.parametrize(
    ("cause", "command", "ids"),
    [
        ("KeyError: 'layers.0.mlp.down_proj.weight_scale'", "", ["s001.prequant_keyerror"]),
        ("_pickle.PicklingError: Can't pickle <function launcher at 0x7f>", "", ["s001.compile_cache_pickle"]),
        (
            "The checkpoint has model type `gemma4` but Transformers does not recognize this architecture.",
            "",
            ["s001.tf4", "s004.not_recognized"],
        ),
        (
            "FP4 GEMM is not supported on this GPU",
            "vllm serve m --quantization modelopt",
            ["s004.cuda12", "s004.older"],
        ),
        ("FP4 GEMM is not supported on this GPU", "vllm serve m", []),
        ("CUDA out of memory", "vllm serve m --quantization modelopt", []),
        ("", "", []),
    ],
)
def test_a_failure_is_known_by_its_cause_and_flag(cause: str, command: str, ids: list[str]) -> None:
    assert [one.id for one in failures_like(cause, command)] == ids


def test_patterns_match_their_source_words() -> None:
    quoted = {failure.id: failure.quote for failure in load_failures() if failure.cause_pattern}
    told = {"s003.norm1d", "s001.prequant_keyerror", "s001.compile_cache_pickle", "s004.not_recognized"}
    assert told <= {one.id for key in quoted for one in failures_like(quoted[key], "")}


@pytest.mark.skipif(not CORPUS, reason="PITWALL_CORPUS names no folder to compare with")
def test_nothing_was_changed_on_the_way() -> None:
    facts = Path(str(CORPUS)).parent / "reference/facts"
    if not facts.is_dir():
        pytest.skip("the facts do not lie beside the corpus")
    documents = [json.loads(path.read_text()) for path in sorted(facts.glob("seed_*.json"))]
    claims = {
        claim["id"]: (claim["src"]["raw"], str(claim["src"]["line"])) for doc in documents for claim in doc["claims"]
    }
    assert {row["id"]: (row["quote"], row["line"]) for row in read_table("claims")} == claims
    with (facts / "all_measurements.csv").open(newline="") as file:
        spreads = {row["id"]: (row["sd"], row["category"]) for row in csv.DictReader(file)}
    assert {row["id"]: (row["sd"], row["category"]) for row in read_table("measurements")} == spreads

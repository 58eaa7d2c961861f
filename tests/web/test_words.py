"""Every reason and every row of the guard has words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from analysis.guard import RowCode, RowStatus
from engines import all_definitions
from reasons import Code, Reason
from web.compare.answer.guard_words import ROW_TEXTS, STANDING_LABELS, TITLES
from web.words import UNKNOWN, reason_text, reasons_text

ROOT = Path(__file__).resolve().parents[2]
DEFINITIONS = all_definitions()
VIEWS = ROOT / "storage/views"
OF_RESULTS = [
    *(ROOT / "collectors/imports/results").rglob("*.py"),
    *(
        ROOT / name
        for name in (
            "analysis/loads/load_results.py",
            "analysis/loads/requests.py",
            "workloads/shapes/knee.py",
            "workloads/texts/fitting.py",
        )
    ),
]
OF_MACHINE = ROOT / "analysis/runs/condition_sums.py"  # in the guard of `./pitwall compare --json`
# A text behind THEN or ELSE whose CASE is a reason: lower case and underscores, values behind it.
REASON = re.compile(r"(?:THEN|ELSE)\s+'([a-z]+_[a-z_]+(?: \w+=)?)'")
VALUES: dict[Code, dict[str, Any]] = {
    Code.TOO_FEW_WINDOWS: {"active": 1, "windows": 4, "fewest": 3},
    Code.FEW_WHOLE_WINDOWS: {"windows": 1, "fewest": 3},
    Code.STEPS_MISSING: {"missing": 1, "active": 4},
    Code.COUNTERS_DISAGREE: {"client": 100, "counters": 120.0},
    Code.NO_REQUEST_OF_KIND: {"concurrency": 4},
    Code.TOO_FEW_CHUNKS: {"requests": 3, "fewest": 4},
    Code.SELDOM_ALONE: {"windows": 1, "fewest": 3, "together": [4, 8]},
    Code.NO_STEADY_PART: {"concurrency": 8},
    Code.TOO_FEW_REQUESTS: {"requests": 12, "fewest": 100},
    Code.INPUTS_UNKNOWN: {"inputs": ("total_s",)},
    Code.CONFIG_NOT_READ: {"why": "it does not exist"},
    Code.ATTENTION_NOT_READ: {"model_type": "mamba"},
    Code.TOO_FEW_FOR_BANDS: {"windows": 4, "fewest": 12},
    Code.TOO_FEW_STARTS: {"starts": 1, "fewest": 2},
    Code.PHASES_OVERLAP: {"phases_s": 12.0, "total_s": 10.0},
    Code.NO_ANSWER: {"seconds": "7.6"},
    Code.TOO_MANY_TOKENS_A_STEP: {"tokens": "11.7", "most": "5"},
    Code.RANKS_MISSING: {"missing": "1", "ranks": "2"},
    Code.RANK_IS_NEW: {"rank": "1"},
    Code.RANK_SILENT: {"rank": "1", "seconds": "30"},
    Code.NOT_A_NUMBER: {"text": "NaN"},
    Code.SPREAD_COUNT_NOT_TOLD: {"spread": "5.2"},
    Code.SD_DIVISOR_NOT_TOLD: {"spread": "5.2"},
    Code.VALUES_MISSING: {"present": "2", "wanted": "3"},
    Code.LIMITS_AT_P95: {"ttft_ms": "2000", "tpot_ms": "100"},
    Code.LOWEST_RUNG_BROKE: {"users": "1"},
    Code.LENGTH_APPROXIMATE: {"said": "HTTP 404"},
    Code.ITEMS_WITHOUT_ANSWER: {"errors": "3", "items": "20"},
    Code.NOT_SCORED_YET: {"items": "4", "errors": "1"},
    Code.TOO_FEW_SAMPLES_WITHIN: {"samples": "1", "span_s": "10.0"},
    Code.LOOKED_AT_IN_PART: {"seen_s": "7.5", "span_s": "10.0"},
    Code.COLLECTOR_SAYS: {"text": "no NVIDIA driver"},
}


@pytest.mark.parametrize("code", list(Code))
def test_every_reason_has_words(code: Code) -> None:
    actual_reason_text = reason_text(Reason(code, ("b",), VALUES.get(code, {})))
    assert actual_reason_text and "{" not in actual_reason_text and "None" not in actual_reason_text


def test_no_words_for_removed_reasons() -> None:
    assert set(UNKNOWN) == set(Code)
    assert set(TITLES) == set(ROW_TEXTS) == set(RowCode)
    assert set(STANDING_LABELS) == set(RowStatus)


def test_column_codes_have_words_and_docs() -> None:
    of_views = {code.split()[0] for file in VIEWS.rglob("*.sql") for code in REASON.findall(file.read_text())}
    of_results = {
        Code[name]
        for file in (*OF_RESULTS, OF_MACHINE)
        for name in re.findall(r"\bCode\.([A-Z_0-9]+)", file.read_text())
    }
    document = (ROOT / "docs/reasons.md").read_text()
    assert len(of_views) > 20 and len(of_results) > 20 and of_views <= set(Code)
    actual_of_views = of_views | of_results | {row.null_reason for row in DEFINITIONS if row.null_reason}
    assert actual_of_views == set(re.findall(r"^\| `(\w+)`", document, re.MULTILINE))


def test_a_definition_has_a_formula_or_a_code() -> None:
    assert all((row.formula is None) is (row.null_reason in set(Code)) for row in DEFINITIONS)
    assert {type(row.null_reason) for row in DEFINITIONS} == {Code, type(None)}


def test_reasons_join_foreign_text_is_verbatim() -> None:
    actual_reasons_text = reasons_text(
        "values_missing present=2 wanted=3; not_a_number text=%27a%3B%20b%27; sd_of_one_value"
    )
    assert actual_reasons_text == (
        """2 of 3 values are present; the file contains "'a; b'", which is not a number; """
        "no sd: there is only one value"
    )
    for foreign in ("it is; as it is", "", " ", "; ", "no_such_code x=1"):
        assert reasons_text(foreign) == foreign


def test_view_reason_is_read_with_its_values() -> None:
    assert reasons_text("no_answer seconds=7.6") == "no answer for 7.6 s"
    assert reasons_text("rank_silent rank=1 seconds=30") == "rank 1 has logged nothing for 30 s"
    assert reasons_text("NVML is not there") == "NVML is not there" and reasons_text(None) is None

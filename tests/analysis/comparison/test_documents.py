"""docs/answers/comparability.md and docs/answers/statistics.md name what the code knows, all of it and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.guard import DECLARABLE, RowCode, RowStatus, answers, load, machine
from analysis.runs import conditions
from analysis.verdict import MARGIN, VerdictAnswer
from analysis.verdict.replicates import FEWEST_EARLIER_DF
from analysis.verdict.settling import HIGH_CHANCE, LOW_CHANCE, MAX_REPEATS
from web.compare.answer.guard_words import STANDING_LABELS, TITLES

DOCS = Path(__file__).parents[3] / "docs"
COMPARABILITY = (DOCS / "answers" / "comparability.md").read_text()
STATISTICS = (DOCS / "answers" / "statistics.md").read_text()
ROW = re.compile(r"^\| (?P<title>[^|`]+) `(?P<code>\w+)` \|(?P<rest>.*)$", re.MULTILINE)
ROWS = {match["code"]: match for match in ROW.finditer(COMPARABILITY)}


def test_guard_rows_documented_by_title_and_code() -> None:
    assert [(code, row["title"]) for code, row in ROWS.items()] == [(c.value, TITLES[c]) for c in RowCode]


def test_declarable_rows_are_documented() -> None:
    assert {code for code, row in ROWS.items() if "may be declared" in row["rest"]} == {
        code.value for code in DECLARABLE
    }


def test_each_way_to_stand_is_documented() -> None:
    table = COMPARABILITY.partition("| on the page |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| ([a-z ]+) \|", table, re.MULTILINE)) == {
        STANDING_LABELS[standing] for standing in RowStatus
    }


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (RowCode.CONTEXT, [f"{100 * (load.MAX_CONTEXT_RATIO - 1):.0f} %"]),
        (RowCode.PREFIX_CACHE, [f"{100 * load.MAX_CACHE_DIFFERENCE:.0f} points"]),
        (RowCode.WARMUP, [f"{load.SLOW_FIRST}x"]),
        (RowCode.STALLS, [f"{load.STALL_S:.0f} s", f"{load.STALL_TIMES:.0f} times"]),
        (RowCode.FAILED, [f"{100 * load.MOST_FAILED:.0f} %"]),
        (RowCode.LENGTHS, [f"{100 * (answers.NOTED_LENGTH_RATIO - 1):.0f} %", f"{answers.MOST_LENGTH_RATIO}x"]),
        (RowCode.LOOPS, [f"{100 * answers.MORE_LOOPED:.0f} %", f"{100 * answers.MORE_LOOPED:.0f} points"]),
        (RowCode.THROTTLING, [f"{100 * conditions.UNLIKE_CLOCK:.0f} %"]),
        (RowCode.CLIENT, [f"{100 * machine.MOST_LATE:.0f} %", f"{100 * machine.NOTED_LATE:.0f} %"]),
        (
            RowCode.GPU_SHARED,
            [f"{conditions.FOREIGN_MEMORY_BYTES >> 30} GiB", f"{100 * conditions.FOREIGN_UTILIZATION:.1f} %"],
        ),
    ],
)
def test_thresholds_are_those_of_the_code(code: RowCode, words: Sequence[str]) -> None:
    for word in words:
        assert re.search(rf"(?<![\d.]){re.escape(word)}", ROWS[code.value]["rest"]), word


def test_each_answer_is_documented() -> None:
    table = STATISTICS.partition("## Answers")[2].partition("## ")[0]
    words = {word for row in re.findall(r"^\| ([a-z ,]+) \|", table, re.MULTILINE) for word in row.split(", ")}
    assert words - {"answer"} == {answer.value.replace("_", " ") for answer in VerdictAnswer}


def test_documented_statistics_match_the_code() -> None:
    text = " ".join(STATISTICS.split())
    assert f"{100 * MARGIN:.0f} % unless another is set" in text
    assert f"{FEWEST_EARLIER_DF} degrees of freedom or more" in text
    assert (LOW_CHANCE, HIGH_CHANCE) == (1 / 5, 4 / 5) and "one in five draws" in text and "four in five" in text
    assert f"Numbers beyond {MAX_REPEATS:,} are not given" in text


def test_starvation_thresholds_match_the_code() -> None:
    text = (DOCS / "answers" / "starvation.md").read_text()
    for name, most in conditions.UNLIKE.items():
        assert f"| `{name}` | more than {most:.2f} apart | above {conditions.HIGH[name]:.2f} |" in text
    assert f"more than {conditions.UNLIKE_RAN} times apart" in text.replace("is more than", "more than")
    assert f"more than {conditions.MAX_OTHER_CORES} cores" in text
    assert f"above {100 * machine.NOTED_LATE:.0f} % it is noted, above {100 * machine.MOST_LATE:.0f} %" in text

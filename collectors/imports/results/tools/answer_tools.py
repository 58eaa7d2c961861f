"""Form of the tables of lines that tools print about answers, as patterns.

The name of a group says what it holds: a metric with a unit, and after two underscores its statistic (`e2e_ms__p90`);
a length or a level of the point; `fact_...`, a setting; `stated_...`, a number without a Pitwall name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from collectors.imports.results.metrics import STATED

N = r"\d{1,15}(?:\.\d{1,15})?(?!\d)"
W = r"\d{1,12}(?!\d)"
COUNT = r"\d{1,3}(?:,\d{3}){1,4}|\d{1,12}(?!\d)"  # with commas between thousands
DURATION = r"(?:\d{1,9}(?:\.\d{1,12})?(?:ms|s|m|h|µs|μs|us|ns)){1,4}"
TIME = r"(?:ms|s|m|h|us|ns)"
NOT_NOTHING = rf"(?!0(?:\.0{{1,9}})?s){N}"  # nothing is a time too short for two digits
NEVER = re.compile(r"(?!)")


class AnswerTool(NamedTuple):
    """A tool: a text in each of its prints, and its lines; `sections`: those below a heading, or above all ("")."""

    name: str
    needle: str
    lines: tuple[re.Pattern[str], ...]
    sections: Mapping[str, tuple[re.Pattern[str], ...]] = {}
    program: re.Pattern[str] = NEVER
    between: re.Pattern[str] | None = None  # lines that may stand between its lines
    statistic: str = STATED
    concurrency: int | None = 1
    point: str = "one answer"
    opening: re.Pattern[str] | None = None  # a line that begins the next print
    has_answer_per_line: bool = False
    states_quality: bool = False  # a number without a Pitwall name is the result
    note: str = ""
    is_http_tester: bool = False


def lines(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, patterns))


def statistics(
    before: str, metric: str, names: Mapping[str, str], between: str = "=", number: str = DURATION
) -> tuple[re.Pattern[str], ...]:
    """Return a pattern for each statistic of a line; `names`: Pitwall's name -> the printed one."""
    return lines(
        *(
            rf"{before}.{{0,200}}?(?<![\w(]){re.escape(printed)}{between}(?P<{metric}__{name}>{number})(?!\w)"
            for name, printed in names.items()
        )
    )

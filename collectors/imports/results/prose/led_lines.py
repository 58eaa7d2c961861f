"""Tells which statistic the word that leads a line gives to all its figures: 'avg: TTFT 81 ms, decode 45 tok/s'."""

from __future__ import annotations

import re

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.metric_names import statistic_of

_LEAD = re.compile(
    r"[\s*`>-]{0,12}(?:(?P<statistic>mean|avg|average|median|min|max|p\d\d)|(?P<deviation>std(?:ev|dev)?|stddev|sd|cv))"
    r"(?: ?\([^()]{1,40}\))?[*`]{0,3} {0,20}: ",
    re.IGNORECASE,
)


def statistic_of_lead(line: str) -> str:
    """Return the statistic that leads a line; STATED without any."""
    match = _LEAD.match(line)
    return statistic_of(match["statistic"], None) if match and match["statistic"] else STATED


def without_deviations(text: str) -> str:
    """Return a text with the lines that a deviation leads left empty, if another line is led by a statistic.

    Alone 'std: 45 tok/s' may be that of a standard build.
    """
    lines = text.splitlines()
    leads = [match for line in lines if (match := _LEAD.match(line))]
    if not all(any(match[kind] for match in leads) for kind in ("statistic", "deviation")):
        return text
    return "\n".join("" if (match := _LEAD.match(line)) and match["deviation"] else line for line in lines)

"""Finds the phase whose speeds a lead-in announces: 'Here are the prompt processing speeds of both:' above a list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.prose.figure_marks import BULLET, FIGURE
from collectors.imports.results.prose.line_labels import label_of
from collectors.imports.results.prose.metric_names import metric_of, without_features, words

MAX_LINES, MAX_LEAD_CHARS, MOST_WORDS_OF_TITLE = 40, 600, 6
_SPEEDS = r"(?:speeds?|throughputs?|rates?|performance|tok/s|t/s|tps)"
_PHASES = (
    ("Prefill", words(rf"\b(?:prompt (?:processing|eval(?:uation)?|ingestion)|prefill) {_SPEEDS}\b")),
    ("Decode", words(rf"\bdecod(?:e|ing) {_SPEEDS}\b")),
    ("Generation", words(rf"\b(?:token |text )?generation {_SPEEDS}\b")),
)
_LAST_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_ITEM = re.compile(r"\s{0,12}[^\s:=.!?][^:=!?]{0,60}[:=] ")  # 'with a draft: 45 t/s'
_SIDE = words(r"\b(?:prompt|prefill|decod\w+|generat\w+|throughput|ttft|latency|output|input)\b")


def phase_of_lead(lines: Sequence[str], line: int) -> str:
    """Return the only phase whose speeds the lead-in above the list of a line (from 1) announces; empty without any.

    Labels of the list's parts may stand between: 'with two GPUs:'. One that names a phase or a metric ends the lead.
    """
    if not 0 < line <= len(lines) or not _is_item(lines[line - 1]):
        return ""
    for above in lines[max(0, line - 1 - MAX_LINES) : line - 1][::-1]:
        if not above.strip() or _is_item(above):
            continue
        lead = _LAST_SENTENCE.split(without_features(above.strip()[-MAX_LEAD_CHARS:]))[-1].rstrip("*_")
        phases = [phase for phase, pattern in _PHASES if pattern.search(lead)]
        if phases or not _is_label(above):
            is_title = above.startswith(("#", "**")) or ("." not in lead and len(lead.split()) <= MOST_WORDS_OF_TITLE)
            is_lead = lead.endswith(":") or is_title
            return phases[0] if len(phases) == 1 and is_lead and not FIGURE.search(lead) else ""
    return ""


def _is_item(line: str) -> bool:
    """Return whether a line is one of a list: with a bullet, or a name and its figure."""
    return BULLET.match(line) is not None or (_ITEM.match(line) is not None and FIGURE.search(line) is not None)


def _is_label(line: str) -> bool:
    """Return whether a line is the label of a part of a list, that names no metric of its own."""
    label = without_features(label_of(line))
    return bool(label) and not _SIDE.search(label) and metric_of(label, "tok/s") is None

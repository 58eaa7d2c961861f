"""Reads the timings that llama.cpp prints after an answer, as posts quote them from its console."""

from __future__ import annotations

import re

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.sections import Sections

MAX_LINE_CHARS = 400
_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_TIMING = re.compile(
    rf"\b(?P<name>prompt eval|generation eval|eval|sampling) time *= *(?P<ms>{_NUMBER}) ms */ *(?P<tokens>\d{{1,12}})"
    rf" (?:tokens|runs) *\( *{_NUMBER} ms per token, *(?P<tps>{_NUMBER}) tokens per second\)"
)
_METRICS = {
    "prompt eval": ("prompt_tps", "prompt_ms"),
    "eval": ("decode_tps", "decode_ms"),
    "generation eval": ("decode_tps", "decode_ms"),
}  # the speed of sampling alone is none of the answer


def add_llama_timings(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the timings of prompts and answers to a load, and return the text with their lines left empty."""
    if "tokens per second)" not in text:
        return text
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        match = _TIMING.search(line) if len(line) <= MAX_LINE_CHARS else None
        if match is None:
            continue
        lines[number - 1] = ""
        name, tokens = match["name"], int(match["tokens"])
        if name in _METRICS and tokens > 1:  # one token has no speed
            speed, duration = _METRICS[name]
            lengths = (tokens, None) if name == "prompt eval" else (None, tokens)
            point = MeasurementPoint(f"{sections.prefix_of(number)}{name} time (line {number})", None, *lengths)
            load.result(point, speed, STATED, float(match["tps"]))
            load.result(point, duration, STATED, float(match["ms"]))
    return "\n".join(lines)

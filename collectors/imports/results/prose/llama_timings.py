"""Reads the timings that llama.cpp and KoboldCpp print after an answer, as posts quote them from a console."""

from __future__ import annotations

import re
from collections.abc import Sequence

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.sections import Sections

MAX_LINE_CHARS = 400
_NUMBER = r"\d{1,12}(?:\.\d{1,9})?"
_TIMING = re.compile(
    rf"\b(?P<name>prompt eval|generation eval|eval|sampl(?:e|ing)) time *= *(?P<ms>{_NUMBER}) ms */ *"
    rf"(?P<tokens>\d{{1,12}}) (?:tokens|runs) *\( *{_NUMBER} ms per token, *(?P<tps>{_NUMBER}) tokens per second\)"
)
_TOTAL_OF_SLOT = re.compile(
    rf"\bprint_timing: id {{1,4}}\d{{1,4}} \| task -?\d{{1,9}} \| *total time *= *"
    rf"(?P<ms>{_NUMBER}) ms */ *\d{{1,12}} tokens"
)
# 'Process:0.44s (442.0ms/T = 2.26T/s), Generate:3.62s (55.8ms/T = 17.92T/s), Total:4.06s (16.02T/s)', also shorter
_KOBOLD = re.compile(
    rf"\b(?P<name>Process(?:ing)?|Generat(?:e|ion)|Total): ?(?P<s>{_NUMBER})s"
    rf" \((?:{_NUMBER}ms/T)?(?: = )?(?:(?P<tps>{_NUMBER})T/s)?\)"
)
_KOBOLD_REPORT = re.compile(  # 'ProcessingSpeed: 406.84T/s' of its own benchmark
    rf"\s{{0,8}}(?P<name>Processing|Generation|Total)(?:Time: ?(?P<s>{_NUMBER})s|Speed: ?(?P<tps>{_NUMBER})T/s)\s*"
)
_KOBOLD_METRICS = {"P": ("prompt_tps", "prompt_ms"), "G": ("decode_tps", "decode_ms"), "T": ("e2e_tps", "e2e_ms")}
_METRICS = {
    "prompt eval": ("prompt_tps", "prompt_ms"),
    "eval": ("decode_tps", "decode_ms"),
    "generation eval": ("decode_tps", "decode_ms"),
}  # the speed of sampling alone is none of the answer


def add_llama_timings(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the timings of prompts and answers to a load, and return the text with their lines left empty."""
    if "tokens per second)" not in text and "/T" not in text and "T/s" not in text:
        return text
    lines = text.splitlines()
    for number, line in enumerate((line.replace("*", "").replace("`", "") for line in text.splitlines()), 1):
        is_short = len(line) <= MAX_LINE_CHARS
        if is_short and (parts := list(_KOBOLD.finditer(line))):
            _add_kobold_timings(load, parts, f"{sections.prefix_of(number)}{{}} (line {number})")
            lines[number - 1] = ""
        if is_short and (report := _KOBOLD_REPORT.fullmatch(line)):
            _add_kobold_report(load, report, f"{sections.prefix_of(number)}{report['name']} (line {number})")
            lines[number - 1] = ""
        if is_short and (total := _TOTAL_OF_SLOT.search(line)):
            point = MeasurementPoint(f"{sections.prefix_of(number)}total time (line {number})")
            load.result(point, "duration_s", STATED, round(float(total["ms"]) / 1e3, 9))
            lines[number - 1] = ""
        match = _TIMING.search(line) if is_short else None
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


def _add_kobold_report(load: LoadBuilder, report: re.Match[str], name: str) -> None:
    speed, duration = _KOBOLD_METRICS[report["name"][0]]
    if report["tps"]:
        load.result(MeasurementPoint(name), speed, STATED, float(report["tps"]))
    else:
        load.result(MeasurementPoint(name), duration, STATED, round(1e3 * float(report["s"]), 9))


def _add_kobold_timings(load: LoadBuilder, parts: Sequence[re.Match[str]], name: str) -> None:
    for part in parts:
        if not float(part["s"]):
            continue  # too short for two digits: a speed of one token
        speed, duration = _KOBOLD_METRICS[part["name"][0]]
        point = MeasurementPoint(name.format(part["name"]))
        if part["tps"]:
            load.result(point, speed, STATED, float(part["tps"]))
        load.result(point, duration, STATED, round(1e3 * float(part["s"]), 9))

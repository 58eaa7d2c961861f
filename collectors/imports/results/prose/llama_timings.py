"""Reads the timings that llama.cpp prints after an answer, as posts quote them from a console."""

from __future__ import annotations

import re

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.sections import Sections

MAX_LINE_CHARS = 400
_NUMBER = r"\d{1,12}(?:[.,]\d{1,9})?"  # in the locale's notation
_ANY_NUMBER = rf"(?:{_NUMBER}|-?inf|-?nan(?:\(ind\))?)"  # of nothing per no time
_TIMING = re.compile(
    rf"\b(?P<name>prompt eval|generation eval|eval|sampl(?:e|ing)) time *= *(?P<ms>{_NUMBER}) ms */ *"
    rf"(?P<tokens>\d{{1,12}}) (?:tokens|runs) *\( *{_ANY_NUMBER} ms per token"
    rf"(?:, *(?P<tps>{_ANY_NUMBER}) tokens per second)?\)"
)
_TOTAL_OF_SLOT = re.compile(
    rf"\bprint_timing: id {{1,4}}\d{{1,4}} \| task -?\d{{1,9}} \| *total time *= *"
    rf"(?P<ms>{_NUMBER}) ms */ *\d{{1,12}} tokens"
)
_TOTAL = re.compile(rf"\btotal time *= *{_NUMBER} ms */ *\d{{1,12}} tokens")
_PROMPT_PROGRESS = re.compile(
    rf"\bprompt processing, n_tokens = *(?P<tokens>\d{{1,12}}), .{{0,40}}?progress = *{_NUMBER}, "
    rf"t = *(?P<seconds>{_NUMBER}) s / *(?P<tps>{_NUMBER}) (?:tokens per second|t/s)"
)
_ANSWER_PROGRESS = re.compile(rf"\bn_(?:decoded|gen) = *(?P<tokens>\d{{1,12}}), tg = *(?P<tps>{_NUMBER}) t/s")
_ACCEPTANCE = re.compile(
    rf"\bdraft acceptance(?: rate)? = *(?P<rate>{_NUMBER}) \( *(?P<accepted>\d{{1,12}}) accepted */ *"
    rf"(?P<drafted>\d{{1,12}}) generated\)(?:, mean len = *(?P<length>{_NUMBER}))?"
    rf"(?:, acceptance rate per position = \((?P<positions>[\d., ]{{1,200}})\))?"
)
_DRAFT_TIME = re.compile(rf"\bt_draft(?:_\w{{1,20}})? *= *{_NUMBER} (?:ms|us)\b")  # of the drafts' look-up alone
_OF_CLIENT = re.compile(r"\b(?:common_perf_print|llama_perf_context_print|llama_print_timings): +eval time")
_OF_SERVER = re.compile(r"\b(?:slot|srv) +\w{1,20}:|print_timing|HTTP server|server is listening")
_METRICS = {
    "prompt eval": ("prompt_tps", "prompt_ms"),
    "eval": ("decode_tps", "decode_ms"),
    "generation eval": ("decode_tps", "decode_ms"),
}  # the speed of sampling alone is none of the answer
_NEEDLES = ("ms per token", "tokens per second", "draft acceptance", "t/s, tg_3s")


def has_timings(text: str) -> bool:
    """Return whether a text has the timing of a prompt or of an answer."""
    return any(_TIMING.search(line[:MAX_LINE_CHARS]) for line in text.splitlines() if "eval time" in line)


def is_timing(line: str) -> bool:
    """Return whether a line is one of those that llama.cpp prints behind an answer or while it is made."""
    patterns = (_TIMING, _TOTAL, _PROMPT_PROGRESS, _ANSWER_PROGRESS, _ACCEPTANCE)
    return any(pattern.search(line[:MAX_LINE_CHARS]) for pattern in patterns)


def is_of_client(text: str) -> bool:
    """Return whether a text has timings that a program prints at its end, and no line of a server."""
    return _OF_CLIENT.search(text) is not None and _OF_SERVER.search(text) is None


def add_llama_timings(load: LoadBuilder, text: str, sections: Sections) -> str:
    """Add the timings of prompts and answers to a load, and return the text with their lines left empty."""
    if not any(needle in text for needle in _NEEDLES):
        return text
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        plain = line.replace("*", "").replace("`", "")
        if len(plain) <= MAX_LINE_CHARS and _add_line(load, plain, sections.prefix_of(number), number):
            lines[number - 1] = ""
    return "\n".join(lines)


def _add_line(load: LoadBuilder, line: str, prefix: str, number: int) -> bool:
    """Add what a line states; return whether it is one of llama.cpp's."""
    if match := _TIMING.search(line):
        _add_timing(load, match, f"{prefix}{match['name']} time (line {number})")
    elif match := _TOTAL_OF_SLOT.search(line):
        point = MeasurementPoint(f"{prefix}total time (line {number})")
        load.result(point, "duration_s", STATED, _value(match["ms"]), factor=1e-3)
    elif match := _PROMPT_PROGRESS.search(line):
        point = MeasurementPoint(f"{prefix}prompt processing (line {number})", None, int(match["tokens"]))
        load.result(point, "prompt_tps", STATED, _value(match["tps"]))
        load.result(point, "prompt_ms", STATED, _value(match["seconds"]), factor=1e3)
    elif match := _ANSWER_PROGRESS.search(line):
        point = MeasurementPoint(f"{prefix}tg (line {number})", None, None, int(match["tokens"]))
        load.result(point, "decode_tps", STATED, _value(match["tps"]))
    elif match := _ACCEPTANCE.search(line):
        _add_acceptance(load, match, f"{prefix}draft acceptance (line {number})")
    else:
        return _DRAFT_TIME.search(line) is not None
    return True


def _value(written: str) -> float:
    return float(written.replace(",", "."))


def _add_timing(load: LoadBuilder, match: re.Match[str], name: str) -> None:
    kind, tokens, ms = match["name"], int(match["tokens"]), _value(match["ms"])
    if kind not in _METRICS or tokens <= 1 or not ms:  # one token has no speed
        return
    speed, duration = _METRICS[kind]
    point = MeasurementPoint(name, None, *((tokens, None) if kind == "prompt eval" else (None, tokens)))
    printed = match["tps"] if match["tps"] and match["tps"][0].isdigit() else None
    load.result(point, speed, STATED, _value(printed) if printed else round(1e3 * tokens / ms, 9))
    load.result(point, duration, STATED, ms)


def _add_acceptance(load: LoadBuilder, match: re.Match[str], name: str) -> None:
    point = MeasurementPoint(name)
    load.result(point, "acceptance_rate", STATED, _value(match["rate"]))
    for group, words in (("drafted", "draft tokens"), ("accepted", "accepted draft tokens")):
        load.result(point._replace(name=f"{name}: {words}"), STATED, "total", int(match[group]), unit="tokens")
    if match["length"]:
        load.result(point, "acceptance_length", "mean", _value(match["length"]))
    for position, rate in enumerate(re.findall(r"\d{1,9}\.\d{1,9}", match["positions"] or "")):
        position_point = point._replace(name=f"{name}, draft position {position}")
        load.result(position_point, "position_acceptance_rate", "mean", float(rate))

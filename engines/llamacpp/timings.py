"""llama.cpp's request timings: one print per finished request, as a block of lines or as one line per field."""

from __future__ import annotations

import math
import re

from domain import JsonValue
from engines.numerals import COUNT, NUMBER

# What a wrapper writes before a record, or the function that prints it; never what a client's text would be quoted in.
_BEFORE = r"(?:[^\"'{}=\r\n]{0,100}?[\s|:\]])??"
_HEAD = re.compile(rf"^{_BEFORE}slot +print_timing: id +(?P<slot>{COUNT}) \| task +(?P<task>-?{COUNT}) \|")
_OLD_HEAD = re.compile(r"^\s*(?:INFO )?\[ *print_timings\] ")
_OLD_TAIL = re.compile(rf"\bid_slot=(?P<slot>{COUNT}) id_task=(?P<task>-?{COUNT})(?=\s|$)")
_JSON_OWNER = re.compile(  # in this order in builds of March and April 2024, and in ik_llama.cpp
    rf"\"(?:slot_id|id_slot)\":(?P<slot>{COUNT}),.*?\"(?:task_id|id_task)\":(?P<task>-?{COUNT})\b"
)
_TOTALS = re.compile(r"\b(?:llama_print_timings|llama_perf_context_print|common_perf_print): ")
_BEFORE_TIMING = re.compile(
    rf"^{_BEFORE}(?=(?:(?:prompt|generation) )?eval time +=|total time +=|graphs reused =|"
    r"draft acceptance(?: rate)? = )"
)
_RATE = re.compile(
    rf"(?P<kind>prompt|generation)? ?eval time += +(?P<ms>[\w.-]+) ms / +(?P<tokens>{COUNT}) (?:tokens|runs) +"
    r"\( *[\w.-]+ ms per token, +(?P<tps>[\w.-]+) tokens per second\)"
)
_RATE_BEGINS = re.compile(r"(?:(?:prompt|generation) )?eval time +=")
_DRAFT = re.compile(
    r"draft acceptance(?: rate)? = +(?P<rate>[\w.-]+) "
    rf"\( *(?P<accepted>{COUNT}) accepted / +(?P<drafted>{COUNT}) generated\)"
    r"(?:, +mean (?:acceptance length|len) = +(?P<length>[\w.-]+))?"
    r"(?:, +(?:acceptance rate per position|acc(?:eptance)? rate/pos) = +\((?P<positions>[^)]*)\))?"
)
_PROGRESS = re.compile(
    rf"n_(?:gen|decoded) = +(?P<tokens>{COUNT}), tg = +(?P<tps>{NUMBER}) t/s"
    rf"(?:, tg_3s = +(?P<recent_tps>{NUMBER}) t/s)?"
)

Fields = dict[str, JsonValue]


def split_head(text: str, raw: str = "") -> tuple[Fields, str]:
    """Return slot and task of a timing line ({} if it states none) and its message; `raw`: its line with all fields."""
    head = _HEAD.match(text) if "print_timing:" in text else None
    if head:
        return {"slot": int(head["slot"]), "task": int(head["task"])}, text[head.end() :].strip()
    old_head = _OLD_HEAD.match(text)
    if old_head:
        tail = _OLD_TAIL.search(text)
        return ({"slot": int(tail["slot"]), "task": int(tail["task"])} if tail else {}), text[old_head.end() :].strip()
    is_timing = " time " in text or "draft acceptance" in text or "graphs reused" in text
    if not is_timing:
        return {}, text.strip()
    owner = _JSON_OWNER.search(raw) if '"print_timings"' in raw else None
    fields: Fields = {"slot": int(owner["slot"]), "task": int(owner["task"])} if owner else {}
    return fields, _BEFORE_TIMING.sub("", text, count=1).strip()


def are_totals(text: str) -> bool:
    """Whether the library prints the timings: the sums of all requests, if the server printed each before."""
    return _TOTALS.search(text) is not None


def _is_cut_short(text: str) -> bool:
    """Whether this is the beginning of a timing record whose rest stands on the next line."""
    if "eval time" not in text and "draft acceptance" not in text:
        return False
    _, body = split_head(text)
    if body.startswith("draft acceptance"):
        return _DRAFT.match(body) is None
    if not _RATE_BEGINS.match(body):
        return False
    tail = _OLD_TAIL.search(text)
    lacks_owner = _OLD_HEAD.match(text) is not None and (tail is None or tail.end() == len(text))
    return lacks_owner or _RATE.match(body) is None


def wholeness(text: str) -> int | None:
    """Return None unless a record is cut short, then 1 if its slot and task can be read so far, else 0."""
    return int(_OLD_TAIL.search(text) is not None) if _is_cut_short(text) else None


def read_prompt(body: str) -> Fields | None:
    """Read `prompt eval time`: the computed tokens, and tok/s."""
    match = _RATE.match(body)
    if match is None or match["kind"] != "prompt":
        return None
    return {"prompt_tokens": int(match["tokens"]), **_without_none(prompt_tps=_number(match["tps"]))}


def read_generation(body: str) -> Fields | None:
    """Read `eval time`: generated tokens and tok/s; `invalid` for a rate over at most one token."""
    match = _RATE.match(body)
    if match is None or match["kind"] == "prompt":
        return None
    tokens, tps, ms = int(match["tokens"]), _number(match["tps"]), _number(match["ms"])
    is_invalid = tokens <= 1 or tps is None or not ms
    return {
        "generated_tokens": tokens,
        **_without_none(generation_tps=tps),
        **({"invalid": True} if is_invalid else {}),
    }


def read_draft(body: str) -> Fields | None:
    """Read `draft acceptance`: accepted over drafted, and in newer builds mean length and rate per position."""
    match = _DRAFT.match(body)
    if match is None:
        return None
    positions = [_number(p) for p in (match["positions"] or "").split(",") if p.strip()]
    return {
        "accepted_tokens": int(match["accepted"]),
        "drafted_tokens": int(match["drafted"]),
        **_without_none(draft_accept_rate=_number(match["rate"]), accept_length=_number(match["length"])),
        **({"per_position": positions} if positions else {}),
    }


def read_progress(body: str) -> str | None:
    """Return the progress of a running request as a sentence; it is cumulative, so no sample."""
    match = _PROGRESS.match(body)
    if match is None:
        return None
    recent = f", {match['recent_tps']} tok/s in the last 3 s" if match["recent_tps"] else ""
    return f"{match['tokens']} tokens so far, {match['tps']} tok/s{recent}"


def is_timing_tail(body: str) -> bool:
    """Whether this is a line of the print without further information."""
    return body.startswith(("total time =", "graphs reused =", "statistics "))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _without_none(**values: JsonValue) -> Fields:
    return {key: value for key, value in values.items() if value is not None}

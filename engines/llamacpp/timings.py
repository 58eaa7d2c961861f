"""llama.cpp's request timings: one print per finished request, as a block of lines or as a line per field."""

from __future__ import annotations

import math
import re

from domain import JsonValue
from engines.numerals import COUNT, NUMBER

_HEAD = re.compile(rf"^\s*slot +print_timing: id +(?P<slot>{COUNT}) \| task +(?P<task>-?{COUNT}) \|")
_OLD_HEAD = re.compile(r"^(?:INFO )?\[ *print_timings\] ")
_OLD_TAIL = re.compile(rf"\bid_slot=(?P<slot>{COUNT}) id_task=(?P<task>-?{COUNT})")
_ROUTER_PID = re.compile(r"^\[\d+\]")
_RATE = re.compile(
    rf"(?P<kind>prompt|generation)? ?eval time += +(?P<ms>[\w.-]+) ms / +(?P<tokens>{COUNT}) (?:tokens|runs) +"
    r"\( *[\w.-]+ ms per token, +(?P<tps>[\w.-]+) tokens per second\)"
)
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


def split_head(text: str) -> tuple[Fields, str]:
    """Whose timing a line is ({} where it does not say) and what it says."""
    head = _HEAD.match(text)
    if head:
        return {"slot": int(head["slot"]), "task": int(head["task"])}, text[head.end() :].strip()
    old = _OLD_HEAD.match(text)
    if old:
        tail = _OLD_TAIL.search(text)
        return ({"slot": int(tail["slot"]), "task": int(tail["task"])} if tail else {}), text[old.end() :].strip()
    return {}, _ROUTER_PID.sub("", text).strip()


def read_prompt(body: str) -> Fields | None:
    """`prompt eval time`: the tokens that were computed, and tok/s."""
    found = _RATE.match(body)
    if found is None or found["kind"] != "prompt":
        return None
    return {"prompt_tokens": int(found["tokens"]), **_known(prompt_tps=_number(found["tps"]))}


def read_generation(body: str) -> Fields | None:
    """`eval time`: generated tokens and tok/s; `invalid` where the rate is one over a single token or none."""
    found = _RATE.match(body)
    if found is None or found["kind"] == "prompt":
        return None
    tokens, tps, ms = int(found["tokens"]), _number(found["tps"]), _number(found["ms"])
    is_invalid = tokens <= 1 or tps is None or not ms
    return {"generated_tokens": tokens, **_known(generation_tps=tps), **({"invalid": True} if is_invalid else {})}


def read_draft(body: str) -> Fields | None:
    """`draft acceptance`: accepted over drafted, and in newer builds the mean length and the rate per position."""
    found = _DRAFT.match(body)
    if found is None:
        return None
    positions = [_number(p) for p in (found["positions"] or "").split(",") if p.strip()]
    return {
        "accepted_tokens": int(found["accepted"]),
        "drafted_tokens": int(found["drafted"]),
        **_known(draft_accept_rate=_number(found["rate"]), accept_length=_number(found["length"])),
        **({"per_position": positions} if positions else {}),
    }


def read_progress(body: str) -> str | None:
    """What a request that is still running has done so far, as a sentence; cumulative, so no sample."""
    found = _PROGRESS.match(body)
    if found is None:
        return None
    recent = f", {found['recent_tps']} tok/s in the last 3 s" if found["recent_tps"] else ""
    return f"{found['tokens']} tokens so far, {found['tps']} tok/s{recent}"


def is_timing_tail(body: str) -> bool:
    """A line of the print that carries nothing of its own."""
    return body.startswith(("total time =", "graphs reused =", "statistics "))


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "nan")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _known(**values: JsonValue) -> Fields:
    return {key: value for key, value in values.items() if value is not None}

"""The result of one case of a suite as a check, its exchange cut to a limit; and the refusals common to all suites."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from domain import JsonValue
from load_records import Check
from workloads.plan import Case, Verdict
from workloads.process.job import Job
from workloads.requests.exchange import Exchange

MOST_CHARACTERS = 2000  # of each text that a check keeps
MOST_STEPS = 4  # of a case
MOST_ITEMS = 16  # of each list that a check keeps
STREAMED, WHOLE = "streaming", "whole"
LACKS = re.compile(r"not (be )?(support|implement|enabl|available)|unsupported|requires?\b|mmproj", re.IGNORECASE)
NOT_ASKED = ("refused", "timeout", "cancelled")  # the server was not reached, or did not come to an answer


def check_of(case: Case, went: Sequence[Exchange], job: Job, load_id: str, now: datetime) -> Check:
    """The check that a case ends with. `went`: its exchanges, oldest first, at least one."""
    verdict = not_tried(went[0]) or broken(went[-1]) or case.judge(went, job.reasoning_parser)
    return Check(
        run_id=job.run_id,
        load_id=load_id,
        ts=now,
        suite=case.suite,
        case_name=case.name,
        mode=case.mode,
        is_pass=verdict.is_pass,
        why=verdict.why,
        exchange={"steps": [_shown(one) for one in went[:MOST_STEPS]]},
    )


def not_tried(first: Exchange) -> Verdict | None:
    """Where the server refused the first request as such: it cannot do this, or was not there."""
    if first.error_kind in NOT_ASKED or (first.error_kind == "http" and _is_refusal(first)):
        return Verdict(None, first.error_text)
    return None


def _is_refusal(one: Exchange) -> bool:
    """A request that the server does not take; an error of its own only where it says what it lacks."""
    is_clients = 400 <= (one.reading.http_status or 0) < 500
    return is_clients or bool(LACKS.search(one.error_text or ""))


def broken(last: Exchange) -> Verdict | None:
    """The verdict on a case whose last request failed; None where it did not."""
    return Verdict(False, last.error_text) if last.error_kind else None


def _shown(one: Exchange) -> JsonValue:
    reading = one.reading
    calls: list[JsonValue] = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reading.tools.ordered
    ]
    answer: Mapping[str, JsonValue] = {
        "content": "".join(reading.content),
        "reasoning": "".join(reading.thought),
        "tool_calls": calls,
        "finish_reason": reading.finish_reason,
        "error": one.error_text,
    }
    asked = {"messages": one.body.get("messages"), "tools": one.body.get("tools"), "stream": one.body.get("stream")}
    return {"asked": cut(asked), "answered": cut({name: value for name, value in answer.items() if value})}


def cut(value: JsonValue) -> JsonValue:
    """The same with every text cut to a bound, and every list."""
    if isinstance(value, str):
        return value if len(value) <= MOST_CHARACTERS else value[:MOST_CHARACTERS] + "…"
    if isinstance(value, list):
        return [cut(one) for one in value[:MOST_ITEMS]]
    return {str(name)[:100]: cut(one) for name, one in value.items()} if isinstance(value, dict) else value

"""Converts the result of a suite's case to a check with a shortened exchange; handles refusals for all suites."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from domain import JsonValue
from load_records import SuiteCheck
from workloads.job import LoadJob
from workloads.plan import Case, CaseVerdict, PlannedRequest
from workloads.requests.exchange import Exchange

MAX_CHARS = 2000  # of each text in a check
MAX_STEPS = 4  # per case
MAX_ITEMS = 16  # of each list in a check
STREAMED, WHOLE = "streaming", "whole"
UNSUPPORTED = re.compile(r"not (be )?(support|implement|enabl|available)|unsupported|requires?\b|mmproj", re.IGNORECASE)
NOT_REACHED = ("refused", "timeout", "cancelled")  # the server was not reached or did not answer


def check_of(
    request: PlannedRequest, case: Case, exchanges: Sequence[Exchange], job: LoadJob, load_id: str, now: datetime
) -> SuiteCheck:
    """Return the check of a completed case. `request`: its first one; `exchanges`: oldest first, at least one."""
    verdict = (
        untested_verdict(exchanges[0]) or failure_verdict(exchanges[-1]) or case.judge(exchanges, job.reasoning_parser)
    )
    return SuiteCheck(
        run_id=job.run_id,
        load_id=load_id,
        ts=now,
        suite=case.suite,
        case_name=case.name,
        mode=case.mode,
        is_pass=verdict.is_pass,
        why=verdict.why,
        exchange={"steps": [_step_json(exchange) for exchange in exchanges[:MAX_STEPS]]},
        depth_tokens=case.depth_tokens,
        repeat=case.repeat,
        item_hash=request.item_hash(),
    )


def untested_verdict(exchange: Exchange) -> CaseVerdict | None:
    """Return the verdict 'not tested' if the server rejected the first request or was not reached, else None."""
    if exchange.error_kind in NOT_REACHED or (exchange.error_kind == "http" and _is_refusal(exchange)):
        return CaseVerdict(None, exchange.error_text)
    return None


def _is_refusal(exchange: Exchange) -> bool:
    """Return whether the server rejected the request; a server error counts only if it names a missing feature."""
    is_client_error = 400 <= (exchange.reading.http_status or 0) < 500
    return is_client_error or bool(UNSUPPORTED.search(exchange.error_text or ""))


def failure_verdict(exchange: Exchange) -> CaseVerdict | None:
    """Return the verdict on a case whose last request failed, else None."""
    return CaseVerdict(False, exchange.error_text) if exchange.error_kind else None


def _step_json(exchange: Exchange) -> JsonValue:
    reading = exchange.reading
    calls: list[JsonValue] = [
        {"id": call.id, "name": call.name, "arguments": call.arguments} for call in reading.tools.ordered
    ]
    answer: Mapping[str, JsonValue] = {
        "content": "".join(reading.content),
        "reasoning": "".join(reading.thinking),
        "tool_calls": calls,
        "finish_reason": reading.finish_reason,
        "error": exchange.error_text,
    }
    request = {
        "messages": exchange.body.get("messages"),
        "tools": exchange.body.get("tools"),
        "stream": exchange.body.get("stream"),
    }
    return {"asked": shorten(request), "answered": shorten({name: value for name, value in answer.items() if value})}


def shorten(value: JsonValue) -> JsonValue:
    """Return the value with every text and list shortened to a limit; of a long list the ends remain."""
    if isinstance(value, str):
        return value if len(value) <= MAX_CHARS else value[:MAX_CHARS] + "…"
    if isinstance(value, list):
        half, left_out = MAX_ITEMS // 2, len(value) - MAX_ITEMS
        ends = [*value[:half], f"… {left_out} more …", *value[-half:]] if left_out > 0 else value
        return [shorten(item) for item in ends]
    return {str(name)[:100]: shorten(item) for name, item in value.items()} if isinstance(value, dict) else value

"""Reads the JSON of Ollama's responses, one, a list or one per line: the durations and counts of an answer.

Its durations are nanoseconds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, dict_of, number, text

TOOL = "ollama"
NEEDED = ('"total_duration"', '"eval_count"', '"eval_duration"', '"done"')
DURATIONS_NS = {  # -> metric and the factor from nanoseconds
    "total_duration": ("e2e_ms", 1e-6),
    "load_duration": ("model_load_s", 1e-9),
    "prompt_eval_duration": ("prompt_ms", 1e-6),
    "eval_duration": ("decode_ms", 1e-6),
}
SPEEDS = {"prompt_tps": ("prompt_eval_count", "prompt_eval_duration"), "decode_tps": ("eval_count", "eval_duration")}


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has the last part of such a response."""
    return head.lstrip()[:1] in ("{", "[") and all(name in head for name in NEEDED)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each response; raises ImportRefusedError if none was finished."""
    responses = [response for response in _responses(source) if number(response.get("eval_duration"))]
    if not responses:
        raise ImportRefusedError(f"{source.name} has responses of Ollama, but none with the time of its answer.")
    return [_load_of(response, ticket, index) for index, response in enumerate(responses)]


def _responses(source: ResultFile) -> list[Mapping[str, Any]]:
    first_line = source.head.lstrip().partition("\n")[0]
    try:
        json.loads(first_line)
        values = [value for _, value in source.json_lines()]
    except (ValueError, RecursionError):
        values = [source.json()]
    listed = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return [dict_of(value) for value in listed]


def _load_of(response: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, _time_of(response.get("created_at")) or ticket.file_date, number=index,
        model=text(response.get("model")), planned_requests=1,
    )  # fmt: skip
    lengths = [count(response.get(name)) for name in ("prompt_eval_count", "eval_count")]
    point = MeasurementPoint("one request", 1, *lengths)
    for metric, tokens in zip(("prompt_tokens", "completion_tokens"), lengths, strict=True):
        if tokens is not None:
            load.result(point, metric, "total", tokens)
    for name, (metric, factor) in DURATIONS_NS.items():
        if (duration := number(response.get(name))) is not None:
            load.result(point, metric, STATED, duration, factor=factor)
    for metric, (tokens_name, duration_name) in SPEEDS.items():
        answer_tokens, duration = count(response.get(tokens_name)), number(response.get(duration_name))
        if answer_tokens and duration:  # as `ollama run --verbose` computes it
            load.result(point, metric, STATED, round(1e9 * answer_tokens / duration, 9))
    return load


def _time_of(written: Any) -> datetime | None:
    try:
        time = datetime.fromisoformat(written) if isinstance(written, str) else None
    except ValueError:
        return None
    return time.astimezone(UTC) if time and time.tzinfo else None

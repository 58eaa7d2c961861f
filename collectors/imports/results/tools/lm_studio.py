"""Reads the JSON of LM Studio's responses, one, a list or one per line: the `stats` of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of, text

TOOL = "LM Studio"
METRICS = {  # name in `stats` -> metric and factor
    "tokens_per_second": ("decode_tps", 1.0),
    "time_to_first_token": ("ttft_ms", 1e3),
    "time_to_first_token_seconds": ("ttft_ms", 1e3),
    "generation_time": ("decode_ms", 1e3),
    "model_load_time_seconds": ("model_load_s", 1.0),
}
PROMPT_COUNTS, OUTPUT_COUNTS = ("prompt_tokens", "input_tokens"), ("completion_tokens", "total_output_tokens")


def recognise(head: str) -> bool:
    """Return whether JSON begins so and has the statistics of such a response."""
    names = ('"stats"', '"tokens_per_second"', '"time_to_first_token')
    return head.lstrip()[:1] in ("{", "[") and all(name in head for name in names)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each response; raises ImportRefusedError if there is none."""
    first_line = source.head.lstrip().partition("\n")[0].rstrip()
    is_lines = first_line.startswith("{") and first_line.endswith("}")
    values = [value for _, value in source.json_lines()] if is_lines else [source.json()]
    listed = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    responses = [
        response for value in listed if "tokens_per_second" in dict_of((response := dict_of(value)).get("stats"))
    ]
    if not responses:
        raise source.refusal(1, "it has no statistics of an answer")
    return [_load_of(response, ticket, number) for number, response in enumerate(responses)]


def _load_of(response: Mapping[str, Any], ticket: Ticket, number: int) -> LoadBuilder:
    stats, usage = dict_of(response.get("stats")), dict_of(response.get("usage"))
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, number=number, planned_requests=1,
        model=text(response.get("model")) or text(response.get("model_instance_id")),
    )  # fmt: skip
    counts = {**stats, **usage}
    lengths = [
        next((tokens for name in names if (tokens := count(counts.get(name))) is not None), None)
        for names in (PROMPT_COUNTS, OUTPUT_COUNTS)
    ]
    point = MeasurementPoint("one answer", 1, *lengths)
    for name, value in stats.items():
        if name in METRICS:
            metric, factor = METRICS[name]
            load.result(point, metric, STATED, value, factor=factor)
        elif name not in (*PROMPT_COUNTS, *OUTPUT_COUNTS):
            load.params[name] = cut(value)
    load.params |= {name: cut(response[name]) for name in ("model_info", "runtime") if name in response}
    quantization = text(dict_of(response.get("model_info")).get("quant"), 40)
    load.server_config |= {"quantization": quantization} if quantization else {}
    return load

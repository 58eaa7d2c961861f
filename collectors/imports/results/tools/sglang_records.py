"""Reads the JSON lines of SGLang's smaller benchmarks: one load per record. Their times are in seconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import batch_server, multi_turn, one_batch
from collectors.imports.results.tools.printed_block import shape_of
from collectors.imports.results.tools.serving import SGLANG_OFFLINE
from collectors.imports.results.values import count, cut, dict_of, number

SPECULATIVE = "sglang bench_speculative.py"
SUMMARY = "summary"  # inner object of bench_multiturn.py


class RecordValue(NamedTuple):
    """What a value of a record is; `unit`: of one without a Pitwall metric."""

    metric: str
    statistic: str = "mean"
    factor: float = 1.0
    unit: str | None = None


class RecordForm(NamedTuple):
    """The records of a tool: the names by which they are recognised, and what their values are."""

    tool: str
    marks: frozenset[str]
    values: Mapping[str, RecordValue]


LAST_BATCH = RecordValue(STATED, STATED, 1.0, "tok/s")  # the speed of the last steps that the server logged
FORMS = (
    RecordForm(
        one_batch.TOOL, frozenset({"prefill_latency", "prefill_throughput", "overall_throughput", "batch_size"}),
        {
            "prefill_latency": RecordValue("prompt_ms", STATED, 1e3),
            "prefill_throughput": RecordValue("prompt_tps", STATED),
            "median_decode_latency": RecordValue("tpot_ms", "median", 1e3),
            "median_decode_throughput": RecordValue("batch_decode_tps", "median"),
            "total_latency": RecordValue("e2e_ms", STATED, 1e3),
            "overall_throughput": RecordValue("total_tps", STATED),
        },
    ),
    RecordForm(  # the output's speed is that of the time after the first token
        batch_server.TOOL, frozenset({"last_ttft", "overall_throughput", "last_gen_throughput", "batch_size"}),
        {
            "latency": RecordValue("e2e_ms", STATED, 1e3),
            "input_throughput": RecordValue("prompt_tps", STATED),
            "output_throughput": RecordValue("batch_decode_tps", STATED),
            "overall_throughput": RecordValue("total_tps", STATED),
            "last_ttft": RecordValue("ttft_ms", "max", 1e3),
            "last_gen_throughput": LAST_BATCH,
            "acc_length": RecordValue("acceptance_length"),
            "total_output_tokens": RecordValue("completion_tokens", "total"),
            "steady_state_output_throughput": RecordValue(STATED, STATED, 1.0, "tok/s"),
        },
    ),
    RecordForm(
        batch_server.TOOL, frozenset({"latency", "overall_throughput", "output_throughput", "batch_size"}),
        {
            "latency": RecordValue("e2e_ms", STATED, 1e3),
            "output_throughput": RecordValue("output_tps", STATED),
            "overall_throughput": RecordValue("total_tps", STATED),
            "last_gen_throughput": LAST_BATCH,
        },
    ),
    RecordForm(
        SGLANG_OFFLINE, frozenset({"successful_requests", "total_latency", "last_gen_throughput"}),
        {
            "successful_requests": RecordValue("requests", "total"),
            "total_latency": RecordValue("duration_s", "total"),
            "total_input_tokens": RecordValue("prompt_tokens", "total"),
            "total_output_tokens": RecordValue("completion_tokens", "total"),
            "last_gen_throughput": LAST_BATCH,
            "request_throughput": RecordValue("request_tps"),
            "input_throughput": RecordValue("prompt_tps"),
            "output_throughput": RecordValue("output_tps"),
            "total_throughput": RecordValue("total_tps"),
        },
    ),
    RecordForm(
        SPECULATIVE, frozenset({"acc_length", "step_time", "speed", "num_draft_tokens"}),
        {
            "acc_length": RecordValue("acceptance_length"),
            "step_time": RecordValue(STATED, "p20", 1e3, "ms"),
            "speed": RecordValue("decode_tps", STATED),  # of one stream, whose steps take that time
            "completion_tokens": RecordValue("completion_tokens"),
        },
    ),
    RecordForm(
        multi_turn.TOOL, frozenset({"total_requests", "average_ttft", "median_latency", "throughput"}),
        {
            "total_requests": RecordValue("requests", "total"),
            **{
                f"{prefix}_{name}": RecordValue(metric, statistic, 1e3)
                for name, metric in (("ttft", "ttft_ms"), ("itl", "itl_ms"), ("latency", "e2e_ms"))
                for prefix, statistic in {
                    "average": "mean", "p90": "p90", "p99": "p99", "median": "median", "max": "max",
                }.items()
            },
            "average_prompt_len": RecordValue("prompt_tokens"),
            "average_output_len": RecordValue("completion_tokens"),
            "input_token_throughput": RecordValue("prompt_tps"),
            "output_token_throughput": RecordValue("output_tps"),
            "throughput": RecordValue("request_tps"),
        },
    ),
)  # fmt: skip


def recognise(head: str) -> bool:
    """Return whether the first line is such a record."""
    first_line = head.lstrip().partition("\n")[0]
    return first_line.startswith("{") and any(all(f'"{mark}"' in first_line for mark in form.marks) for form in FORMS)


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each record; raises ImportRefusedError."""
    loads = []
    for index, (line, record) in enumerate(source.json_lines(), 1):
        values = _values_of(record)
        form = next((form for form in FORMS if form.marks <= values.keys()), None)
        if form is None:
            raise source.refusal(line, "this is no record of a benchmark of SGLang")
        loads.append(_load_of(form, values, ticket, index))
    if not all(load.rows for load in loads):
        raise ImportRefusedError(f"{source.name} has a record without a result.")
    return loads


def _values_of(record: Any) -> Mapping[str, Any]:
    """Return the values of a record; those of an inner summary stand beside the others."""
    values = dict_of(record)
    return {**values, **dict_of(values.get(SUMMARY))}


def _load_of(form: RecordForm, values: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    params = {
        name: cut(value)
        for name, value in values.items()
        if name not in form.values and not isinstance(value, dict | list) and value is not None
    }
    load = LoadBuilder(ticket, form.tool, None, form.tool, ticket.file_date, number=index, params=params)
    point = _point(values)
    for name, value in form.values.items():
        if number(values.get(name)) is None:  # what was not measured is null or -1
            continue
        named_point = point._replace(name=f"{point.name}: {name}") if value.metric == STATED else point
        load.result(
            named_point, value.metric, value.statistic, values[name], factor=value.factor,
            unit=value.unit if value.metric == STATED else None,
        )  # fmt: skip
    return load


def _point(values: Mapping[str, Any]) -> MeasurementPoint:
    batch, prompt_tokens, output_tokens = (
        count(values.get(name)) for name in ("batch_size", "input_len", "output_len")
    )
    rate = number(values.get("request_rate"))
    drafts = ", ".join(f"{name} {values[name]}" for name in ("steps", "topk", "num_draft_tokens") if name in values)
    name = f"{batch} at once" if batch else f"{rate:g} requests/s" if rate else "all requests"
    name = f"{shape_of(prompt_tokens, output_tokens)}{name}{f', {drafts}' if drafts else ''}"
    return MeasurementPoint(name, batch, prompt_tokens, output_tokens)

"""Reads the CSV of the benchmarks of KoboldCpp, ONNX Runtime GenAI, OpenVINO and Ollama by their own columns."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count
from domain import JsonValue


class CsvColumn(NamedTuple):
    """A column with a number: its metric, the factor to its unit, and its unit if Pitwall has no metric."""

    metric: str
    factor: float = 1.0
    unit: str | None = None


class CsvTool(NamedTuple):
    """A tool: its columns with numbers, and those with lengths; the others are settings."""

    name: str
    columns: Mapping[str, CsvColumn]
    level: str = ""
    prompt_tokens: str = ""
    output_tokens: str = ""
    model: str = ""
    time: str = ""
    statistic: str = STATED
    warm_up: tuple[str, str] = ("", "")  # column and cell of a row that is none of the load


TOOLS = (
    CsvTool(
        "KoboldCpp",
        {
            "ProcessingTime": CsvColumn("prompt_ms", 1e3), "ProcessingSpeed": CsvColumn("prompt_tps"),
            "GenerationTime": CsvColumn("decode_ms", 1e3), "GenerationSpeed": CsvColumn("decode_tps"),
            "TotalTime": CsvColumn("e2e_ms", 1e3),
        },
        output_tokens="GenAmount", model="Model", time="Timestamp",
    ),
    CsvTool(
        "ONNX Runtime GenAI benchmark_e2e",
        {
            "Prompt Processing Throughput (tps)": CsvColumn("prompt_tps"),
            "Prompt Processing Latency (ms)": CsvColumn(STATED, unit="ms"),  # per token
            "Token Generation Throughput (tps)": CsvColumn("batch_decode_tps"),
            "Token Generation Latency (ms)": CsvColumn("tpot_ms"),
            "Tokenization Throughput (tps)": CsvColumn(STATED, unit="tok/s"),
            "Tokenization Latency (ms)": CsvColumn(STATED, unit="ms"),
            "Sampling Throughput (tps)": CsvColumn(STATED, unit="tok/s"),
            "Sampling Latency (ms)": CsvColumn(STATED, unit="ms"),
            "Wall Clock Throughput (tps)": CsvColumn("total_tps"),
            "Wall Clock Time (s)": CsvColumn("e2e_ms", 1e3),
        },
        level="Batch Size", prompt_tokens="Prompt Length", output_tokens="Tokens Generated", statistic="mean",
    ),
    CsvTool(
        "OpenVINO llm_bench",
        {
            "pretrain_time(s)": CsvColumn("model_load_s"), "generation_time(s)": CsvColumn("e2e_ms", 1e3),
            "latency(ms)": CsvColumn("e2e_per_token_ms"), "1st_latency(ms)": CsvColumn("ttft_ms"),
            "2nd_avg_latency(ms)": CsvColumn("tpot_ms"),
        },
        level="batch_size", prompt_tokens="input_size", output_tokens="output_size", model="model",
        warm_up=("iteration", "0"),
    ),
)  # fmt: skip
OLLAMA = "ollama bench"
OLLAMA_HEAD = ["NAME", "STEP", "COUNT", "NS_PER_COUNT", "TOKEN_PER_SEC"]
OLLAMA_STEPS = {  # -> the metric of a count's time, its factor from nanoseconds, and the metric of the speed
    "prefill": (None, 1.0, "prompt_tps"),
    "generate": ("tpot_ms", 1e-6, "decode_tps"),
    "ttft": ("ttft_ms", 1e-6, None),
    "load": ("model_load_s", 1e-9, None),
    "total": ("e2e_ms", 1e-6, None),
}
MAX_HEAD_LINES = 40


def recognise(head: str) -> bool:
    """Return whether a file begins with the columns of one of the tools."""
    return _head_of(head.splitlines()) is not None


def _head_of(lines: Sequence[str]) -> tuple[int, CsvTool | None] | None:
    """Return the index of the line with the columns and their tool; None for Ollama's."""
    for index, line in enumerate(lines[:MAX_HEAD_LINES]):
        names = [name.strip().strip('"') for name in line.split(",")] if line.count(",") < 100 else []
        if names == OLLAMA_HEAD:
            return index, None
        tool = next((tool for tool in TOOLS if tool.columns.keys() - set(names) == set()), None)
        if tool:
            return index, tool
    return None


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the loads of a file; raises ImportRefusedError if it has no row."""
    lines = source.text().splitlines()
    index, tool = _head_of(lines) or (0, None)
    with source.refusing_bad_csv():
        rows = list(csv.DictReader(line for line in lines[index:] if not line.startswith(("#", "```"))))
    complete_rows = [row for row in rows if None not in row.values()]
    warm_ups = [row for row in complete_rows if tool and row.get(tool.warm_up[0]) == tool.warm_up[1]]
    complete_rows = [row for row in complete_rows if row not in warm_ups]
    loads = list(_loads_of(tool, complete_rows, ticket)) if tool else _loads_of_ollama(complete_rows, ticket)
    if not any(load.rows for load in loads):
        raise ImportRefusedError(f"{source.name} has the columns of a benchmark, but no complete row.")
    incomplete = len(rows) - len(complete_rows) - len(warm_ups)
    loads[0].notes += [f"{incomplete:,} incomplete rows were left out."] if incomplete else []
    loads[0].notes += [f"The warm-up was left out: {len(warm_ups)} of the lines."] if warm_ups else []
    return loads


def _loads_of(tool: CsvTool, rows: Sequence[Mapping[str, str]], ticket: Ticket) -> Iterator[LoadBuilder]:
    """Yield a load for each row: each has settings of its own."""
    for number, row in enumerate(rows):
        load = LoadBuilder(
            ticket, tool.name, None, tool.name, _time_of(row.get(tool.time)) or ticket.file_date, number=number,
            model=row.get(tool.model) or None,
        )  # fmt: skip
        level = count(_number(row.get(tool.level))) if tool.level else 1
        lengths = [count(_number(row.get(name))) for name in (tool.prompt_tokens, tool.output_tokens)]
        point = MeasurementPoint("one batch" if tool.level else "one answer", level, *lengths)
        for name, column in tool.columns.items():
            metric = "decode_tps" if column.metric == "batch_decode_tps" and level == 1 else column.metric
            named_point = point._replace(name=f"{point.name}: {name}") if metric == STATED else point
            load.result(named_point, metric, tool.statistic, _number(row[name]), factor=column.factor, unit=column.unit)
        settings = {name: cell for name, cell in row.items() if name and name not in tool.columns and cell}
        load.params |= {name: _number(cell) for name, cell in settings.items()}
        yield load


def _loads_of_ollama(rows: Sequence[Mapping[str, str]], ticket: Ticket) -> list[LoadBuilder]:
    """Return a load for each model; a step that stands already begins the next answer."""
    loads: dict[str, LoadBuilder] = {}
    answers: dict[str, list[dict[str, Mapping[str, str]]]] = {}
    for row in rows:
        steps = answers.setdefault(row["NAME"], [{}])
        if row["STEP"] in steps[-1]:
            steps.append({})
        steps[-1][row["STEP"]] = row
    for name, steps in answers.items():
        load = LoadBuilder(ticket, OLLAMA, None, OLLAMA, ticket.file_date, number=len(loads), model=name)
        for index, answer in enumerate(steps, 1):
            lengths = [count(_number(answer.get(step, {}).get("COUNT"))) for step in ("prefill", "generate")]
            point = MeasurementPoint("one answer" if len(steps) == 1 else f"answer {index}", 1, *lengths)
            for step, row in answer.items():
                metric, factor, speed = OLLAMA_STEPS.get(step, (None, 1.0, None))
                if metric:
                    load.result(point, metric, STATED, _number(row["NS_PER_COUNT"]), factor=factor)
                if speed:
                    load.result(point, speed, STATED, _number(row["TOKEN_PER_SEC"]))
        loads[name] = load
    return list(loads.values())


def _number(cell: str | None) -> JsonValue:
    """Return the number of a cell, whole if it is written so; any other text as it is."""
    try:
        return None if cell is None else int(cell) if cell.strip().isdigit() else float(cell)
    except ValueError:
        return cell


def _time_of(cell: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(cell) if cell else None
    except ValueError:
        return None
    return time.astimezone(UTC) if time and time.tzinfo else None

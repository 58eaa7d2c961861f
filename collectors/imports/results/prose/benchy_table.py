"""Reads llama-benchy's printed table, also when pasted; empty cells may have been lost in pasting."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose.connection_probes import BENCHY_PROBE
from collectors.imports.results.prose.tables import Table, cells_of
from collectors.imports.results.tools.benchy import DECODE_METRICS, TEST, TOOL, add, chunk_count_reason, points_of

VERSION = re.compile(r"llama-benchy[ (]{1,3}v?(\d{1,4}\.\d{1,4}\.\d{1,4})")
RUNS = re.compile(r"(\d{1,4}) runs? per|--runs (\d{1,4})\b|^ {1,8}Run 1/(\d{1,4})\b", re.MULTILINE)
DATE = re.compile(r"^date: (\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2})", re.MULTILINE | re.IGNORECASE)
SERVER = re.compile(r"^Benchmarking model: (?P<model>\S{1,400}) at (?P<url>https?://\S{1,400})", re.MULTILINE)
MODE = re.compile(r"latency mode: (?P<mode>\w{1,20})")
COLUMN_METRICS: Mapping[str, tuple[str | None, str | None]] = {  # metric in a prompt row, metric in a decode row
    "t/s": ("prompt_tps", "decode_tps"),
    "t/s (total)": ("prompt_tps", "output_tps"),
    "t/s (req)": ("prompt_tps_per_request", "decode_tps"),
    "peak t/s": (None, "peak_output_tps"),
    "peak t/s (req)": (None, "peak_decode_tps"),
    "ttfr (ms)": ("ttfr_ms", None),
    "est_ppt (ms)": ("prompt_ms", None),
    "e2e_ttft (ms)": ("ttft_ms", None),
}
CELL = re.compile(r"(?P<mean>\d{1,12}(?:\.\d{1,6})?) ± (?P<spread>\d{1,12}(?:\.\d{1,6})?)")


def is_benchy(table: Table) -> bool:
    """Return whether a table has llama-benchy's columns; the first three alone are llama-bench's, shortened."""
    columns = set(table.heads[2:])
    return table.heads[:2] == ["model", "test"] and columns <= COLUMN_METRICS.keys() and not columns <= {"t/s"}


def has_printed_table(head: str) -> bool:
    """Return whether a text has the head of such a table."""
    lines = (line for line in head.splitlines() if line.count("|") > 2 and "test" in line and len(line) < 4096)
    return any(is_benchy(Table(1, cells_of(line), [])) for line in lines)


def read(tables: Iterable[Table], text: str, ticket: Ticket, number: int) -> LoadBuilder:
    """Return the load of a text's tables; the text may name version and runs. Incomplete rows are noted."""
    version, runs = VERSION.search(text), RUNS.search(text)
    n = int(runs[1] or runs[2] or runs[3]) if runs else None
    server, probe, mode = SERVER.search(text), BENCHY_PROBE.search(text), MODE.search(text)
    load = LoadBuilder(ticket, TOOL, version[1] if version else None, TOOL, _started_at(text, ticket), number=number,
                       base_url=server["url"] if server else None)  # fmt: skip
    if probe:
        load.params["latency_probe_ms"] = float(probe["ms"])
    if mode_match := mode or probe:
        load.params["latency_mode"] = mode_match["mode"]
    if n is not None:
        load.params["runs"] = n
    for table in tables:
        load.line = load.line or table.line
        _add_table(load, table, n)
    return load


def _started_at(text: str, ticket: Ticket) -> datetime:
    """Return the printed time; it has no time zone, so this machine's is assumed."""
    match = DATE.search(text)
    try:
        return datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S").astimezone(UTC) if match else ticket.file_date
    except ValueError:
        return ticket.file_date


def _add_table(load: LoadBuilder, table: Table, n: int | None) -> None:
    parsed_rows = [
        (line, row, TEST.fullmatch(row[1])) for line, row in enumerate(table.rows, table.line + 2) if len(row) > 1
    ]
    tests = [(line, row, test) for line, row, test in parsed_rows if test]
    load.notes += [f"Line {line} is not a row of llama-benchy." for line, _, test in parsed_rows if not test]
    points = points_of(test for _, _, test in tests)
    for (line, row, _), (point, is_prompt) in zip(tests, points, strict=True):
        load.model = load.model or row[0]
        values = _values(table.heads[2:], row[2:], is_prompt)
        if values is None:
            load.notes.append(f"Line {line} was left out: it is cut off, or its numbers do not fit its columns.")
        for metric, cell in (values or {}).items():
            is_request = "(req)" in next(head for head in table.heads if metric in COLUMN_METRICS.get(head, ()))
            reasons = (
                [reasons] if metric in DECODE_METRICS and (reasons := chunk_count_reason(load.tool_version)) else []
            )
            add(
                load,
                point,
                metric,
                float(cell["mean"]),
                float(cell["spread"]),
                _n(n, metric, is_request, point.concurrency),
                reasons,
            )


def _n(runs: int | None, metric: str, is_request: bool, concurrency: int | None) -> int | None:
    """Return the number of values behind a mean: one per run, or one per request of a run."""
    per_request = is_request or metric.endswith("_ms")
    return runs if runs is None or not per_request else runs * (concurrency or 1)


def _values(heads: Sequence[str], cells: Sequence[str], is_prompt: bool) -> dict[str, re.Match[str]] | None:
    """Return the row's numbers by metric, in whichever cells they are; None if their count does not fit."""
    metrics = [metric for head in heads if (metric := COLUMN_METRICS[head][0 if is_prompt else 1])]
    matches = [CELL.fullmatch(cell) for cell in cells if cell]
    if len(matches) != len(metrics) or None in matches:
        return None
    return {metric: match for metric, match in zip(metrics, matches, strict=True) if match}

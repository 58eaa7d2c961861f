"""llama-benchy's table as it prints it and as people paste it: cells that are empty may have been lost on the way."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.tools.benchy import OF_GENERATION, TEST, TOOL, add, counts_chunks, points_of

VERSION = re.compile(r"llama-benchy[ (]{1,3}v?(\d{1,4}\.\d{1,4}\.\d{1,4})")
RUNS = re.compile(r"(\d{1,4}) runs? per|--runs (\d{1,4})\b")
HEADS: Mapping[str, tuple[str | None, str | None]] = {  # the metric of a row of prompts, and of one of tokens
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
    """Whether a table has these columns."""
    return table.heads[:2] == ["model", "test"] and len(table.heads) > 2 and set(table.heads[2:]) <= HEADS.keys()


def read(tables: Iterable[Table], text: str, ticket: Ticket, number: int) -> LoadBuilder:
    """The load of the tables of a text, which may name the version and the runs. Rows that are not whole are noted."""
    version, runs = VERSION.search(text), RUNS.search(text)
    n = int(runs[1] or runs[2]) if runs else None
    load = LoadBuilder(ticket, TOOL, version[1] if version else None, TOOL, ticket.dated, number=number)
    if n is not None:
        load.params["runs"] = n
    for table in tables:
        _add_table(load, table, n)
    return load


def _add_table(load: LoadBuilder, table: Table, n: int | None) -> None:
    known = [(line, row, TEST.fullmatch(row[1])) for line, row in enumerate(table.rows, table.line + 2) if len(row) > 1]
    tests = [(line, row, test) for line, row, test in known if test]
    load.notes += [f"Line {line} is no row of llama-benchy's." for line, _, test in known if not test]
    places = points_of(test for _, _, test in tests)
    for (line, row, _), (point, is_prompt) in zip(tests, places, strict=True):
        load.model = load.model or row[0]
        values = _values(table.heads[2:], row[2:], is_prompt)
        if values is None:
            load.notes.append(f"Line {line} was left out: it is cut off, or its numbers do not fit its columns.")
        for metric, cell in (values or {}).items():
            is_request = "(req)" in next(head for head in table.heads if metric in HEADS.get(head, ()))
            why = [why] if metric in OF_GENERATION and (why := counts_chunks(load.tool_version)) else []
            add(
                load,
                point,
                metric,
                float(cell["mean"]),
                float(cell["spread"]),
                _n(n, metric, is_request, point.concurrency),
                why,
            )


def _n(runs: int | None, metric: str, is_request: bool, at_once: int | None) -> int | None:
    """Values of a mean: a run has one of all requests together, and one of each request."""
    per_request = is_request or metric.endswith("_ms")
    return runs if runs is None or not per_request else runs * (at_once or 1)


def _values(heads: Sequence[str], cells: Sequence[str], is_prompt: bool) -> dict[str, re.Match[str]] | None:
    """The row's numbers by metric, wherever in the row they came to stand; None where one is missing or too many."""
    wanted = [metric for head in heads if (metric := HEADS[head][0 if is_prompt else 1])]
    given = [CELL.fullmatch(cell) for cell in cells if cell]
    if len(given) != len(wanted) or None in given:
        return None
    return {metric: found for metric, found in zip(wanted, given, strict=True) if found}

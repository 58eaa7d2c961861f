"""Finds the unit of latencies that a table leaves out, if the numbers of its rows prove it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isclose

from collectors.imports.results.prose.heads import OUTPUT_HEAD, names_latency, plain
from collectors.imports.results.prose.metric_names import LATENCIES_OF_TOKENS, metric_of, statistic_of
from collectors.imports.results.prose.number_text import read_cell
from collectors.imports.results.prose.tables import Table
from collectors.imports.results.prose.units import in_words, unit_in

_LENGTH_IN_TEXT = re.compile(  # 'output_tokens: 512'
    r"\b(?:output[ _-]?(?:tokens?|len(?:gth)?)|osl|max[_ -]?(?:new[_ -])?tokens|completion[ _]tokens)"
    r"\s{0,3}[:=]\s{0,3}(?P<count>\d{2,6})(?![\d.,])",
    re.IGNORECASE,
)
_TO_MILLISECONDS = {"ms": 1.0, "s": 1e3}
MOST_DIFFERENCE = 0.03  # between the latency and its parts, all of which are rounded
LEAST_ROWS = 2
STATISTICS = ("mean", "median", "stated")  # percentiles of parts do not add up


def with_proved_units(table: Table, text: str) -> tuple[Table, str | None]:
    """Return a table with the unit of its latencies of tokens, and a note on the proof; else as it is.

    The time to the first token and that of each following one make up the latency of a request, which states its unit.
    """
    open_columns = [column for column, head in enumerate(table.heads) if _is_open(head)]
    if not open_columns:
        return table, None
    counts = {int(match["count"]) for match in _LENGTH_IN_TEXT.finditer(text)}
    count_of_text = counts.pop() if len(counts) == 1 else None
    proofs = {
        unit: sum(
            any(isclose(latency, (first + (count - 1) * following) * factor, rel_tol=MOST_DIFFERENCE)
                for latency, first, following, count in parts)
            for parts in (list(_parts_of(table, row, count_of_text)) for row in table.rows)
        )
        for unit, factor in _TO_MILLISECONDS.items()
    }  # fmt: skip
    units = [unit for unit, rows in proofs.items() if rows >= LEAST_ROWS]
    if len(units) != 1 or sum(map(bool, proofs.values())) > 1:
        return table, None
    heads = [f"{head} ({units[0]})" if column in open_columns else head for column, head in enumerate(table.heads)]
    note = (
        f"The latencies of the table at line {table.line} state no unit: {units[0]}, since in {proofs[units[0]]} rows "
        "the time to the first token and those of the following ones make up the latency of a request."
    )
    return table._replace(heads=heads), note


def _is_open(head: str) -> bool:
    """Return whether a head names a latency of tokens without its unit."""
    name = metric_of(in_words(head), "ms") if names_latency(head) and unit_in(head) is None else None
    return name is not None and name.metric in LATENCIES_OF_TOKENS


def _parts_of(
    table: Table, row: Sequence[str], count_of_text: int | None
) -> Iterator[tuple[float, float, float, float]]:
    """Yield latency in ms, time to the first token, time of each following one, and count of tokens of a row."""
    by_metric: dict[tuple[str, str], float] = {}
    count = float(count_of_text) if count_of_text else None
    for head, cell in zip(table.heads, row, strict=False):
        value = read_cell(cell)
        if value is None or value.high is not None or not value.low:
            continue
        unit = value.unit or unit_in(head)
        name = metric_of(in_words(head), unit or "ms")
        if name and (name.metric == "e2e_ms") == (unit in _TO_MILLISECONDS):
            by_metric[name.metric, statistic_of(in_words(head), None)] = value.low * (name.factor if unit else 1.0)
        elif OUTPUT_HEAD.fullmatch(plain(head)) and unit in (None, "tokens"):
            count = value.low
    for statistic in STATISTICS if count else ():
        latency, first, itl, tpot = (
            by_metric.get((metric, statistic)) for metric in ("e2e_ms", "ttft_ms", "itl_ms", "tpot_ms")
        )
        following = itl or tpot
        if latency and first and following and count:
            yield latency, first, following, count

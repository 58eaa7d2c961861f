"""Reads the text of a server's /metrics that was pasted: its counters, and the means of its latency histograms.

They cover everything since the server's start, its idle time and its warm-up included, so they state no speed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from collectors.endpoints.exposition import read_points
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.tools.printed_block import PrintedBlock, read_blocks
from collectors.imports.results.values import time_of
from engines import ENGINES
from engines.base import CounterMap, Engine, MetricPoint, Scrape
from engines.histograms import BUCKET, SUM
from samples import CounterSample, LatencySample

COMMENT = re.compile(r"\s{0,12}# (?:HELP|TYPE) [A-Za-z_:][\w:]{0,200}(?: .{0,2000})?")
SAMPLE = re.compile(
    r"\s{0,12}[A-Za-z_:][\w:]{0,200}(?:\{.{0,4000}\})?"
    r" {1,8}[-+]?(?:\d[\d.e+-]{0,40}|Inf|NaN)(?: {1,8}\d{1,20})?\s{0,12}",
    re.IGNORECASE,
)
OMITTED = re.compile(r"\s{0,12}(?:\.{3,9}|…)?\s{0,12}")
MAX_LINE_CHARS = 8_000
COUNT = "_count"
TOTALS = {  # field of a sample -> its words and unit
    "prompt_tokens_total": ("prompt tokens", "tokens"),
    "prompt_tokens_cached_total": ("prompt tokens from the cache", "tokens"),
    "generation_tokens_total": ("generated tokens", "tokens"),
    "decode_tokens_total": ("tokens of decode steps", "tokens"),
    "decode_seconds_total": ("time of decoding", "s"),
    "first_tokens_total": ("requests with a first token", "requests"),
    "drafts_total": ("drafts", "1"),
    "draft_tokens_total": ("drafted tokens", "tokens"),
    "accepted_tokens_total": ("accepted draft tokens", "tokens"),
    "preemptions_total": ("preemptions", "1"),
}
COUNTERS = [(engine, engine.counters) for engine in ENGINES if engine.counters]
PREFIXES = tuple(prefix for _, counters in COUNTERS for prefix in counters.METRIC_PREFIXES)
NO_PROGRAM = re.compile(r"(?!)")


class ServerMetrics(NamedTuple):
    """What a passage of such a text states: the engine, its counters by rank, its histograms, and the models named."""

    engine: Engine
    counters: Sequence[CounterSample]
    latencies: Sequence[LatencySample]
    models: Sequence[str]

    def has_totals(self) -> bool:
        """Return whether something was counted."""
        return any(getattr(sample, field) for sample in self.counters for field in TOTALS) or bool(self.latencies)


def has_printed(content: str) -> bool:
    """Return whether a text contains counters of an engine that has counted something."""
    lines = content.splitlines()
    return any(map(_names_engine, lines)) and bool(list(_blocks(lines)))


def read_printed(content: str, ticket: Ticket, first_number: int) -> tuple[list[LoadBuilder], str]:
    """Return a load for each passage of such lines, and the text with the lines left empty."""
    return read_blocks(content, _blocks, NO_PROGRAM, _load_of, ticket, first_number)


# --- lines ------------------------------------------------------------------------------------------------------------
def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the passages of samples and their comments that state counters of an engine."""
    start, end, is_of_engine = 0, 0, False
    for index, line in enumerate([*lines, "-"]):
        if _is_exposed(line):
            start, end = (start if end else index), index + 1
            is_of_engine = is_of_engine or _names_engine(line)
        elif not (end and OMITTED.fullmatch(line)):
            if is_of_engine and (metrics := _metrics_of(lines[start:end])) and metrics.has_totals():
                yield start, end
            start, end, is_of_engine = 0, 0, False


def _is_exposed(line: str) -> bool:
    is_short = len(line) <= MAX_LINE_CHARS
    return is_short and (COMMENT.fullmatch(line) is not None or SAMPLE.fullmatch(line) is not None)


def _names_engine(line: str, prefixes: tuple[str, ...] = PREFIXES) -> bool:
    return line[:40].lstrip().startswith(prefixes)


def _metrics_of(lines: Sequence[str]) -> ServerMetrics | None:
    """Return what lines state; None if they are no valid text of an engine."""
    body = "\n".join(line.strip() for line in lines if not line.lstrip().startswith("#")).encode()
    for engine, counters in COUNTERS:
        if not any(_names_engine(line, counters.METRIC_PREFIXES) for line in lines):
            continue
        try:
            points = read_points(body, counters.METRIC_NAMES | counters.HISTOGRAM_NAMES | _count_names(counters))
        except ValueError:
            return None
        now = datetime.now(UTC)
        scrape = Scrape("", now, 0.0, [*points, *_whole_buckets(points)])
        models = {point.labels["model_name"] for point in points if point.labels.get("model_name")}
        counted_latencies = [
            sample for sample in counters.latency_samples(scrape) if sample.counts and sample.counts[-1]
        ]
        return ServerMetrics(engine, counters.counter_samples(scrape), counted_latencies, sorted(models))
    return None


def _count_names(counters: CounterMap) -> frozenset[str]:
    return frozenset(name.removesuffix(SUM) + COUNT for name in counters.HISTOGRAM_NAMES if name.endswith(SUM))


def _whole_buckets(points: Sequence[MetricPoint]) -> Iterator[MetricPoint]:
    """Yield the unbounded buckets of histograms that were pasted without buckets: each is the count."""
    names = {point.name for point in points}
    for point in points:
        name = point.name.removesuffix(COUNT)
        if name != point.name and f"{name}{BUCKET}" not in names and f"{name}{SUM}" in names:
            yield MetricPoint(f"{name}{BUCKET}", {**point.labels, "le": "+Inf"}, point.value)


# --- loads ------------------------------------------------------------------------------------------------------------
def _load_of(block: PrintedBlock, ticket: Ticket, number: int) -> LoadBuilder:
    metrics = _metrics_of(block.lines)
    assert metrics is not None, "only passages that are read are blocks"
    tool = f"{metrics.engine.title} /metrics"
    model = metrics.models[0] if len(metrics.models) == 1 else None
    load = LoadBuilder(ticket, tool, None, tool, ticket.file_date, number=number, model=model)
    load.server_config["engine"] = metrics.engine.name
    ranks = {sample.engine_index for sample in metrics.counters}
    has_ranks = len(ranks | {sample.engine_index for sample in metrics.latencies}) > 1
    for sample in metrics.counters:
        _add_totals(load, sample, _name(sample.engine_index, has_ranks))
    for latency in metrics.latencies:
        _add_mean(load, latency, _name(latency.engine_index, has_ranks))
    load.notes.append(_note(metrics.counters))
    return load


def _name(engine_index: int, has_ranks: bool) -> str:
    return f"since the server's start{f', engine {engine_index}' if has_ranks else ''}"


def _add_totals(load: LoadBuilder, sample: CounterSample, name: str) -> None:
    for field, (words, unit) in TOTALS.items():
        value = getattr(sample, field)
        if value is not None:
            load.result(MeasurementPoint(f"{name}: {words}"), STATED, "total", value, unit=unit)


def _add_mean(load: LoadBuilder, latency: LatencySample, name: str) -> None:
    """Add the mean of a histogram: its sum over its count."""
    observations = latency.counts[-1] if latency.counts else 0.0
    if latency.sum_ms is not None and observations:
        mean_ms = latency.sum_ms / observations
        load.result(MeasurementPoint(name), latency.metric, "mean", mean_ms, n=int(observations))


def _note(counters: Iterable[CounterSample]) -> str:
    started_at = next((time_of(sample.process_start_s) for sample in counters if sample.process_start_s), None)
    start = f" ({started_at:%Y-%m-%d %H:%M} UTC)" if started_at else ""
    return (
        f"These counters cover everything since the server's start{start}, warm-up and idle time included: they state "
        "totals and means, and no speed. For a speed, let Pitwall watch the server during a load."
    )

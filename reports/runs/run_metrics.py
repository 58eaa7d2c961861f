"""The numbers by which runs stand beside each other: speed, latency, speculation, capacity, memory, start-up, power."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import tokens_per_j
from analysis.evidence.loads import LoadRecord, is_whole
from analysis.evidence.measure import LATENCIES as OF_REQUEST
from analysis.evidence.measure import evidence_keys, measure, quantile
from analysis.evidence.objectives import TERMS, Kind, Objective
from analysis.runs.printed import PrintedSpeed
from engines.definitions import MEASURES
from reports.runs.run_report import RunReport


class Section(StrEnum):
    """The sections of the table, in their order."""

    SPEED = "Speed"
    LATENCY = "Latency"
    SPECULATION = "Speculation"
    CAPACITY = "KV capacity"
    STARTUP = "Start-up"
    POWER = "Power and machine"


@dataclass(frozen=True, slots=True)
class Named:
    """What one number is; `higher_is_better` is None where neither is.

    objective: what two arms must be alike in to be held against each other by it; None: what their loads must.
    is_ranked: False: no two arms are held against each other by it, whatever they are alike in.
    is_count: of whole things.
    """

    section: Section
    title: str
    unit: str
    meaning: str
    higher_is_better: bool | None = None
    objective: Objective | None = None
    is_ranked: bool = True
    is_count: bool = False


Values = dict[Named, float | None]
QUANTILES = (50, 95, 99)
LATENCIES = (
    ("Time to first token", "sent to first token", Kind.TTFT_MS),
    ("Time per output token", "after the first token", Kind.TPOT_MS),
    ("End-to-end latency", "sent to ended", Kind.E2E_MS),
)
STARTUP = (
    ("weights_load_s", "Weights", "reading the weights"),
    ("compile_s", "Compilation", "compiling"),
    ("graph_capture_s", "Graph capture", "capturing graphs"),
    ("engine_init_s", "Engine", "from the weights to readiness, all of it"),
)


def metrics_of(report: RunReport, facts: RunFacts, started: Mapping[str, Any]) -> Values:
    """Every number of one run; None where it is not known. `started`: what its log said once while it started."""
    values: Values = {}
    for part in (_speed(report, facts), _latency(facts), _speculation(report), _capacity(started)):
        values |= dict(part)
    return values | dict(_startup(facts, started)) | dict(_power(facts))


def _speed(report: RunReport, facts: RunFacts) -> Iterator[tuple[Named, float | None]]:
    yield from client_speeds(facts)
    for title, value, meaning in (
        ("Decode speed, typical", report.summary.typical_tps, "median of the windows that hold decoding alone"),
        ("Single-stream peak, p99", _peak(report, "p99"), "99th percentile of the whole 2 s windows of one request"),
        ("Single-stream peak, maximum", _peak(report, "maximum"), "the fastest whole 2 s window of one request alone"),
        ("Decode speed, floor", report.summary.floor_tps, "10th percentile of these windows"),
    ):
        yield Named(Section.SPEED, title, "tok/s", meaning, True), value
    if report.printed:
        yield from _printed(report.printed)


def _printed(printed: PrintedSpeed) -> Iterator[tuple[Named, float | None]]:
    """What its log prints as its speed: named by the definition, so that two definitions never share a row."""
    by = f"({printed.definition})"
    speed = Named(Section.SPEED, f"By its log, not ranked {by}", "tok/s", printed_meaning(printed), is_ranked=False)
    yield speed, printed.median_tps
    lines = Named(Section.SPEED, f"Lines that say so {by}", "", "of its log", is_ranked=False, is_count=True)
    yield lines, float(printed.lines)


def printed_meaning(printed: PrintedSpeed) -> str:
    """What the number of a log means, as its engine counts."""
    measure = MEASURES.get(printed.definition, "as the log prints it")
    return f"median of the lines on which the server generated, ranks summed: {measure}"


def client_speeds(facts: RunFacts) -> Iterator[tuple[Named, float | None]]:
    """What our own client measured of its last load: of a stream, and of requests side by side."""
    for load in facts.loads[-1:]:
        for objective in _speeds(load):
            value = measure(load, objective, evidence_keys([load], objective), facts.speculates).value
            terms = objective.terms
            yield Named(Section.SPEED, objective.title.capitalize(), terms.unit, terms.meaning, True, objective), value


def _peak(report: RunReport, which: str) -> float | None:
    peak = report.summary.single_stream_peak
    return getattr(peak.decode_tps, which) if peak else None


def _speeds(load: LoadRecord) -> list[Objective]:
    several = [Objective(Kind.OUTPUT_TPS, c) for c in load.concurrencies if c > 1]
    return [Objective(Kind.DECODE_TPS)] * (1 in load.concurrencies) + several


def _latency(facts: RunFacts) -> Iterator[tuple[Named, float | None]]:
    for load in facts.loads[-1:]:
        for concurrency in load.concurrencies:
            inside = [r for r in load.measured if r.concurrency == concurrency and is_whole(r)]
            for title, meaning, kind in LATENCIES:
                values = [value for r in inside if (value := OF_REQUEST[kind](r))]
                yield from _quantiles(title, meaning, Objective(kind, concurrency), values)


def _quantiles(
    title: str, meaning: str, objective: Objective, values: Sequence[float]
) -> Iterator[tuple[Named, float | None]]:
    """A high percentile of few requests is their maximum: p95 is given from 20 requests on, p99 from 100."""
    for share in QUANTILES:
        if share > 50 and len(values) * (100 - share) < 100:
            continue
        where = "alone" if objective.concurrency == 1 else f"{objective.concurrency} at once"
        named = Named(Section.LATENCY, f"{title}, {where}, p{share}", "ms", meaning, False, objective)
        yield named, quantile(values, share / 100) if values else None


def _speculation(report: RunReport) -> Iterator[tuple[Named, float | None]]:
    acceptance = report.acceptance
    length = "tokens per verified draft, its own token included: at most the draft tokens + 1"
    yield Named(Section.SPECULATION, "Mean acceptance length", "tok/step", length, True), acceptance.length
    peak = report.summary.acceptance_peak
    highest = "99th percentile of the acceptance length of whole windows"
    yield Named(Section.SPECULATION, "Acceptance length, peak", "tok/step", highest), peak.p99 if peak else None
    rate = None if acceptance.rate is None else 100.0 * acceptance.rate
    yield Named(Section.SPECULATION, "Acceptance rate", "%", "accepted of the drafted tokens"), rate
    for place, share in enumerate(acceptance.per_position or (), start=1):
        title = f"Accepted up to position {place}"
        yield Named(Section.SPECULATION, title, "%", "of all drafts; never multiplied"), 100.0 * share


def _capacity(started: Mapping[str, Any]) -> Iterator[tuple[Named, float | None]]:
    tokens = "as the engine counts it at its start: tokens of all requests together, one engine rank"
    yield Named(Section.CAPACITY, "KV cache", "tokens", tokens, True), _number(started.get("kv_cache_tokens"))
    full = "requests of the full context length that fit at once, as the engine says"
    yield Named(Section.CAPACITY, "Full-length requests", "", full, True), _number(started.get("max_concurrency"))
    memory = "held by the weights, as the engine says"
    loaded = _number(started.get("model_load_gib"))
    yield Named(Section.CAPACITY, "Weights in memory", "GiB", memory, False), loaded


def _startup(facts: RunFacts, started: Mapping[str, Any]) -> Iterator[tuple[Named, float | None]]:
    whole = Objective(Kind.STARTUP_S)
    yield Named(Section.STARTUP, "Time to ready", "s", "from the start of the process", False, whole), facts.startup_s
    for key, title, meaning in STARTUP:
        yield Named(Section.STARTUP, title, "s", meaning, False, whole), _number(started.get(key))


def _power(facts: RunFacts) -> Iterator[tuple[Named, float | None]]:
    last = facts.conditions[-1] if facts.conditions else None
    by, unit, meaning = Objective(Kind.TOKENS_PER_J), TERMS[Kind.TOKENS_PER_J].unit, TERMS[Kind.TOKENS_PER_J].meaning
    yield Named(Section.POWER, "Tokens per joule", unit, meaning, True, by), tokens_per_j(facts.loads, facts.conditions)
    clock = last.sm_clock_mhz_median if last else None
    yield Named(Section.POWER, "SM clock", "MHz", "median while a kernel ran"), clock
    cores = last.own_cores if last else None
    yield Named(Section.POWER, "CPU of the server", "cores", "mean while it was measured"), cores
    waited = 100.0 * last.starvation_ratio if last and last.starvation_ratio is not None else None
    yield Named(Section.POWER, "CPU starvation", "%", "of the time its threads wanted a CPU they waited", False), waited


def _number(value: Any) -> float | None:
    """A fact that is a number; of a list the last, which is the truest."""
    last = value[-1] if isinstance(value, list) and value else value
    return float(last) if isinstance(last, int | float) and not isinstance(last, bool) else None

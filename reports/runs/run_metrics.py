"""Values of the metrics of one run: the only place where pages, reports, the command line and the API get them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from analysis.comparison.replicates import (
    session_j,
    solved_per_hour,
    tokens_per_j,
    why_no_joules,
    why_no_session_j,
    why_none_solved,
)
from analysis.comparison.workload import last_workload_loads
from analysis.evidence.factors import geometric_mean
from analysis.evidence.loads import LoadRecord, is_positive, is_whole
from analysis.evidence.measure import LATENCIES, SESSION_VALUES, evidence_keys, measure, quantile
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.evidence.session_values import is_agent_driven, is_session_load
from analysis.loads.agent_tasks import SolvedCount
from analysis.loads.load_results import STATISTICS
from analysis.metrics.definition import Concurrency
from analysis.metrics.registry import MetricId, display_order
from analysis.runs.conditions import Conditions
from analysis.runs.speed_summary import SpeedSummary
from engines.definitions import MEASURES
from load_records import Result
from reasons import Code, Reason
from reports.runs.measured_loads import mean_w
from reports.runs.run_report import RunReport

TAILS: Mapping[str, tuple[float, int]] = {"p50": (0.5, 1), "p95": (0.95, 20), "p99": (0.99, 100)}  # share, fewest
LATENCY_KINDS = (ObjectiveKind.TTFT_MS, ObjectiveKind.TPOT_MS, ObjectiveKind.E2E_MS)
STARTUP_KEYS = ("model_load_s", "compile_s", "graph_capture_s", "engine_init_s")
CAPACITY_KEYS = (
    "kv_cache_tokens", "full_context_concurrency", "model_load_gib", "kv_cache_gib", "graph_capture_gib",
)  # fmt: skip
NOT_RECORDED = Reason(Code.NOT_RECORDED)


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A value of a metric in its unit, or None with the reason."""

    value: float | None
    reason: Reason | None = None


NO_VALUE = MetricValue(None)
RunMetrics = Mapping[MetricId, MetricValue]
Values = Iterator[tuple[MetricId, MetricValue]]


@dataclass(frozen=True, slots=True)
class MetricInputs:
    """Everything that the metrics of one run are computed from.

    loads: Pitwall's, with the chunk times of concurrent requests. results: those of its loads whose requests are not
    stored, by Pitwall's definitions. conditions: of each load with a measured request.
    startup: its row of the view `startup`. startup_s: from the start of its process to ready.
    gpu_memory_gib: the most that its own processes held, summed over its GPUs.
    """

    report: RunReport
    loads: Sequence[LoadRecord] = ()
    results: Sequence[Result] = ()
    conditions: Sequence[Conditions] = ()
    startup: Mapping[str, Any] = field(default_factory=dict)
    startup_s: float | None = None
    gpu_memory_gib: float | None = None
    solved: Mapping[str, SolvedCount] = field(default_factory=dict)  # by load id: repeats of its agent tasks


def run_metrics(inputs: MetricInputs) -> dict[MetricId, MetricValue]:
    """Return every metric of one run, unknown ones with their reason, in the order of the registry."""
    values: dict[MetricId, MetricValue] = {}
    for section in SECTIONS:
        values |= dict(section(inputs))
    return {metric: values[metric] for metric in sorted(values, key=display_order)}


def objective_of(metric: MetricId) -> Objective | None:
    """Return the objective by which arms are compared in this metric; None: by that of the loads."""
    definition = metric.definition
    if not definition.objective or metric.key == "mean_decode_tps":
        return None
    concurrency = metric.concurrency if definition.concurrency is Concurrency.EACH else None
    return Objective(ObjectiveKind(definition.objective), concurrency)


def _speed_loads(inputs: MetricInputs) -> list[LoadRecord]:
    """Return the loads of the workload that ran last; an agent's own requests, with its pauses, measure no speed."""
    return last_workload_loads([load for load in inputs.loads if not is_agent_driven(load)])


def _client_speeds(inputs: MetricInputs) -> Values:
    """Yield the speeds of the loads of the workload that ran last, else those of stored results."""
    loads = _speed_loads(inputs)
    if not loads and inputs.results:
        yield from _stored_speeds(inputs.results)
        return
    concurrencies = sorted({concurrency for load in loads for concurrency in load.concurrencies})
    if 1 in concurrencies or not concurrencies:
        yield MetricId("stream_tps"), _over_loads(loads, Objective(ObjectiveKind.DECODE_TPS))
    outputs = {
        concurrency: _over_loads(loads, Objective(ObjectiveKind.OUTPUT_TPS, concurrency))
        for concurrency in concurrencies
        if concurrency != 1
    }
    for concurrency, value in outputs.items():
        yield MetricId("output_tps", concurrency), value
    for concurrency in concurrencies:
        for kind in (ObjectiveKind.PROMPT_TPS, ObjectiveKind.REQUEST_TPS):
            yield MetricId(kind.value, concurrency), _over_loads(loads, Objective(kind, concurrency))


def _stored_speeds(results: Sequence[Result]) -> Values:
    """Yield stream speed and output speeds from results whose requests are not stored."""
    streams = _points([result for result in results if result.metric == "decode_tps" and result.concurrency == 1])
    if streams:
        yield MetricId("stream_tps"), MetricValue(geometric_mean(streams))
    for concurrency in sorted({result.concurrency for result in results if result.concurrency not in (None, 1)}):
        outputs = [r for r in results if r.metric == "output_tps" and r.concurrency == concurrency]
        if values := _points(outputs):
            yield MetricId("output_tps", concurrency), MetricValue(geometric_mean(values))


def _points(results: Sequence[Result]) -> list[float]:
    """Return one positive value per load and point: the pooled rate, or the mean or median of an older load."""
    values: dict[tuple[str, str], float] = {}
    for statistic in reversed(STATISTICS):  # the last one counts
        values |= {
            (result.load_id, result.point): result.value
            for result in results
            if result.statistic == statistic and is_positive(result.value)
        }
    return list(values.values())


def highest_output(metrics: RunMetrics) -> tuple[int, float] | None:
    """Return (concurrency, tok/s) of a run's highest output speed; None if it has none."""
    outputs = [
        (metric.concurrency, value.value)
        for metric, value in metrics.items()
        if metric.key == "output_tps" and metric.concurrency is not None and value.value is not None
    ]
    return max(outputs, key=lambda output: output[1], default=None)


def _over_loads(loads: Sequence[LoadRecord], objective: Objective) -> MetricValue:
    """Return the geometric mean over the loads that have a value, each over its own requests."""
    measures = [measure(load, objective, evidence_keys([load], objective), None) for load in loads if load.measured]
    values = [measurement.value for measurement in measures if is_positive(measurement.value)]
    if values:
        return MetricValue(geometric_mean(values))
    return MetricValue(None, next((m.reason for m in measures if m.reason), Reason(Code.NO_LOAD)))


def _latencies(inputs: MetricInputs) -> Values:
    loads = [load for load in _speed_loads(inputs) if load.measured]
    for concurrency in sorted({concurrency for load in loads for concurrency in load.concurrencies}):
        for kind in LATENCY_KINDS:
            for label, (share, fewest) in TAILS.items():
                quantiles = list(_quantiles(loads, kind, concurrency, share, fewest))
                if quantiles:
                    key = kind.value if label == "p50" else f"{kind.value.removesuffix('_ms')}_{label}_ms"
                    yield MetricId(key, concurrency), MetricValue(geometric_mean(quantiles))


def _quantiles(
    loads: Iterable[LoadRecord], kind: ObjectiveKind, concurrency: int, share: float, fewest: int
) -> Iterator[float]:
    """Yield a quantile of each load with enough requests: a high one of few requests is just their maximum."""
    for load in loads:
        requests = [r for r in load.measured if r.concurrency == concurrency and is_whole(r)]
        values = [value for r in requests if is_positive(value := LATENCIES[kind](r))]
        if len(values) >= fewest:
            yield quantile(values, share)


def _sessions(inputs: MetricInputs) -> Values:
    """Yield what the sessions of the last workload of agent sessions took; nothing without one."""
    loads = last_workload_loads([load for load in inputs.loads if is_session_load(load)])
    if loads:
        for kind in SESSION_VALUES:
            yield MetricId(kind.value), _over_loads(loads, Objective(kind))
        joules = session_j(loads, inputs.conditions)
        yield MetricId("session_j"), _known(joules, Reason(why_no_session_j(loads)))
    load_ids = {load.load_id for load in inputs.loads}
    solved = {load_id: count for load_id, count in inputs.solved.items() if load_id in load_ids}
    if solved:
        tasks = solved_per_hour(inputs.loads, solved)
        yield MetricId("solved_per_hour"), _known(tasks, Reason(why_none_solved(solved)))


def _window_speeds(inputs: MetricInputs) -> Values:
    summary, printed = inputs.report.summary, inputs.report.printed
    mean_tps = summary.factors.decode_tps if summary.factors else None
    yield MetricId("mean_decode_tps"), MetricValue(mean_tps, None if summary.factors else summary.reason)
    yield from _alone(summary)
    for speeds in (speeds for speeds in summary.speeds if speeds.streams > 1 and speeds.typical_tps is not None):
        for key, value in (
            ("typical_tps", speeds.typical_tps),
            ("peak_tps", speeds.peak.p99 if speeds.peak else None),
            ("maximum_tps", speeds.peak.maximum if speeds.peak else None),
            ("floor_tps", speeds.floor_tps),
        ):
            yield MetricId(key, speeds.streams), _known(value, speeds.no_peak)
    if printed:
        yield MetricId("printed_tps", detail=f"({printed.definition})"), MetricValue(printed.median_tps)
        yield MetricId("printed_lines", detail=f"({printed.definition})"), MetricValue(float(printed.lines))


def _alone(summary: SpeedSummary) -> Values:
    """Yield the speeds of the windows of one request alone."""
    alone = summary.alone
    no_peak = summary.no_typical or alone.no_peak
    yield MetricId("typical_tps", 1), _known(alone.typical_tps, summary.no_typical)
    yield MetricId("peak_tps", 1), _known(alone.peak.p99 if alone.peak else None, no_peak)
    yield MetricId("maximum_tps", 1), _known(alone.peak.maximum if alone.peak else None, no_peak)
    yield MetricId("floor_tps", 1), _known(alone.floor_tps, summary.no_typical)


def printed_meaning(definition: str) -> str:
    """Return the meaning of a log's number, as its engine counts."""
    engine_meaning = MEASURES.get(definition, "as the log prints it")
    return f"median of the log lines with generation, summed over ranks: {engine_meaning}"


def _answers(inputs: MetricInputs) -> Values:
    yield MetricId("looping_ratio"), _known(inputs.report.requests.looping_ratio, Reason(Code.NO_LOAD))


def _speculation(inputs: MetricInputs) -> Values:
    summary, acceptance = inputs.report.summary, inputs.report.acceptance
    factors = summary.factors
    no_factor = factors.reason if factors else summary.reason
    yield MetricId("tokens_per_step"), _known(factors.tokens_per_step if factors else None, no_factor)
    yield MetricId("steps_per_s"), _known(factors.steps_per_s if factors else None, no_factor)
    yield MetricId("acceptance_length"), _known(acceptance.length, acceptance.reason)
    peak = summary.acceptance_peak
    no_peak = acceptance.reason or summary.no_acceptance_peak
    yield MetricId("acceptance_peak"), _known(peak.p99 if peak else None, no_peak)
    no_rate = acceptance.reason or Reason(Code.DRAFT_TOKENS_UNKNOWN)
    yield MetricId("acceptance_rate"), _known(acceptance.rate, no_rate)
    for position, share in enumerate(acceptance.per_position or (), start=1):
        yield MetricId("position_acceptance", detail=str(position)), MetricValue(share)


def _capacity(inputs: MetricInputs) -> Values:
    for key in CAPACITY_KEYS:
        yield MetricId(key), _known(_number(inputs.startup.get(key)), Reason(Code.NOT_LOGGED))
    yield MetricId("kv_usage_peak_ratio"), _known(inputs.report.usage.kv_peak_ratio, NOT_RECORDED)
    yield MetricId("gpu_memory_peak_gib"), _known(inputs.gpu_memory_gib, NOT_RECORDED)
    yield MetricId("preemptions"), _known(inputs.report.usage.preemptions, NOT_RECORDED)


def _startup(inputs: MetricInputs) -> Values:
    yield MetricId("startup_s"), _known(inputs.startup_s, Reason(Code.NOT_STARTED_BY_US))
    for key in STARTUP_KEYS:
        yield MetricId(key), _known(_number(inputs.startup.get(key)), Reason(Code.NOT_LOGGED))


def _machine(inputs: MetricInputs) -> Values:
    loads, conditions = inputs.loads, inputs.conditions
    last = conditions[-1] if conditions else None
    no_load = Reason(Code.NO_LOAD) if not any(load.measured for load in loads) else NOT_RECORDED
    yield MetricId("gpu_power_w"), _known(mean_w(loads, conditions), Reason(Code.NO_ENERGY))
    yield MetricId("tokens_per_j"), _known(tokens_per_j(loads, conditions), Reason(why_no_joules(loads)))
    yield MetricId("sm_clock_mhz"), _known(last.sm_clock_mhz_median if last else None, no_load)
    yield MetricId("server_cores"), _known(last.own_cores if last else None, no_load)
    yield MetricId("host_busy_ratio"), _known(last.host_busy_ratio if last else None, no_load)
    yield MetricId("starvation_ratio"), _known(last.starvation_ratio if last else None, no_load)


def _known(value: float | None, reason: Reason | None) -> MetricValue:
    return MetricValue(value, None if value is not None else reason)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


SECTIONS = (
    _client_speeds, _window_speeds, _answers, _latencies, _sessions, _speculation, _capacity, _startup, _machine,
)  # fmt: skip

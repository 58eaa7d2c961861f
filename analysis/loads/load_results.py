"""Result rows of a Pitwall load, computed from its requests: one per point, metric and statistic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from statistics import fmean, median, stdev
from typing import NamedTuple

from analysis.evidence.loads import decode_tokens, decode_tps
from analysis.evidence.measure import (
    by_phase,
    per_token_ms,
    prefill_tps,
    prompt_tps,
    quantile,
    request_tps,
    steady_output_of,
)
from analysis.loads.requests import acceptance_rate, aggregates, end_to_end_tps, tokens_per_step, total_tps
from load_records import RequestRecord, Result
from reasons import Code

DEFINITION = "pitwall"
POOLED = "pooled"  # tokens, or requests, of all requests together over their seconds: the value that Compare uses
# Of a rate, in order of preference: Pitwall's own, then what other tools report; a percentile is no rate.
STATISTICS = (POOLED, "mean", "total", "stated", "median")
TAILS: Mapping[str, tuple[float, int]] = {"p95": (0.95, 20), "p99": (0.99, 100)}  # name -> (share, fewest requests)


class RequestMetric(NamedTuple):
    """A per-request metric with its unit."""

    name: str
    unit: str
    value_of: Callable[[RequestRecord], float | None]
    has_tail: bool = False


class LoadPoint(NamedTuple):
    """Position on the axes of a load at which requests were measured."""

    name: str
    concurrency: int
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    depth_tokens: int | None = None


METRICS = (
    RequestMetric("ttft_ms", "ms", lambda r: r.ttft_ms, has_tail=True),
    RequestMetric("tpot_ms", "ms", per_token_ms, has_tail=True),
    RequestMetric("e2e_ms", "ms", lambda r: r.total_ms, has_tail=True),
    RequestMetric("decode_tps", "tok/s", decode_tps),
    RequestMetric("e2e_tps", "tok/s", end_to_end_tps),
    RequestMetric("prompt_tps", "tok/s", prompt_tps),
    RequestMetric("tokens_per_step", "tokens", tokens_per_step),
    RequestMetric("acceptance_rate", "ratio", acceptance_rate),
    RequestMetric("completion_tokens", "tokens", lambda r: r.completion_tokens),
    RequestMetric("thinking_ratio", "ratio", lambda r: thinking_ratio(r)),
    RequestMetric("looped_ratio", "ratio", lambda r: (r.extra.get("collapse") or {}).get("looped_ratio")),
)


TOTAL_SPEED = RequestMetric("total_tps", "tok/s", lambda r: total_tps([r]))  # of a request that runs alone


def thinking_ratio(record: RequestRecord) -> float | None:
    """Return the share of thinking tokens in the answer; None if neither the engine nor the stream reports it."""
    thinking = record.extra.get("thinking_tokens")
    return int(thinking) / record.completion_tokens if thinking is not None and record.completion_tokens else None


def results_of(load_id: str, now: datetime, records: Iterable[RequestRecord]) -> Iterator[Result]:
    """Yield the rows of a load without its warm-up: sequential requests by kind of prompt, concurrent ones by phase."""
    measured = [record for record in records if record.phase == "measure"]
    ordered = sorted(measured, key=lambda r: (r.phase_index or 0, r.sequence or 0))
    groups: dict[LoadPoint, list[RequestRecord]] = {}
    for record in ordered:
        groups.setdefault(point_of(record), []).append(record)
    for point, point_records in groups.items():
        for row in _rows(point, point_records):
            yield _result(point_records[0].run_id, load_id, now, point, row)


def point_of(record: RequestRecord) -> LoadPoint:
    """Return the point on a grid's axes; else the kind of prompt for sequential requests, the phase for others."""
    extra = record.extra
    if "point" in extra:
        lengths = (extra.get(name) for name in ("prompt_tokens", "output_tokens", "depth_tokens"))
        return LoadPoint(
            str(extra["point"]), record.concurrency, *(None if length is None else int(length) for length in lengths)
        )
    title = str(extra.get("phase_title") or "Requests")
    return LoadPoint(record.prompt_class if record.concurrency == 1 else title, record.concurrency)


class StatisticRow(NamedTuple):
    """One statistic of a metric over `n` values at one point; `sd` in its unit, `reason` if unknown."""

    metric: str
    statistic: str
    unit: str
    value: float | None
    n: int
    sd: float | None = None
    reason: Code | None = None


def _rows(point: LoadPoint, records: Sequence[RequestRecord]) -> Iterator[StatisticRow]:
    successful = [record for record in records if record.error_kind is None]
    yield StatisticRow("requests", "total", "requests", len(records), len(records))
    yield StatisticRow("failed_requests", "total", "requests", len(records) - len(successful), len(records))
    if judged := [verdict for record in successful if (verdict := (record.extra.get("collapse") or {}).get("verdict"))]:
        yield StatisticRow("looping_requests", "total", "requests", judged.count("collapsed"), len(judged))
    for metric in METRICS:
        yield from _statistics(metric, [value for r in successful if (value := metric.value_of(r)) is not None])
    yield from _pooled_rates(point, records)
    if point.concurrency == 1:
        yield from _statistics(TOTAL_SPEED, [total for r in successful if (total := total_tps([r])) is not None])
    else:
        yield from _phase_rates(records)


def _statistics(metric: RequestMetric, values: Sequence[float]) -> Iterator[StatisticRow]:
    if not values:
        return
    n = len(values)
    sd = stdev(values) if n > 1 else None
    yield StatisticRow(metric.name, "mean", metric.unit, fmean(values), n, sd, None if n > 1 else Code.SD_OF_ONE_VALUE)
    yield StatisticRow(metric.name, "median", metric.unit, median(values), n)
    for name, (share, fewest) in TAILS.items():
        if metric.has_tail and n >= fewest:
            yield StatisticRow(metric.name, name, metric.unit, quantile(values, share), n)


def _pooled_rates(point: LoadPoint, records: Sequence[RequestRecord]) -> Iterator[StatisticRow]:
    """Yield the rates over all requests of the point together, as Compare measures them."""
    rated_records = [record for record in records if decode_tps(record) is not None]
    if rated_records:
        tps = sum(map(decode_tokens, rated_records)) / sum(record.decode_ms or 0.0 for record in rated_records) * 1000
        yield StatisticRow("decode_tps", POOLED, "tok/s", tps, len(rated_records), _sd(map(decode_tps, rated_records)))
    if (tps_of_prompts := prefill_tps(records)) is not None:
        rates = [rate for record in records if (rate := prompt_tps(record)) is not None]
        yield StatisticRow("prompt_tps", POOLED, "tok/s", tps_of_prompts, len(rates), _sd(rates))
    if point.concurrency != 1 and (steady := steady_output_of(records, point.concurrency)):
        yield StatisticRow("output_tps", POOLED, "tok/s", steady.output_tps, len(by_phase(records)))
    if (rate := request_tps(records)) is not None:
        yield StatisticRow("request_tps", POOLED, "requests/s", rate, len(by_phase(records)))


def _sd(values: Iterable[float | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return stdev(known_values) if len(known_values) > 1 else None


def _phase_rates(records: Sequence[RequestRecord]) -> Iterator[StatisticRow]:
    """Yield the mean over the phases of the rates of each whole phase, ramps and tails included."""
    phases = by_phase(records).values()
    phase_totals = [aggregates(phase) for phase in phases]
    rates = [totals.wall_tps for totals in phase_totals if totals.wall_tps is not None]
    sums = [totals.sum_of_rates_tps for totals in phase_totals if totals.sum_of_rates_tps is not None]
    speeds = [speed for phase in phases if (speed := total_tps(phase)) is not None]
    per_s = [totals.requests / totals.wall_s for totals in phase_totals if totals.wall_s]
    for name, unit, values in (
        ("output_tps", "tok/s", rates), ("sum_of_rates_tps", "tok/s", sums), ("total_tps", "tok/s", speeds),
        ("request_tps", "requests/s", per_s),
    ):  # fmt: skip
        if values:
            sd = stdev(values) if len(values) > 1 else None
            yield StatisticRow(
                name, "mean", unit, fmean(values), len(values), sd, None if sd is not None else Code.SD_OF_ONE_PHASE
            )


def _result(run_id: str, load_id: str, now: datetime, point: LoadPoint, row: StatisticRow) -> Result:
    return Result(
        run_id=run_id,
        load_id=load_id,
        ts=now,
        point=point.name,
        metric=row.metric,
        statistic=row.statistic,
        unit=row.unit,
        definition=DEFINITION,
        value=row.value,
        n=row.n,
        sd=row.sd,
        concurrency=point.concurrency,
        prompt_tokens=point.prompt_tokens,
        output_tokens=point.output_tokens,
        depth_tokens=point.depth_tokens,
        reason=row.reason,
    )

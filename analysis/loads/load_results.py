"""The results of a load of ours as rows: one a point, metric and statistic, made of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from statistics import fmean, median, stdev
from typing import NamedTuple

from analysis.evidence.measure import per_token_ms, quantile
from analysis.loads.requests import acceptance_rate, aggregates, decode_tps, end_to_end_tps, tokens_per_step
from load_records import RequestRecord, Result
from reasons import Code

DEFINITION = "pitwall"
TAILS: Mapping[str, tuple[float, int]] = {"p95": (0.95, 20), "p99": (0.99, 100)}  # with so many requests and more


class Metric(NamedTuple):
    """What is shown of each request, in its unit."""

    name: str
    unit: str
    of: Callable[[RequestRecord], float | None]
    has_tail: bool = False


class Point(NamedTuple):
    """Where on the axes of a load its requests were measured."""

    name: str
    concurrency: int
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    depth_tokens: int | None = None


def prompt_tps(record: RequestRecord) -> float | None:
    """Computed prompt tokens over the time to the first token, that of sending and of the queue included."""
    if record.error_kind or not record.prompt_tokens or not record.ttft_ms:
        return None
    computed = record.prompt_tokens - int(record.extra.get("cached_prompt_tokens") or 0)
    return computed / record.ttft_ms * 1000 if computed > 0 else None


METRICS = (
    Metric("ttft_ms", "ms", lambda r: r.ttft_ms, has_tail=True),
    Metric("tpot_ms", "ms", per_token_ms, has_tail=True),
    Metric("e2e_ms", "ms", lambda r: r.total_ms, has_tail=True),
    Metric("decode_tps", "tok/s", decode_tps),
    Metric("e2e_tps", "tok/s", end_to_end_tps),
    Metric("prompt_tps", "tok/s", prompt_tps),
    Metric("tokens_per_step", "tokens", tokens_per_step),
    Metric("acceptance_rate", "ratio", acceptance_rate),
    Metric("completion_tokens", "tokens", lambda r: r.completion_tokens),
    Metric("thinking_ratio", "ratio", lambda r: thinking_ratio(r)),
    Metric("looped_ratio", "ratio", lambda r: (r.extra.get("collapse") or {}).get("looped_ratio")),
)


def thinking_ratio(record: RequestRecord) -> float | None:
    """Share of the answer's tokens that were thinking; None where neither the engine nor the stream reports it."""
    thinking = record.extra.get("thinking_tokens")
    return int(thinking) / record.completion_tokens if thinking is not None and record.completion_tokens else None


def results_of(load_id: str, now: datetime, records: Iterable[RequestRecord]) -> Iterator[Result]:
    """The rows of a load, warm-up left out: by kind of prompt one at a time, by phase side by side."""
    measured = [record for record in records if record.phase == "measure"]
    ordered = sorted(measured, key=lambda r: (r.phase_index or 0, r.sequence or 0))
    groups: dict[Point, list[RequestRecord]] = {}
    for record in ordered:
        groups.setdefault(point_of(record), []).append(record)
    for point, together in groups.items():
        for row in _rows(point, together):
            yield _result(together[0].run_id, load_id, now, point, row)


def point_of(record: RequestRecord) -> Point:
    """By the axes of a grid, by the kind of prompt where requests went one at a time, else by the phase."""
    extra = record.extra
    if "point" in extra:
        lengths = (extra.get(name) for name in ("prompt_tokens", "output_tokens", "depth_tokens"))
        return Point(str(extra["point"]), record.concurrency, *(None if one is None else int(one) for one in lengths))
    title = str(extra.get("phase_title") or "Requests")
    return Point(record.prompt_class if record.concurrency == 1 else title, record.concurrency)


class Row(NamedTuple):
    """One statistic of a metric over `n` values at one point; `sd` in its unit, `reason` where it has none."""

    metric: str
    statistic: str
    unit: str
    value: float | None
    n: int
    sd: float | None = None
    reason: Code | None = None


def _rows(point: Point, records: Sequence[RequestRecord]) -> Iterator[Row]:
    whole = [record for record in records if record.error_kind is None]
    yield Row("requests", "total", "requests", len(records), len(records))
    yield Row("failed_requests", "total", "requests", len(records) - len(whole), len(records))
    if judged := [verdict for record in whole if (verdict := (record.extra.get("collapse") or {}).get("verdict"))]:
        yield Row("looping_requests", "total", "requests", judged.count("collapsed"), len(judged))
    for metric in METRICS:
        yield from _statistics(metric, [value for r in whole if (value := metric.of(r)) is not None])
    if point.concurrency != 1:
        yield from _together(records)


def _statistics(metric: Metric, values: Sequence[float]) -> Iterator[Row]:
    if not values:
        return
    n = len(values)
    sd = stdev(values) if n > 1 else None
    yield Row(metric.name, "mean", metric.unit, fmean(values), n, sd, None if n > 1 else Code.SD_OF_ONE_VALUE)
    yield Row(metric.name, "median", metric.unit, median(values), n)
    for name, (share, fewest) in TAILS.items():
        if metric.has_tail and n >= fewest:
            yield Row(metric.name, name, metric.unit, quantile(values, share), n)


def _together(records: Sequence[RequestRecord]) -> Iterator[Row]:
    """What the server delivered; of phases of one title, of each for itself."""
    phases = [list(group) for _, group in groupby(records, key=lambda record: record.phase_index)]
    found = [aggregates(phase) for phase in phases]
    rates = [one.wall_tps for one in found if one.wall_tps is not None]
    sums = [one.sum_of_rates_tps for one in found if one.sum_of_rates_tps is not None]
    per_s = [one.requests / one.wall_s for one in found if one.wall_s]
    for name, unit, values in (
        ("output_tps", "tok/s", rates), ("sum_of_rates_tps", "tok/s", sums), ("request_tps", "requests/s", per_s),
    ):  # fmt: skip
        if values:
            sd = stdev(values) if len(values) > 1 else None
            yield Row(
                name, "mean", unit, fmean(values), len(values), sd, None if sd is not None else Code.SD_OF_ONE_PHASE
            )


def _result(run_id: str, load_id: str, now: datetime, point: Point, row: Row) -> Result:
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

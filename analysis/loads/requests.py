"""Rates measured by the client, of single requests and of concurrent requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.evidence.loads import decode_tps
from analysis.evidence.measure import wall_s
from engines.acceptance import acceptance_rate_of
from load_records import RequestRecord
from reasons import Code, Reason


def end_to_end_tps(record: RequestRecord) -> float | None:
    """Return tokens over the time from sending to the end of the stream; None if unknown or failed."""
    if record.error_kind or not record.completion_tokens or not record.total_ms:
        return None
    return record.completion_tokens / record.total_ms * 1000


def total_tps(records: Sequence[RequestRecord]) -> float | None:
    """Return prompt and output tokens of the successful requests of a phase, or of one request, over their time.

    Prompt tokens from the prefix cache count. None if the length of a prompt is unknown.
    """
    rated = [record for record in records if end_to_end_tps(record) is not None]
    if not rated or not all(record.prompt_tokens for record in rated):
        return None
    return sum((record.prompt_tokens or 0) + (record.completion_tokens or 0) for record in rated) / wall_s(rated)


def tokens_per_step(record: RequestRecord) -> float | None:
    """Return tokens per decode step by the identity that each step makes one token besides the accepted drafts.

    The first token is prefill's. None if the server does not report a request's accepted tokens.
    """
    if record.accepted_tokens is None or not record.completion_tokens:
        return None
    decoded = record.completion_tokens - 1
    steps = decoded - record.accepted_tokens
    return decoded / steps if steps > 0 else None


def acceptance_rate(record: RequestRecord) -> float | None:
    """Return accepted over drafted tokens; None if the server does not report them or drafted nothing."""
    return acceptance_rate_of(record.accepted_tokens, record.draft_tokens)


def useful_tps(record: RequestRecord) -> float | None:
    """Return end-to-end tok/s without the share of looping text (see analysis.runs.collapse)."""
    rate, collapse = end_to_end_tps(record), record.extra.get("collapse")
    return rate * (1 - collapse["looped_ratio"]) if rate is not None and collapse else None


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """Measured requests of one prompt class at one concurrency; speeds are medians over successful requests."""

    prompt_class: str
    concurrency: int
    requests: int
    failed: int
    decode_tps: float | None
    end_to_end_tps: float | None
    useful_tps: float | None
    ttft_ms: float | None
    tokens_per_step: float | None
    acceptance_rate: float | None
    looping: int  # requests whose text collapsed into a loop


def class_summaries(records: Iterable[RequestRecord]) -> list[ClassSummary]:
    """Return one row per prompt class and concurrency in order of first occurrence, without the warm-up."""
    groups: dict[tuple[str, int], list[RequestRecord]] = {}
    for record in records:
        if record.phase == "measure":
            groups.setdefault((record.prompt_class, record.concurrency), []).append(record)
    return [summarise(name, concurrency, group) for (name, concurrency), group in groups.items()]


def summarise(prompt_class: str, concurrency: int, records: Sequence[RequestRecord]) -> ClassSummary:
    """Return medians over requests without an error, None if none has the value; count failed and looping ones."""

    def median_of(value: Callable[[RequestRecord], float | None]) -> float | None:
        numbers = [number for record in records if not record.error_kind and (number := value(record)) is not None]
        return median(numbers) if numbers else None

    return ClassSummary(
        prompt_class=prompt_class,
        concurrency=concurrency,
        requests=len(records),
        failed=sum(record.error_kind is not None for record in records),
        decode_tps=median_of(decode_tps),
        end_to_end_tps=median_of(end_to_end_tps),
        useful_tps=median_of(useful_tps),
        ttft_ms=median_of(lambda record: record.ttft_ms),
        tokens_per_step=median_of(tokens_per_step),
        acceptance_rate=median_of(acceptance_rate),
        looping=sum((record.extra.get("collapse") or {}).get("verdict") == "collapsed" for record in records),
    )


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Two definitions of combined tokens per second; they differ when requests end at different times."""

    requests: int  # successful ones with known tokens
    left_out: int  # failed ones, or with unknown tokens
    tokens: int
    wall_s: float | None  # first sent -> last ended
    sum_of_rates_tps: float | None  # end-to-end rates summed over the requests in flight; None as they arrive
    wall_tps: float | None  # all tokens over wall_s: the server's output
    reason: Reason | None = None  # why the rates are None


def aggregates(records: Sequence[RequestRecord]) -> Aggregates:
    """Return both aggregates of the requests of one phase; failed requests are counted but have no rate.

    A phase may send each of its concurrent requests several times, so the sum is the mean rate times the concurrency.
    """
    rated_records = [(record, rate) for record in records if (rate := end_to_end_tps(record)) is not None]
    left_out = len(records) - len(rated_records)
    if not rated_records:
        return Aggregates(0, left_out, 0, None, None, None, Reason(Code.NO_REQUEST_COUNTED))
    tokens = sum(record.completion_tokens or 0 for record, _ in rated_records)
    seconds = wall_s([record for record, _ in rated_records])
    in_flight = records[0].concurrency
    sum_of_rates_tps = in_flight * fmean(rate for _, rate in rated_records) if in_flight else None
    return Aggregates(len(rated_records), left_out, tokens, seconds, sum_of_rates_tps, tokens / seconds)

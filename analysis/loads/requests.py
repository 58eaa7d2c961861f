"""Rates of requests measured by the client: of one request, and of requests that ran side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from statistics import median

from engines.acceptance import acceptance_rate_of
from load_records import RequestRecord
from reasons import Code, Reason


def end_to_end_tps(record: RequestRecord) -> float | None:
    """Tokens over the time from sending to the end of the stream; None where a part is unknown or it failed."""
    if record.error_kind or not record.completion_tokens or not record.total_ms:
        return None
    return record.completion_tokens / record.total_ms * 1000


def decode_tps(record: RequestRecord) -> float | None:
    """Tokens after the first chunk over the time since it came; None where a part is unknown or it failed.

    The first chunk is taken as one token (the one that prefill makes) unless the server counted it otherwise.
    """
    if record.error_kind or not record.completion_tokens or not record.decode_ms:
        return None
    return (record.completion_tokens - (record.extra.get("first_chunk_tokens") or 1)) / record.decode_ms * 1000


def tokens_per_step(record: RequestRecord) -> float | None:
    """Tokens per decode step by the identity that each step makes one token beside the accepted drafts.

    The first token is prefill's. None where the server does not report the accepted tokens of a request.
    """
    if record.accepted_tokens is None or not record.completion_tokens:
        return None
    decoded = record.completion_tokens - 1
    steps = decoded - record.accepted_tokens
    return decoded / steps if steps > 0 else None


def acceptance_rate(record: RequestRecord) -> float | None:
    """Of its drafted tokens; None where the server does not report them or drafted nothing."""
    return acceptance_rate_of(record.accepted_tokens, record.draft_tokens)


def useful_tps(record: RequestRecord) -> float | None:
    """End-to-end tok/s without the share of the text that repeats itself (see analysis.runs.collapse)."""
    rate, collapse = end_to_end_tps(record), record.extra.get("collapse")
    return rate * (1 - collapse["looped_ratio"]) if rate is not None and collapse else None


@dataclass(frozen=True, slots=True)
class ClassSummary:
    """Measured requests of one prompt class at one concurrency; speeds are medians over those that ended well."""

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
    """One row per prompt class and concurrency in the order they first appear; the warm-up is left out."""
    groups: dict[tuple[str, int], list[RequestRecord]] = {}
    for record in records:
        if record.phase == "measure":
            groups.setdefault((record.prompt_class, record.concurrency), []).append(record)
    return [summarise(name, concurrency, group) for (name, concurrency), group in groups.items()]


def summarise(prompt_class: str, concurrency: int, records: Sequence[RequestRecord]) -> ClassSummary:
    """Medians of requests without an error, None where none of them has it; those that failed or loop are counted."""

    def middle(value: Callable[[RequestRecord], float | None]) -> float | None:
        known = [found for record in records if not record.error_kind and (found := value(record)) is not None]
        return median(known) if known else None

    return ClassSummary(
        prompt_class=prompt_class,
        concurrency=concurrency,
        requests=len(records),
        failed=sum(record.error_kind is not None for record in records),
        decode_tps=middle(decode_tps),
        end_to_end_tps=middle(end_to_end_tps),
        useful_tps=middle(useful_tps),
        ttft_ms=middle(lambda record: record.ttft_ms),
        tokens_per_step=middle(tokens_per_step),
        acceptance_rate=middle(acceptance_rate),
        looping=sum((record.extra.get("collapse") or {}).get("verdict") == "collapsed" for record in records),
    )


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Two honest answers to 'how many tokens per second together': they differ when requests end at different times."""

    requests: int  # that ended well, with their tokens counted
    left_out: int  # that failed or whose tokens are unknown
    tokens: int
    wall_s: float | None  # first sent -> last ended
    sum_of_rates_tps: float | None  # each request's end-to-end rate, added up: as if all had run throughout
    wall_tps: float | None  # all tokens over wall_s: what the server delivered
    reason: Reason | None = None  # why the rates are None


def aggregates(records: Sequence[RequestRecord]) -> Aggregates:
    """Both aggregates of requests that ran side by side; requests that failed are counted, never rated."""
    rated = [(record, rate) for record in records if (rate := end_to_end_tps(record)) is not None]
    left_out = len(records) - len(rated)
    if not rated:
        return Aggregates(0, left_out, 0, None, None, None, Reason(Code.NO_REQUEST_COUNTED))
    tokens = sum(record.completion_tokens or 0 for record, _ in rated)
    ends = [record.sent_at + timedelta(milliseconds=record.total_ms or 0) for record, _ in rated]
    wall_s = (max(ends) - min(record.sent_at for record, _ in rated)).total_seconds()
    return Aggregates(len(rated), left_out, tokens, wall_s, sum(rate for _, rate in rated), tokens / wall_s)

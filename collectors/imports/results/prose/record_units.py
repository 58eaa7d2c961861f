"""Finds the unit of times whose names state none, where the other values of their records prove it.

Requests over their time are the rate of requests; mean latencies together are the time of the load, times its level.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isclose
from typing import Any, NamedTuple

from collectors.imports.results.prose.heads import CONCURRENCY_HEAD
from collectors.imports.results.prose.metric_names import metric_of, statistic_of, words
from collectors.imports.results.prose.record_files import Record
from collectors.imports.results.prose.record_metrics import ALL_REQUESTS, COUNTS_OF_LOAD
from collectors.imports.results.prose.value_names import is_number, leaf_words, value_name_of
from collectors.imports.results.values import count

UNITS = {"s": 1.0, "ms": 1e3}  # and how many make a second
NAMES_OF_UNITS = {"s": "seconds", "ms": "milliseconds"}
_DURATION = words(
    r"(?:(?:total|elapsed|run|wall|bench(?:mark)?|test) )?(?:time|duration|elapsed)|wall[- ]?clock(?: time)?"
)
_STATISTIC = words(r"\b(?:mean|avg|average|median|min|max|p\d\d(?:\.\d)?)\b")
_LATENCY_OF_SERVING = words(r"(?:mean|median|p\d\d) (?:ttft|tpot|itl|e2el) ms")
UNITS_OF_SERVING = {
    "output throughput": "tok_s",
    "total token throughput": "tok_s",
    "request throughput": "req_s",
    "duration": "s",
}
MOST_DIFFERENCE = 0.005  # between a rate and the division that it is
LEAST_BUSY, MOST_BUSY = 0.8, 1.05  # of a load's requests at once, as its latencies show them
LEAST_SHARE = 1e-3  # of a latency, for the time to its first token: a thousandth may be another unit
MOST_NAMES = 8
MOST_RECORDS = 1_000  # of loads; more are those of single requests


class StatedLoad(NamedTuple):
    """What a record states of its load."""

    requests: int
    duration_s: float
    level: int


def with_units_of_serving(records: Sequence[Record]) -> tuple[list[Record], str | None]:
    """Return records in which the names that serving benchmarks leave without a unit have theirs, and a note.

    Only beside their latencies: `vllm bench serve` writes `output_throughput` and `duration` beside `mean_ttft_ms`.
    """
    if not any(_LATENCY_OF_SERVING.fullmatch(leaf_words(name)) for record in records for name in record.values):
        return list(records), None
    names = dict.fromkeys(
        name for record in records for name, value in record.values.items()
        if leaf_words(name) in UNITS_OF_SERVING and is_number(value)
    )  # fmt: skip
    if not names:
        return list(records), None
    named = {name: f"{name}_{UNITS_OF_SERVING[leaf_words(name)]}" for name in names}
    listed = ", ".join(list(names)[:MOST_NAMES])
    note = (
        f"Without a unit, {listed} are tokens, requests or seconds, as serving benchmarks write beside `mean_ttft_ms`."
    )
    return _renamed(records, named), note


def _renamed(records: Sequence[Record], named: Mapping[str, str]) -> list[Record]:
    return [
        record._replace(values={named.get(name, name): value for name, value in record.values.items()})
        for record in records
    ]


def with_proven_units(records: Sequence[Record]) -> tuple[list[Record], str | None]:
    """Return records with the proven units in the names of their times, and a note on the proof; None without any."""
    names = dict.fromkeys(
        name for record in records for name, value in record.values.items() if _lacks_unit(name, value)
    )
    if not names or len(records) > MOST_RECORDS:
        return list(records), None
    durations = [name for name in names if _DURATION.fullmatch(value_name_of(name).words)]
    latencies = [name for name in names if _metric_of(name) == "e2e_ms"]
    first_tokens = [name for name in names if _metric_of(name) == "ttft_ms"]
    units: dict[str, str] = {}
    proofs: list[str] = []
    for name in durations:
        if unit := _unit_of_duration(name, records):
            units[name] = unit
            proofs.append(f"requests / {name} is their rate")
    by_subject: dict[str, list[str]] = {}
    for name in latencies:
        by_subject.setdefault(_subject_of(name), []).append(name)
    loads = (
        {index: load for index, record in enumerate(records) if (load := _load_of(record, units))} if latencies else {}
    )
    for names_of_subject in by_subject.values():
        if unit := _unit_of_latencies(names_of_subject, records, loads):
            units |= dict.fromkeys(names_of_subject, unit)
            proofs.append("mean latency x requests is the time of the load x its concurrency")
            if not units.keys() & {*first_tokens} and _are_parts(first_tokens, names_of_subject, records):
                units |= dict.fromkeys(first_tokens, unit)
                proofs.append("a first token comes before the end of its answer")
    if not units:
        return list(records), None
    named = {name: f"{name}_{unit}" for name, unit in units.items()}
    return _renamed(records, named), _note(units, proofs)


def _note(units: Mapping[str, str], proofs: Iterable[str]) -> str:
    """Return which times are in which unit, and why."""
    parts = []
    for unit in dict.fromkeys(units.values()):
        names = [name for name, own_unit in units.items() if own_unit == unit]
        others = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        parts.append(f"{', '.join(names[:MOST_NAMES])}{others} are in {NAMES_OF_UNITS[unit]}")
    reasons = ", and ".join(dict.fromkeys(proofs))
    return f"Units that the file proves, but does not state: {'; '.join(parts)}, since {reasons}."


def _lacks_unit(name: str, value: Any) -> bool:
    return value_name_of(name).lacks_unit and is_number(value)


def _metric_of(name: str) -> str | None:
    """Return the metric that the words of a name state, whatever its unit."""
    metric_name = metric_of(value_name_of(name).words, "ms")
    return metric_name.metric if metric_name else None


def _unit_of_duration(name: str, records: Sequence[Record]) -> str | None:
    """Return the unit in which all records that state requests and their rate have their duration; else None."""
    loads = [
        (record.values[name], counts, rates) for record in records
        if is_number(record.values.get(name)) and record.values[name] > 0
        and (counts := _counts_of_requests(record.values)) and (rates := _rates_of_requests(record.values))
    ]  # fmt: skip
    return next(
        (unit for unit, factor in UNITS.items() if loads and all(
            any(isclose(rate, number * factor / duration, rel_tol=MOST_DIFFERENCE)
                for rate in rates for number in counts)
            for duration, counts, rates in loads
        )), None,
    )  # fmt: skip


def _unit_of_latencies(names: Sequence[str], records: Sequence[Record], loads: Mapping[int, StatedLoad]) -> str | None:
    """Return the unit in which the mean latencies of all loads add up to their time; else None.

    `loads`: what records state of their loads, by the index of the record.
    """
    means = [name for name in names if _statistic_of(name) == "mean"]
    latencies = [
        (latency, load) for index, load in loads.items() for name in means
        if is_number(latency := records[index].values.get(name)) and latency
    ]  # fmt: skip
    for unit, factor in UNITS.items():
        shares = [latency / factor * load.requests / load.duration_s / load.level for latency, load in latencies]
        if shares and max(shares) <= MOST_BUSY and max(shares) >= LEAST_BUSY:
            return unit
    return None


def _load_of(record: Record, units: Mapping[str, str]) -> StatedLoad | None:
    """Return a record's requests, its duration and its level; None if it lacks one.

    `units`: the units of durations that their names do not state.
    """
    counts = _counts_of_requests(record.values)
    level = next(
        (number for name, value in record.values.items()
         if CONCURRENCY_HEAD.fullmatch(leaf_words(name)) and (number := count(value))), None,
    )  # fmt: skip
    durations = [
        value / UNITS[units[other]] for other, value in record.values.items()
        if other in units and is_number(value)
    ]  # fmt: skip
    durations += [
        value * column.metric_name.factor for other, value in record.values.items()
        if is_number(value) and (column := value_name_of(other)).metric_name
        and column.metric_name.metric == "duration_s"
    ]  # fmt: skip
    if not (counts and level and durations and durations[0] > 0):
        return None
    return StatedLoad(counts[0], durations[0], level)


def _are_parts(first_tokens: Sequence[str], latencies: Sequence[str], records: Sequence[Record]) -> bool:
    """Return whether each time to the first token is a part of the latency with its statistic, and no tiny one."""
    pairs = [
        (first, latency) for first in first_tokens for latency in latencies
        if _statistic_of(first) == _statistic_of(latency)
    ]  # fmt: skip
    shares = [
        record.values[first] / record.values[latency]
        for record in records for first, latency in pairs
        if is_number(record.values.get(first)) and is_number(record.values.get(latency)) and record.values[latency]
    ]  # fmt: skip
    return bool(shares) and all(LEAST_SHARE <= share <= 1 for share in shares)


def _subject_of(name: str) -> str:
    """Return the words of a name without those of its statistic."""
    return " ".join(_STATISTIC.sub(" ", value_name_of(name).words).split())


def _statistic_of(name: str) -> str:
    return statistic_of(value_name_of(name).words, None)


def _counts_of_requests(values: Mapping[str, Any]) -> list[int]:
    """Return the counts of requests in a record, those that succeeded first."""
    patterns = [pattern for pattern, metric in (*COUNTS_OF_LOAD, *ALL_REQUESTS) if metric == "requests"]
    return [
        number for pattern in patterns for name, value in values.items()
        if any(map(pattern.fullmatch, (value_name_of(name).words, leaf_words(name)))) and (number := count(value))
    ]  # fmt: skip


def _rates_of_requests(values: Mapping[str, Any]) -> list[float]:
    return [
        value * (column.metric_name or column.stated).factor for name, value in values.items()
        if is_number(value) and (column := value_name_of(name)).unit == "requests/s" and not column.is_setting
    ]  # fmt: skip

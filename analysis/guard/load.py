"""Guard rows about the arms' loads and their requests."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import Any

from analysis.comparison.facts import RunFacts
from analysis.evidence.first_round import first_round
from analysis.evidence.loads import LoadRecord, compared_params
from analysis.evidence.objectives import ObjectiveKind
from analysis.guard.configuration import model
from analysis.guard.rows import ArmPair, GuardRow, RowCode, RowStatus, compared_requests, distinct_values, loads_of
from load_records import OWN_ANSWERS, RequestRecord

MAX_CONTEXT_RATIO = 1.2  # of prompt tokens; above it the same text is another depth
FEWEST_SHARED = 0.5  # of a load's requests; fewer shared successful ones are noted
MAX_CACHE_DIFFERENCE = 0.10  # share of the prompt that came from the cache
MOST_FAILED = 0.02  # of an arm's requests; fewer failures are noted
DECLARED = "declared"
SLOW_FIRST = 1.2  # times the time per token of later requests of the same kind, in each start
STALL_S = 5.0  # to a first token, and
STALL_TIMES = 10.0  # as long as is common at that concurrency
PROMPT_OBJECTIVES = (
    ObjectiveKind.PROMPT_TPS,
    ObjectiveKind.REQUEST_TPS,
    ObjectiveKind.TTFT_MS,
    ObjectiveKind.TTFT_P95_MS,
    ObjectiveKind.E2E_MS,
    ObjectiveKind.E2E_P95_MS,
    ObjectiveKind.OUTPUT_TPS,
    ObjectiveKind.WORK_S,
    ObjectiveKind.TOKENS_PER_J,
    ObjectiveKind.TURN_S,
    ObjectiveKind.DEEP_TTFT_MS,
    ObjectiveKind.SESSION_J,
    ObjectiveKind.SESSION_COST,
)


def workload(pair: ArmPair) -> GuardRow:
    """Require the same workload with the same parameters."""
    first, second = distinct_values(pair, _workload_json)
    values = {
        "workloads": (
            [_workload_names(workload_json) for workload_json in first],
            [_workload_names(workloads_json) for workloads_json in second],
        )
    }
    if "[]" in {*first, *second}:
        is_recorded = any(run.has_recording for arm in pair.arms for run in arm.runs)
        return GuardRow(RowCode.WORKLOAD, RowStatus.MATTERS, values | {"missing": True, "is_recorded": is_recorded})
    if set(first) != set(second):
        return GuardRow(
            RowCode.WORKLOAD, RowStatus.MATTERS, values | {"params": _differing_params(first[0], second[0])}
        )
    tools = {load.plan and load.plan.tool for arm in pair.arms for load in loads_of(arm)}
    if None in tools:  # a load without a recorded plan has no parameters
        return GuardRow(RowCode.WORKLOAD, RowStatus.UNKNOWN, values)
    standing = RowStatus.TOLD if DECLARED in tools else RowStatus.SAME
    return GuardRow(RowCode.WORKLOAD, standing, values | {"declared": DECLARED in tools})


def _workload_json(run: RunFacts) -> str:
    """Return name and parameters of a run's loads as JSON; '[]' without a Pitwall load."""
    loads: list[list[Any]] = [
        [load.plan.workload, compared_params(load.plan)] if load.plan else [run.workload, {}] for load in run.loads
    ]
    return json.dumps(sorted({json.dumps(entry, sort_keys=True) for entry in loads}))


def _workload_names(workload_json: str) -> str | None:
    names = [json.loads(entry)[0] for entry in json.loads(workload_json)]
    return ", ".join(dict.fromkeys(filter(None, names))) or None


def _differing_params(first: str, second: str) -> list[str]:
    params = [
        {k: v for entry in json.loads(workload_json) for k, v in json.loads(entry)[1].items()}
        for workload_json in (first, second)
    ]
    return sorted(key for key in {*params[0], *params[1]} if params[0].get(key) != params[1].get(key))


def prompts(pair: ArmPair) -> GuardRow:
    """Require the same texts in the same order, and requests that both arms completed.

    The prompts of a replay may hold each server's own answers: they have the same lengths and share the same prefixes.
    """
    hashes = [{_hash(load) for load in loads_of(arm)} for arm in pair.arms]
    request_counts = [len(load.measured) for arm in pair.arms for load in loads_of(arm)]
    has_own_answers = any(map(_has_own_answers, (load for arm in pair.arms for load in loads_of(arm))))
    values: dict[str, Any] = {"matched": len(pair.keys), "measured": max(request_counts, default=0)}
    if has_own_answers:
        values["has_own_answers"] = True
    if hashes[0] != hashes[1] or len(hashes[0]) > 1:
        return GuardRow(RowCode.PROMPTS, RowStatus.MATTERS, values)
    if hashes[0] <= {None}:  # or there is no load
        return GuardRow(RowCode.PROMPTS, RowStatus.UNKNOWN, values)
    is_part = values["matched"] < FEWEST_SHARED * values["measured"]
    return GuardRow(RowCode.PROMPTS, RowStatus.TOLD if is_part or has_own_answers else RowStatus.SAME, values)


def _has_own_answers(load: LoadRecord) -> bool:
    return load.plan is not None and load.plan.params.get("answers") == OWN_ANSWERS


def _hash(load: Any) -> str | None:
    """Return the hash of the planned prompts; for a load without a recorded plan, the hashes of the sent texts."""
    if load.plan:
        return str(load.plan.prompt_set_hash) if load.plan.prompt_set_hash else None
    return json.dumps(sorted({r.prompt_hash or "" for r in load.measured})) if load.measured else None


def concurrency(pair: ArmPair) -> GuardRow:
    """Require the objective's concurrency as a target of every load; only requests show a load's targets."""
    target = pair.objective.at_once
    targets = [sorted({c for load in loads_of(arm) for c in load.concurrencies}) for arm in pair.arms]
    values = {"wanted": target, "targets": targets}
    if target is None or all(target in load.concurrencies for arm in pair.arms for load in loads_of(arm)):
        return GuardRow(RowCode.CONCURRENCY, RowStatus.SAME, values)
    has_targets = any(targets)
    return GuardRow(RowCode.CONCURRENCY, RowStatus.MATTERS if has_targets else RowStatus.UNKNOWN, values)


def context(pair: ArmPair) -> GuardRow:
    """Compare the prompt tokens of the same requests; another model's tokenizer splits the same text differently.

    One model has one tokenizer: a server that counts other tokens read another prompt, for example only its end.
    """
    first, second = (_median([r.prompt_tokens or None for r in compared_requests(pair, arm)]) for arm in pair.arms)
    values = {"prompt_tokens": (first, second)}
    if first is None or second is None:
        return GuardRow(RowCode.CONTEXT, RowStatus.UNKNOWN, values)
    if max(first, second) / min(first, second) <= MAX_CONTEXT_RATIO:
        return GuardRow(RowCode.CONTEXT, RowStatus.SAME, values)
    is_one_model = model(pair).status is RowStatus.SAME
    return GuardRow(RowCode.CONTEXT, RowStatus.MATTERS if is_one_model else RowStatus.TOLD, values)


def prefix_cache(pair: ArmPair) -> GuardRow:
    """Compare the cached share of the prompts, which shortens prefill and nothing after it."""
    shares = [_cached_share(compared_requests(pair, arm)) for arm in pair.arms]
    values = {"cached_share": tuple(shares)}
    if shares[0] is None or shares[1] is None:
        return GuardRow(RowCode.PREFIX_CACHE, RowStatus.UNKNOWN, values)
    if abs(shares[0] - shares[1]) <= MAX_CACHE_DIFFERENCE:
        return GuardRow(RowCode.PREFIX_CACHE, RowStatus.SAME, values)
    caching_settings = distinct_values(pair, lambda run: run.served.settings.get("prefix_caching"))
    if caching_settings[0] != caching_settings[1]:
        return GuardRow(RowCode.PREFIX_CACHE, RowStatus.COMPARED, values)
    matters = pair.objective.kind in PROMPT_OBJECTIVES
    return GuardRow(RowCode.PREFIX_CACHE, RowStatus.MATTERS if matters else RowStatus.TOLD, values)


def _cached_share(requests: Sequence[RequestRecord]) -> float | None:
    token_counts = [
        (int(r.extra["cached_prompt_tokens"]), r.prompt_tokens)
        for r in requests
        if r.extra.get("cached_prompt_tokens") is not None and r.prompt_tokens
    ]
    return (
        sum(c for c, _ in token_counts) / sum(p for _, p in token_counts)
        if token_counts and len(token_counts) == len(requests)
        else None
    )


def warmup(pair: ArmPair) -> GuardRow:
    """Compare whether each load began with warm-up requests, and whether its first measured requests were slower."""
    if not any(load.requests for arm in pair.arms for load in loads_of(arm)):
        return GuardRow(RowCode.WARMUP, RowStatus.UNKNOWN, {"warm": ((), ())})
    warm = [{any(r.phase == "warmup" for r in load.requests) for load in loads_of(arm)} for arm in pair.arms]
    values: dict[str, Any] = {"warm": tuple(tuple(sorted(flags)) for flags in warm)}
    slow_rounds = _slow_first_rounds(pair)
    if slow_rounds:
        return GuardRow(RowCode.WARMUP, RowStatus.MATTERS, values | {"slowness": slow_rounds})
    if warm[0] == warm[1] and len(warm[0]) <= 1:
        return GuardRow(RowCode.WARMUP, RowStatus.SAME if warm[0] != {False} else RowStatus.TOLD, values)
    return GuardRow(RowCode.WARMUP, RowStatus.MATTERS, values)


def _slow_first_rounds(pair: ArmPair) -> tuple[float | None, float | None] | None:
    """Return how slow each arm's first requests were, if that may explain the difference; else None."""
    if pair.objective.kind is ObjectiveKind.LOG_TPS:
        return None
    by_arm = [
        [rounds for load in loads_of(arm) if (rounds := first_round(load, pair.objective.at_once))] for arm in pair.arms
    ]
    # Noise makes some first requests slow; a server that was cold is slow at first in each of its starts.
    is_cold = [bool(rounds) and min(r.slowness for r in rounds) > SLOW_FIRST for rounds in by_arm]
    if not any(is_cold) or not all(by_arm):
        return None
    first, second = (fmean(r.effect_log for r in rounds) for rounds in by_arm)
    effect_log = first - second if pair.objective.terms.higher_is_better else second - first
    slowness = [math.exp(fmean(math.log(r.slowness) for r in rounds)) for rounds in by_arm]
    return (slowness[0], slowness[1]) if pair.is_explained_by(effect_log) else None


def restarts(pair: ArmPair) -> GuardRow:
    """Refuse loads during which the server's process was replaced: its counters fell, or it states another start."""
    restarted = [run.run_id for run in pair.runs if any(map(_has_restart, run.loads))]
    if restarted:
        return GuardRow(RowCode.RESTARTS, RowStatus.MATTERS, {"runs": restarted})
    is_counted = all(run.loads and all(load.counters or load.queue for load in run.loads) for run in pair.runs)
    return GuardRow(RowCode.RESTARTS, RowStatus.SAME if is_counted else RowStatus.UNKNOWN, {"runs": []})


def _has_restart(load: LoadRecord) -> bool:
    starts_s = {reading.process_start_s for reading in load.queue if reading.process_start_s is not None}
    totals: dict[int, list[float]] = {}
    for counters in sorted(load.counters, key=lambda counters: counters.segment):
        if counters.generation_tokens_total is not None:
            totals.setdefault(counters.engine_index, []).append(counters.generation_tokens_total)
    return len(starts_s) > 1 or any(after < before for series in totals.values() for before, after in pairwise(series))


def stalls(pair: ArmPair) -> GuardRow:
    """Note requests that waited far longer for their first token than others of the load: medians hide them."""
    seconds = tuple(max((_longest_stall_s(load) for load in loads_of(arm)), default=0.0) for arm in pair.arms)
    if not any(seconds) and _lacks_requests(pair):
        return GuardRow(RowCode.STALLS, RowStatus.UNKNOWN)
    return GuardRow(RowCode.STALLS, RowStatus.TOLD if any(seconds) else RowStatus.SAME, {"stalled_s": seconds})


def _longest_stall_s(load: LoadRecord) -> float:
    """Return the longest wait for a first token that is no common one; 0 if there is none."""
    waits: dict[int, list[float]] = {}
    for request in load.measured:
        if request.ttft_ms is not None and request.concurrency:  # requests at given times may queue for long
            waits.setdefault(request.concurrency, []).append(request.ttft_ms / 1000)
    long_waits = [
        wait for group in waits.values() for wait in group if wait > STALL_S and wait > STALL_TIMES * median(group)
    ]
    return max(long_waits, default=0.0)


def unfinished(pair: ArmPair) -> GuardRow:
    """Refuse incomplete loads, which hold other texts than complete ones, and running ones, which may still change."""
    unsent = {
        run.run_id: sum(load.unsent or 0 for load in run.loads)
        for run in pair.runs
        if not all(load.is_complete for load in run.loads)
    }
    if not unsent and _lacks_requests(pair):
        return GuardRow(RowCode.UNFINISHED, RowStatus.UNKNOWN)
    if not unsent:
        return GuardRow(RowCode.UNFINISHED, RowStatus.SAME)
    live = [run.run_id for run in pair.runs if run.run_id in unsent and not run.is_over]
    return GuardRow(RowCode.UNFINISHED, RowStatus.MATTERS, {"unsent": unsent, "live": live})


def failed(pair: ArmPair) -> GuardRow:
    """Compare failed requests, which can never be declared irrelevant."""
    worst = max((_failure_counts(pair, at_once) for at_once in (None, pair.objective.at_once)), key=_worst_share)
    values = {"failed": tuple(worst)}
    if _worst_share(worst) > MOST_FAILED:
        return GuardRow(RowCode.FAILED, RowStatus.MATTERS, values)
    if not _worst_share(worst) and _lacks_requests(pair):
        return GuardRow(RowCode.FAILED, RowStatus.UNKNOWN)
    return GuardRow(RowCode.FAILED, RowStatus.TOLD if _worst_share(worst) else RowStatus.SAME, values)


def _lacks_requests(pair: ArmPair) -> bool:
    """Return whether no request of a run is known: it had no load of Pitwall's, or its tool's file has totals alone."""
    return any(not any(load.requests for load in run.loads) for run in pair.runs)


def _failure_counts(pair: ArmPair, at_once: int | None) -> list[tuple[int, int]]:
    """Return (failed, all) measured requests of each arm, at one concurrency or at all of them."""
    counts = []
    for arm in pair.arms:
        requests = [r for load in loads_of(arm) for r in load.measured if at_once in (None, r.concurrency)]
        counts.append((sum(r.error_kind not in (None, "cancelled") for r in requests), len(requests)))
    return counts


def _worst_share(counts: Sequence[tuple[int, int]]) -> float:
    return max(failures / total if total else 0.0 for failures, total in counts)


def definition(pair: ArmPair) -> GuardRow:
    """Require the same metric definition; Pitwall's client measures all engines alike, logs differ."""
    if pair.objective.kind is not ObjectiveKind.LOG_TPS:
        return GuardRow(RowCode.DEFINITION, RowStatus.SAME, {"client": True})
    first, second = distinct_values(pair, lambda run: run.log and (run.log.definition, run.log.window_s))
    values = {"definitions": (first, second)}
    if {*first, *second} == {None}:
        return GuardRow(RowCode.DEFINITION, RowStatus.UNKNOWN, values)
    is_same = set(first) == set(second) and len(set(first)) == 1
    return GuardRow(RowCode.DEFINITION, RowStatus.SAME if is_same else RowStatus.MATTERS, values)


def _median(values: Sequence[int | None]) -> float | None:
    known_values = [value for value in values if value is not None]
    return median(known_values) if known_values and len(known_values) == len(values) else None

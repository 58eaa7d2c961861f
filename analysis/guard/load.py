"""The load that both arms were put under, and what became of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from statistics import median
from typing import Any

from analysis.comparison.facts import RunFacts
from analysis.evidence.objectives import Kind
from analysis.guard.configuration import model
from analysis.guard.rows import Pair, Row, RowCode, Standing, compared_requests, each, loads_of
from load_records import RequestRecord

OTHER_CONTEXT = 1.2  # ratio of prompt tokens from which the same text is another depth
FEWEST_SHARED = 0.5  # of a load's requests: fewer that all runs ended are noted
OTHER_CACHE = 0.10  # share of the prompt that came from the cache
MOST_FAILED = 0.02  # of an arm's requests; a few in a thousand are noted
DECLARED = "declared"
OF_PROMPTS = (
    Kind.TTFT_MS,
    Kind.TTFT_P95_MS,
    Kind.E2E_MS,
    Kind.E2E_P95_MS,
    Kind.OUTPUT_TPS,
    Kind.WORK_S,
    Kind.TOKENS_PER_J,
)


def workload(pair: Pair) -> Row:
    """The same workload with the same parameters."""
    first, second = each(pair, _asked)
    values = {"workloads": ([_name(one) for one in first], [_name(one) for one in second])}
    if "[]" in {*first, *second}:
        return Row(RowCode.WORKLOAD, Standing.MATTERS, values | {"missing": True})
    if set(first) != set(second):
        return Row(RowCode.WORKLOAD, Standing.MATTERS, values | {"params": _other_params(first[0], second[0])})
    tools = {load.asked and load.asked.tool for arm in pair.arms for load in loads_of(arm)}
    if None in tools:  # an older Pitwall recorded no parameters
        return Row(RowCode.WORKLOAD, Standing.UNKNOWN, values)
    standing = Standing.TOLD if DECLARED in tools else Standing.SAME
    return Row(RowCode.WORKLOAD, standing, values | {"declared": DECLARED in tools})


def _asked(run: RunFacts) -> str:
    """Name and parameters of a run's loads, as text; '[]' without a load of ours."""
    loads: list[list[Any]] = [
        [load.asked.workload, dict(load.asked.params)] if load.asked else [run.workload, {}] for load in run.loads
    ]
    return json.dumps(sorted({json.dumps(one, sort_keys=True) for one in loads}))


def _name(asked: str) -> str | None:
    names = [json.loads(one)[0] for one in json.loads(asked)]
    return ", ".join(dict.fromkeys(filter(None, names))) or None


def _other_params(first: str, second: str) -> list[str]:
    params = [{k: v for one in json.loads(asked) for k, v in json.loads(one)[1].items()} for asked in (first, second)]
    return sorted(key for key in {*params[0], *params[1]} if params[0].get(key) != params[1].get(key))


def prompts(pair: Pair) -> Row:
    """The same texts in the same order, and requests that both arms ended."""
    hashes = [{_hash(load) for load in loads_of(arm)} for arm in pair.arms]
    ours = [len(load.measured) for arm in pair.arms for load in loads_of(arm)]
    values = {"matched": len(pair.keys), "measured": max(ours, default=0)}
    if hashes[0] != hashes[1] or len(hashes[0]) > 1:
        return Row(RowCode.PROMPTS, Standing.MATTERS, values)
    if hashes[0] == {None}:
        return Row(RowCode.PROMPTS, Standing.UNKNOWN, values)
    is_part = values["matched"] < FEWEST_SHARED * values["measured"]
    return Row(RowCode.PROMPTS, Standing.TOLD if is_part else Standing.SAME, values)


def _hash(load: Any) -> str | None:
    """The hash of what was planned; for an older Pitwall's load, the hashes of the texts that were sent."""
    if load.asked:
        return str(load.asked.prompt_set_hash) if load.asked.prompt_set_hash else None
    return json.dumps(sorted({r.prompt_hash or "" for r in load.measured})) if load.measured else None


def concurrency(pair: Pair) -> Row:
    """The objective's concurrency is a target of every load; which one a load had only its requests show."""
    wanted = pair.objective.at_once
    targets = [sorted({c for load in loads_of(arm) for c in load.concurrencies}) for arm in pair.arms]
    values = {"wanted": wanted, "targets": targets}
    if wanted is None or all(wanted in load.concurrencies for arm in pair.arms for load in loads_of(arm)):
        return Row(RowCode.CONCURRENCY, Standing.SAME, values)
    has_targets = any(targets)
    return Row(RowCode.CONCURRENCY, Standing.MATTERS if has_targets else Standing.UNKNOWN, values)


def context(pair: Pair) -> Row:
    """Depth of the same requests in tokens; another model's tokenizer cuts the same text otherwise.

    One model has one tokenizer: there a server that counts other tokens read another prompt, such as the end of it.
    """
    first, second = (_median([r.prompt_tokens or None for r in compared_requests(pair, arm)]) for arm in pair.arms)
    values = {"prompt_tokens": (first, second)}
    if first is None or second is None:
        return Row(RowCode.CONTEXT, Standing.UNKNOWN, values)
    if max(first, second) / min(first, second) <= OTHER_CONTEXT:
        return Row(RowCode.CONTEXT, Standing.SAME, values)
    is_one_model = model(pair).standing is Standing.SAME
    return Row(RowCode.CONTEXT, Standing.MATTERS if is_one_model else Standing.TOLD, values)


def prefix_cache(pair: Pair) -> Row:
    """How much of the prompts was taken from the cache: it shortens prefill, and nothing after it."""
    shares = [_cached_share(compared_requests(pair, arm)) for arm in pair.arms]
    values = {"cached_share": tuple(shares)}
    if shares[0] is None or shares[1] is None:
        return Row(RowCode.PREFIX_CACHE, Standing.UNKNOWN, values)
    if abs(shares[0] - shares[1]) <= OTHER_CACHE:
        return Row(RowCode.PREFIX_CACHE, Standing.SAME, values)
    asked = each(pair, lambda run: run.served.settings.get("prefix_caching"))
    if asked[0] != asked[1]:
        return Row(RowCode.PREFIX_CACHE, Standing.COMPARED, values)
    matters = pair.objective.kind in OF_PROMPTS
    return Row(RowCode.PREFIX_CACHE, Standing.MATTERS if matters else Standing.TOLD, values)


def _cached_share(requests: Sequence[RequestRecord]) -> float | None:
    known = [
        (int(r.extra["cached_prompt_tokens"]), r.prompt_tokens)
        for r in requests
        if r.extra.get("cached_prompt_tokens") is not None and r.prompt_tokens
    ]
    return sum(c for c, _ in known) / sum(p for _, p in known) if known and len(known) == len(requests) else None


def warmup(pair: Pair) -> Row:
    """Whether each load began with requests that do not count."""
    if not any(load.requests for arm in pair.arms for load in loads_of(arm)):
        return Row(RowCode.WARMUP, Standing.UNKNOWN, {"warm": ((), ())})
    warm = [{any(r.phase == "warmup" for r in load.requests) for load in loads_of(arm)} for arm in pair.arms]
    values = {"warm": tuple(tuple(sorted(one)) for one in warm)}
    if warm[0] == warm[1] and len(warm[0]) <= 1:
        return Row(RowCode.WARMUP, Standing.SAME if warm[0] != {False} else Standing.TOLD, values)
    return Row(RowCode.WARMUP, Standing.MATTERS, values)


def unfinished(pair: Pair) -> Row:
    """A part of a load holds other texts than the whole, and a run that goes on may still change."""
    left = {
        run.run_id: sum(load.unsent or 0 for load in run.loads)
        for run in pair.runs
        if not all(load.is_complete for load in run.loads)
    }
    if not left:
        return Row(RowCode.UNFINISHED, Standing.SAME)
    live = [run.run_id for run in pair.runs if run.run_id in left and not run.is_over]
    return Row(RowCode.UNFINISHED, Standing.MATTERS, {"unsent": left, "live": live})


def failed(pair: Pair) -> Row:
    """Requests that did not end well; they can never be declared away."""
    worst = max((_failed(pair, at_once) for at_once in (None, pair.objective.at_once)), key=_worst_share)
    values = {"failed": tuple(worst)}
    if _worst_share(worst) > MOST_FAILED:
        return Row(RowCode.FAILED, Standing.MATTERS, values)
    return Row(RowCode.FAILED, Standing.TOLD if _worst_share(worst) else Standing.SAME, values)


def _failed(pair: Pair, at_once: int | None) -> list[tuple[int, int]]:
    """(failed, all) measured requests of each arm, of one concurrency or of all: a few of many may be all of one."""
    counts = []
    for arm in pair.arms:
        requests = [r for load in loads_of(arm) for r in load.measured if at_once in (None, r.concurrency)]
        counts.append((sum(r.error_kind not in (None, "cancelled") for r in requests), len(requests)))
    return counts


def _worst_share(counts: Sequence[tuple[int, int]]) -> float:
    return max(failures / total if total else 0.0 for failures, total in counts)


def definition(pair: Pair) -> Row:
    """Our own client measures all alike; of logs both must mean the same by their numbers."""
    if pair.objective.kind is not Kind.LOG_TPS:
        return Row(RowCode.DEFINITION, Standing.SAME, {"client": True})
    first, second = each(pair, lambda run: run.log and (run.log.definition, run.log.window_s))
    is_same = set(first) == set(second) and len(set(first)) == 1
    return Row(RowCode.DEFINITION, Standing.SAME if is_same else Standing.MATTERS, {"definitions": (first, second)})


def _median(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known and len(known) == len(values) else None

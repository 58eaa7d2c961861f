"""What the runs of some values of a setting predict of its others: speeds of other draft lengths, and what fits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from analysis.comparison.arms import Arm
from analysis.evidence.drafting import Shares, accepted_shares
from analysis.evidence.loads import LoadRecord
from analysis.evidence.objectives import Kind, Objective
from analysis.study import FEWEST_ARMS, MeasuredK, Prediction, choose_k, sd_of_starts
from commands.study_file import USERS_HELD, StudyPlan
from commands.sweep import DRAFT_TOKENS, value_at
from domain import Run
from load_records import RequestRecord
from reports.runs.capacity import GIB, Memory, memory_of, requests_at_once
from storage.ask.queries import Asked

CONTEXT, MEMORY = "max_model_len", "gpu_memory_fraction"
OF_STEPS = (Kind.DECODE_TPS, Kind.OUTPUT_TPS, Kind.TPOT_MS)  # what is steps/s times tokens per step
SURELY_LESS = 0.95  # of one request, before it is said that none fits


@dataclass(frozen=True, slots=True)
class Predicted:
    """One arm: between which values of the objective it lies by whose runs, or what does not fit. None: not bounded."""

    low: float | None = None
    high: float | None = None
    low_by: str | None = None
    high_by: str | None = None
    requests: float | None = None  # of its full length that fit at once, where that is too few
    requests_by: str | None = None


@dataclass(frozen=True, slots=True)
class Values:
    """What a study of values does next, beside its race."""

    probe: str | None = None  # the one arm that starts next
    predicted: Mapping[str, Predicted] = field(default_factory=dict)
    away: tuple[str, ...] = ()  # arms that do not start


@dataclass(frozen=True, slots=True)
class Measured:
    """A study's arms so far; `logs` are higher where better."""

    arms: Mapping[str, Arm]
    runs: Mapping[str, Sequence[Run]]
    objective: Objective | str
    logs: Mapping[str, Sequence[float]]
    failed: Sequence[str]


def predict_values(store: Asked, plan: StudyPlan, measured: Measured) -> Values:
    """Nothing where two settings are varied, or one that says nothing of its other values."""
    if len(plan.vary) != 1:
        return Values()
    if plan.vary[0].field == DRAFT_TOKENS:
        return _by_acceptance(plan, measured)
    return _by_capacity(store, plan, measured) if plan.vary[0].field in (CONTEXT, MEMORY) else Values()


def _by_acceptance(plan: StudyPlan, measured: Measured) -> Values:
    """Before any run gives the objective, the largest says most for whatever it will be."""
    objective = measured.objective
    if (isinstance(objective, Objective) and objective.kind not in OF_STEPS) or plan.objective == USERS_HELD:
        return Values()
    ks = {arm.name: int(value_at(arm.config, DRAFT_TOKENS) or 0) for arm in plan.arms}
    measured_ks = {name: _measured_k(name, ks[name], measured) for name, logs in measured.logs.items() if logs}
    sd = sd_of_starts({name: logs for name, logs in measured.logs.items() if name not in measured.failed})
    choice = choose_k(ks, measured_ks, measured.failed, sd, plan.vary[0].most_step_gain)
    bounded = {name: one for name, one in choice.predicted.items() if one.high or one.low}
    return Values(choice.probe, {name: _in_its_unit(one, objective) for name, one in bounded.items()}, choice.away)


def _measured_k(name: str, k: int, measured: Measured) -> MeasuredK:
    assert isinstance(measured.objective, Objective)
    starts = measured.arms[name].starts
    shares = [_shares(load, measured.objective, start.speculates) for start in starts for load in start.loads]
    return MeasuredK(name, k, fmean(measured.logs[name]), tuple(share for one in shares for share in one))


def _shares(load: LoadRecord, objective: Objective, speculates: bool | None) -> list[Shares]:
    """By kind of prompt where the objective is a mean over these and the counters were read between them."""
    inside = [r for r in load.measured if r.concurrency == objective.at_once]
    classes: dict[str, list[RequestRecord]] = {}
    for request in inside:
        classes.setdefault(request.prompt_class, []).append(request)
    groups = list(classes.values()) if objective.kind is Kind.DECODE_TPS else [inside]
    shares = [accepted_shares(load, group, speculates) for group in groups]
    known = [one for one in shares if one is not None]
    if len(known) < len(shares):
        whole = accepted_shares(load, inside, speculates)
        return [] if whole is None else [whole]
    return known


def _in_its_unit(one: Prediction, objective: Objective | str) -> Predicted:
    """Bounds on logarithms that are higher where better, as values of the objective."""
    sign = 1 if isinstance(objective, Objective) and objective.terms.higher_is_better else -1
    low, high = (one.low, one.high)[::sign]
    return Predicted(
        math.exp(sign * low.log_speed) if low else None,
        math.exp(sign * high.log_speed) if high else None,
        low.arm if low else None,
        high.arm if high else None,
    )


def _by_capacity(store: Asked, plan: StudyPlan, measured: Measured) -> Values:
    """The value that leaves most room starts first, and shows which of the others holds not even one request."""
    setting = plan.vary[0].field
    sizes = {arm.name: value for arm in plan.arms if (value := value_at(arm.config, setting)) is not None}
    alive = sorted((name for name in sizes if name not in measured.failed), key=sizes.__getitem__)
    if len(alive) <= FEWEST_ARMS:
        return Values()
    roomiest = alive[0] if setting == CONTEXT else alive[-1]
    if roomiest not in measured.arms:
        return Values(roomiest)
    run, facts = measured.runs[roomiest][-1], measured.arms[roomiest].runs[-1]
    memory = memory_of(store, run, facts)
    fits = {name: _requests(memory, run, setting, sizes[roomiest], sizes[name]) for name in alive if name != roomiest}
    short = {name: fit for name, fit in fits.items() if fit is not None and fit < SURELY_LESS}
    open_ones = [name for name in short if name != plan.arms[0].name and not measured.logs.get(name)]
    away = sorted(open_ones, key=short.__getitem__)[: len(alive) - FEWEST_ARMS]
    words = {name: Predicted(requests=fit, requests_by=roomiest) for name, fit in short.items()}
    return Values(None, words, tuple(away))


def _requests(memory: Memory, run: Run, setting: str, measured: float, asked: float) -> float | None:
    """Requests of the full length that fit with another value, by the run of the value that is measured."""
    if setting == CONTEXT:
        return requests_at_once(memory, int(asked)).value
    full = memory.startup.get("full_context_tokens") or memory.setting(CONTEXT)
    pool = memory.startup.get("kv_cache_gib")
    gpus = [gpu.get("memory_total_bytes") for gpu in (run.provenance or {}).get("gpus") or []]
    if full is None or not pool or not gpus or not all(gpus):
        return None
    left = 1 - min(gpus) / GIB * (measured - asked) / pool
    return requests_at_once(memory.with_pool(left), int(full)).value if left > 0 else 0.0

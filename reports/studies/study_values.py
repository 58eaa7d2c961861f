"""Predictions for untested values of a setting: speeds of other draft lengths, and requests that fit in memory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from analysis.comparison.arms import Arm
from analysis.evidence.drafting import Shares, accepted_shares
from analysis.evidence.loads import LoadRecord
from analysis.evidence.objectives import Objective, ObjectiveKind
from analysis.study import FEWEST_ARMS, MeasuredK, Prediction, choose_k, sd_of_starts
from commands.study_file import USERS_HELD, StudyPlan
from commands.sweep import DRAFT_TOKENS, value_at
from domain import Run
from load_records import RequestRecord
from reports.runs.capacity import GIB, MemoryFacts, memory_of, requests_at_once
from storage.queries.run_data import Queryable

CONTEXT, MEMORY = "max_model_len", "gpu_memory_fraction"
STEP_OBJECTIVES = (
    ObjectiveKind.DECODE_TPS,
    ObjectiveKind.OUTPUT_TPS,
    ObjectiveKind.TPOT_MS,
)  # proportional to steps/s times tokens per step
SURELY_LESS = 0.95  # requests: below this, not even one fits


@dataclass(frozen=True, slots=True)
class ArmPrediction:
    """Bounds of one arm's value and the arms that give them, or its capacity. None: not bounded."""

    low: float | None = None
    high: float | None = None
    low_by: str | None = None
    high_by: str | None = None
    requests: float | None = None  # of full length that fit at once, if too few
    requests_by: str | None = None


@dataclass(frozen=True, slots=True)
class ValueStep:
    """Next step of a study that varies one setting, besides its race."""

    probe: str | None = None  # the one arm that starts next
    predicted: Mapping[str, ArmPrediction] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()  # arms that do not start


@dataclass(frozen=True, slots=True)
class MeasuredArms:
    """Measured arms of a study; `logs` are log values for which higher is better."""

    arms: Mapping[str, Arm]
    runs: Mapping[str, Sequence[Run]]
    objective: Objective | str
    logs: Mapping[str, Sequence[float]]
    failed: Sequence[str]


def predict_values(store: Queryable, plan: StudyPlan, measured: MeasuredArms) -> ValueStep:
    """Return the next step; empty if several settings are varied, or one whose other values cannot be predicted."""
    if len(plan.vary) != 1:
        return ValueStep()
    if plan.vary[0].field == DRAFT_TOKENS:
        return _by_acceptance(plan, measured)
    return _by_capacity(store, plan, measured) if plan.vary[0].field in (CONTEXT, MEMORY) else ValueStep()


def _by_acceptance(plan: StudyPlan, measured: MeasuredArms) -> ValueStep:
    """Choose by acceptance; before any run proposes an objective, the largest draft length is probed."""
    objective = measured.objective
    if (isinstance(objective, Objective) and objective.kind not in STEP_OBJECTIVES) or plan.objective == USERS_HELD:
        return ValueStep()
    ks = {arm.name: int(value_at(arm.config, DRAFT_TOKENS) or 0) for arm in plan.arms}
    measured_ks = {name: _measured_k(name, ks[name], measured) for name, logs in measured.logs.items() if logs}
    sd = sd_of_starts({name: logs for name, logs in measured.logs.items() if name not in measured.failed})
    choice = choose_k(ks, measured_ks, measured.failed, sd, plan.vary[0].most_step_gain)
    bounded = {name: prediction for name, prediction in choice.predicted.items() if prediction.high or prediction.low}
    return ValueStep(
        choice.probe, {name: _in_unit(prediction, objective) for name, prediction in bounded.items()}, choice.excluded
    )


def _measured_k(name: str, k: int, measured: MeasuredArms) -> MeasuredK:
    assert isinstance(measured.objective, Objective)
    starts = measured.arms[name].starts
    shares = [_drafting_shares(load, measured.objective, start.speculates) for start in starts for load in start.loads]
    return MeasuredK(
        name, k, fmean(measured.logs[name]), tuple(share for load_shares in shares for share in load_shares)
    )


def _drafting_shares(load: LoadRecord, objective: Objective, speculates: bool | None) -> list[Shares]:
    """Return accepted shares by prompt class, if the objective averages over classes and counters separate them."""
    inside = [r for r in load.measured if r.concurrency == objective.at_once]
    classes: dict[str, list[RequestRecord]] = {}
    for request in inside:
        classes.setdefault(request.prompt_class, []).append(request)
    groups = list(classes.values()) if objective.kind is ObjectiveKind.DECODE_TPS else [inside]
    shares = [accepted_shares(load, group, speculates) for group in groups]
    known_shares = [share for share in shares if share is not None]
    if len(known_shares) < len(shares):
        overall = accepted_shares(load, inside, speculates)
        return [] if overall is None else [overall]
    return known_shares


def _in_unit(prediction: Prediction, objective: Objective | str) -> ArmPrediction:
    """Convert bounds of log values, for which higher is better, to values of the objective."""
    sign = 1 if isinstance(objective, Objective) and objective.terms.higher_is_better else -1
    low, high = (prediction.low, prediction.high)[::sign]
    return ArmPrediction(
        math.exp(sign * low.log_speed) if low else None,
        math.exp(sign * high.log_speed) if high else None,
        low.arm if low else None,
        high.arm if high else None,
    )


def _by_capacity(store: Queryable, plan: StudyPlan, measured: MeasuredArms) -> ValueStep:
    """Start the roomiest value first, and drop those that by its memory cannot hold even one request."""
    setting = plan.vary[0].field
    sizes = {arm.name: value for arm in plan.arms if (value := value_at(arm.config, setting)) is not None}
    running = sorted((name for name in sizes if name not in measured.failed), key=sizes.__getitem__)
    if len(running) <= FEWEST_ARMS:
        return ValueStep()
    roomiest = running[0] if setting == CONTEXT else running[-1]
    if roomiest not in measured.arms:
        return ValueStep(roomiest)
    run, facts = measured.runs[roomiest][-1], measured.arms[roomiest].runs[-1]
    memory = memory_of(store, run, facts)
    fits = {name: _requests(memory, run, setting, sizes[roomiest], sizes[name]) for name in running if name != roomiest}
    too_few = {name: fit for name, fit in fits.items() if fit is not None and fit < SURELY_LESS}
    droppable = [name for name in too_few if name != plan.arms[0].name and not measured.logs.get(name)]
    dropped = sorted(droppable, key=too_few.__getitem__)[: len(running) - FEWEST_ARMS]
    predictions = {name: ArmPrediction(requests=fit, requests_by=roomiest) for name, fit in too_few.items()}
    return ValueStep(None, predictions, tuple(dropped))


def _requests(memory: MemoryFacts, run: Run, setting: str, measured: float, requested: float) -> float | None:
    """Return the full-length requests that fit with the requested value, by the run of the measured value."""
    if setting == CONTEXT:
        return requests_at_once(memory, int(requested)).value
    full = memory.startup.get("full_context_tokens") or memory.setting(CONTEXT)
    pool = memory.startup.get("kv_cache_gib")
    gpus = [gpu.get("memory_total_bytes") for gpu in (run.provenance or {}).get("gpus") or []]
    if full is None or not pool or not gpus or not all(gpus):
        return None
    pool_share = 1 - min(gpus) / GIB * (measured - requested) / pool
    return requests_at_once(memory.with_pool(pool_share), int(full)).value if pool_share > 0 else 0.0

"""What physics and money say of one run: its capacity, share of the bandwidth, speculation, bands, energy, start-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import output_tokens, tokens_per_j, why_no_joules
from analysis.physics.bands import Bands, bands_of
from analysis.physics.experts import read_experts
from analysis.physics.known import Quantity, known
from analysis.physics.kv_bytes import request_bytes, token_bytes
from analysis.physics.money import cost_per_million, idle_share
from analysis.physics.roofline import limit_tps, share_of_limit, step_bytes
from analysis.physics.speculation import BestK, best_k, chance_acceptance, predicted_break_even
from analysis.physics.startup import Phases, restart_tokens, startup_phases
from analysis.runs.conditions import Span
from analysis.runs.windows import Window
from domain import Run
from reasons import Code, Reason
from reference.gpus import Gpu, find_gpu
from reports.arms.facts import measured_span
from reports.runs.capacity import Fit, Memory, fits_of, memory_of, of_attention
from reports.runs.prices import Prices
from reports.runs.run_report import RunReport
from reports.runs.under_load import mean_w
from storage.ask import queries
from storage.ask.condition_queries import conditions

IDLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Physics:
    """All findings of one run, each a value or its reason."""

    gpu: Gpu | None
    token_bytes: Quantity
    fits: tuple[Fit, ...]
    share: Quantity  # of the bandwidth limit with the tokens per step it has
    plain_share: Quantity  # of the limit without speculation
    active_share: float | None  # of a mixture's weights
    break_even: Quantity
    chance: Quantity  # acceptance of each draft token if it were chance alike
    best: BestK | None
    best_reason: Reason | None
    bands: Bands
    tokens_per_joule: Quantity
    idle_share: Quantity
    cost: Quantity
    prices: Prices
    phases: Phases
    restart_tokens: Quantity
    is_full_length_too_long: bool


@dataclass(frozen=True, slots=True)
class _Inputs(Memory):
    """What the formulas need of a run."""

    report: RunReport


def physics_of(store: queries.Asked, report: RunReport, facts: RunFacts, prices: Prices) -> Physics:
    """The findings of one run."""
    memory = memory_of(store, report.run, facts)
    startup, given = memory.startup, _Inputs(facts, memory.startup, memory.config, report)
    gpu = _gpu(facts)
    fits = fits_of(given)
    best, best_reason = _best(given)
    share, plain_share = _shares(given, gpu)
    full = next((fit.requests.value for fit in fits if fit.context_tokens == startup.get("full_context_tokens")), None)
    startup_s = report.time_to_ready_s if report.run.kind == "launched" else None
    return Physics(
        gpu,
        of_attention(given, token_bytes),
        fits,
        share,
        plain_share,
        _active_share(given),
        known(predicted_break_even, k=_draft_tokens(given), draft_cost=_draft_cost(given)),
        _chance(given),
        best,
        best_reason,
        bands_of(report.windows),
        _tokens_per_joule(facts),
        known(idle_share, idle_w=_idle_w(store, report), load_w=_load(facts)[1]),
        known(
            cost_per_million,
            output_tps=_load(facts)[0],
            price_per_hour=prices.per_hour,
            power_w=_load(facts)[1],
            price_per_kwh=prices.per_kwh,
        ),
        prices,
        _phases(startup_s, startup),
        known(restart_tokens, total_s=startup_s, output_tps=report.summary.typical_tps),
        full is not None and full < 1.0,
    )


def _gpu(facts: RunFacts) -> Gpu | None:
    """The one kind of GPU that the run may use."""
    names = set(facts.served.gpus or ())
    return find_gpu(names.pop()) if len(names) == 1 else None


def _shares(given: _Inputs, gpu: Gpu | None) -> tuple[Quantity, Quantity]:
    """What was measured of what the bandwidth allows, with the tokens of each step and with one."""
    summary, weights = given.report.summary, given.ranks_bytes("model_load_gib")
    counted = summary.factors.tokens_per_step if summary.factors else None
    tokens_per_step = counted or (1.0 if given.facts.speculates is False else None)
    ranks = given.tensor_parallel  # these read at once; GPUs that it may use but does not, read nothing

    def share(
        decode_tps: float,
        requests: float,
        tokens_per_step: float,
        of_draft: bool,
        weights_bytes: float,
        gb_s: float,
    ) -> float:
        read = weights_bytes * (_active_share(given, requests * tokens_per_step) or 1.0)
        draft_bytes = (given.ranks_bytes("draft_load_gib") or 0.0) if of_draft else 0.0
        step = step_bytes(read, requests, _kv_bytes(given), draft_bytes, _draft_tokens(given) or 0)
        tokens = tokens_per_step if of_draft else 1.0
        return share_of_limit(decode_tps, limit_tps(step, gb_s * 1e9 * ranks, requests, tokens))

    inputs = {
        "decode_tps": summary.typical_tps,
        "requests": summary.concurrency,
        "tokens_per_step": tokens_per_step,
        "weights_bytes": weights,
        "gb_s": gpu and gpu.bandwidth_gb_s,
    }
    is_dense = _active_share(given) is None  # what it reads does not depend on the tokens of a step
    plain = inputs | {"tokens_per_step": tokens_per_step or (1.0 if is_dense else None)}
    return known(share, of_draft=True, **inputs), known(share, of_draft=False, **plain)


def _kv_bytes(given: _Inputs) -> float:
    """Keys and values of a request half through its answer; 0 where that is not known, which the page says."""
    lengths = [
        (r.prompt_tokens or 0) + r.completion_tokens / 2
        for load in given.facts.loads
        for r in load.measured
        if r.completion_tokens
    ]
    if not lengths:
        return 0.0
    return of_attention(given, request_bytes, context_tokens=int(sum(lengths) / len(lengths))).value or 0.0


def _active_share(given: _Inputs, tokens: float = 1.0) -> float | None:
    """The share of a mixture of experts that these tokens use; None for a dense model."""
    mixture = None if isinstance(given.config, Reason) else read_experts(given.config)
    return mixture.active_share(tokens) if mixture else None


def _draft_tokens(given: _Inputs) -> int | None:
    """How many tokens a step drafts: the positions that were counted, else what was asked for."""
    positions = given.report.acceptance.per_position
    asked = given.setting("speculative.num_tokens")
    return len(positions) if positions else int(asked) if asked else None


def _draft_cost(given: _Inputs) -> float | None:
    """One pass of the draft over one plain step, by the bytes that each reads."""
    draft, weights = given.startup.get("draft_load_gib"), given.startup.get("model_load_gib")
    return draft / weights if draft is not None and weights else None


def _chance(given: _Inputs) -> Quantity:
    length, k = given.report.acceptance.length, _draft_tokens(given)
    if length is None:
        return Quantity(None, given.report.acceptance.reason)
    if k is not None and not 1.0 <= length <= k + 1:
        k = None
    return known(chance_acceptance, tokens_per_step=length, k=k)


def _best(given: _Inputs) -> tuple[BestK | None, Reason | None]:
    positions, cost = given.report.acceptance.per_position, _draft_cost(given)
    if not positions:
        return None, given.report.acceptance.reason or Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("positions",)})
    if cost is None:
        return None, Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("draft_cost",)})
    drafts = sum(w.drafts or 0.0 for w in given.report.windows)
    return best_k(positions, cost, int(drafts) or None), None


def _load(facts: RunFacts) -> tuple[float | None, float | None]:
    """Output tok/s and watts over the stretches in which our requests were measured."""
    spans = [span for load in facts.loads if (span := measured_span(load))]
    seconds = sum(span.seconds for span in spans)
    tokens = output_tokens(facts.loads)
    return (tokens / seconds if seconds and tokens else None), mean_w(facts.loads, facts.conditions)


def _tokens_per_joule(facts: RunFacts) -> Quantity:
    value = tokens_per_j(facts.loads, facts.conditions)
    return Quantity(value, None if value else Reason(why_no_joules(facts)))


def _idle_w(store: queries.Asked, report: RunReport) -> float | None:
    """Mean watts of its GPUs over the longest stretch in which no request ran."""
    span = idle_span(report.run, report.windows)
    energy = conditions(store, [span])[0].energy_j if span else None
    return energy / span.seconds if span and energy is not None else None


def idle_span(run: Run, windows: Sequence[Window]) -> Span | None:
    """The longest stretch of windows in which nothing ran; None where none lasted five seconds."""
    spans: list[tuple[float, float]] = []
    for one in windows:
        if one.activity != "idle":
            continue
        began = one.since_ready_s - one.dt_s
        if spans and began - spans[-1][1] < IDLE_S / 10:
            spans[-1] = (spans[-1][0], one.since_ready_s)
        else:
            spans.append((began, one.since_ready_s))
    began, ended = max(spans, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
    if run.ready_at is None or ended - began < IDLE_S:
        return None
    return Span(run.id, run.ready_at + timedelta(seconds=began), run.ready_at + timedelta(seconds=ended))


def _phases(total_s: float | None, startup: Mapping[str, Any]) -> Phases:
    names = {"model_load_s": "loading_s", "draft_load_s": "draft_s", "compile_s": "compile_s"}
    names |= {"graph_capture_s": "graphs_s", "engine_init_s": "engine_s"}
    return startup_phases(total_s, **{name: startup.get(column) for column, name in names.items()})

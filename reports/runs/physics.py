"""Physics and cost of one run: capacity, share of the bandwidth limit, speculation, bands, energy, start-up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import output_tokens, tokens_per_j, why_no_joules
from analysis.physics.bands import Bands, bands_of
from analysis.physics.experts import read_experts
from analysis.physics.formula_result import Quantity, evaluate
from analysis.physics.kv_bytes import request_bytes, token_bytes
from analysis.physics.money import cost_per_million, idle_share
from analysis.physics.roofline import limit_tps, share_of_limit, step_bytes
from analysis.physics.speculation import BestK, best_k, chance_acceptance, predicted_break_even
from analysis.physics.startup import Phases, restart_tokens, startup_phases
from analysis.runs.conditions import Span
from analysis.runs.speed_summary import SpeedSummary
from analysis.runs.windows import Window
from domain import Run
from engines import max_acceptance_length
from reasons import Code, Reason
from reference.gpus import GpuModel, find_gpu
from reports.runs.capacity import MemoryFacts, RequestFit, evaluate_attention, fits_of, memory_of
from reports.runs.measured_loads import mean_w, measured_span, startup_span
from reports.runs.prices import Prices
from reports.runs.run_report import RunReport
from storage.queries import run_data
from storage.queries.condition_queries import conditions

IDLE_S = 5.0


@dataclass(frozen=True, slots=True)
class Physics:
    """All findings about one run, each a value or the reason why it is unknown."""

    gpu: GpuModel | None
    token_bytes: Quantity
    fits: tuple[RequestFit, ...]
    share: Quantity  # of the bandwidth limit at its tokens per step
    plain_share: Quantity  # of the limit without speculation
    active_share: float | None  # of a mixture's weights
    break_even: Quantity
    chance: Quantity  # acceptance of each draft token, if all had the same chance
    best: BestK | None
    best_reason: Reason | None
    positions: tuple[float, ...]  # share of all drafts accepted up to each position; empty: unknown
    bands: Bands
    tokens_per_joule: Quantity
    idle_share: Quantity
    cost: Quantity
    prices: Prices
    phases: Phases
    restart_tokens: Quantity
    is_full_length_too_long: bool


@dataclass(frozen=True, slots=True)
class _Inputs(MemoryFacts):
    """Inputs of the formulas."""

    report: RunReport


def physics_of(store: run_data.Queryable, report: RunReport, facts: RunFacts, prices: Prices) -> Physics:
    """Compute the findings about one run."""
    memory = memory_of(store, report.run, facts)
    startup, inputs = memory.startup, _Inputs(facts, memory.startup, memory.config, report)
    gpu = _gpu(facts)
    fits = fits_of(inputs)
    best, best_reason = _best(inputs)
    share, plain_share = _shares(inputs, gpu)
    full = next((fit.requests.value for fit in fits if fit.context_tokens == startup.get("full_context_tokens")), None)
    span = startup_span(report.run)
    startup_s = span.seconds if span else None
    return Physics(
        gpu,
        evaluate_attention(inputs, token_bytes),
        fits,
        share,
        plain_share,
        _active_share(inputs),
        evaluate(predicted_break_even, k=_draft_tokens(inputs), draft_cost=_draft_cost(inputs)),
        _chance(inputs),
        best,
        best_reason,
        tuple(report.acceptance.per_position or ()),
        bands_of(report.windows),
        _tokens_per_joule(facts),
        evaluate(idle_share, idle_w=_idle_w(store, report), load_w=_load_means(facts)[1]),
        evaluate(
            cost_per_million,
            output_tps=_load_means(facts)[0],
            price_per_hour=prices.per_hour,
            power_w=_load_means(facts)[1],
            price_per_kwh=prices.per_kwh,
        ),
        prices,
        _phases(startup_s, startup),
        evaluate(restart_tokens, total_s=startup_s, output_tps=_usual_speed(report.summary)[0]),
        full is not None and full < 1.0,
    )


def _gpu(facts: RunFacts) -> GpuModel | None:
    """Return the run's GPU model; None if it is unknown or there are several."""
    names = set(facts.served.gpus or ())
    return find_gpu(names.pop()) if len(names) == 1 else None


def _shares(inputs: _Inputs, gpu: GpuModel | None) -> tuple[Quantity, Quantity]:
    """Return the measured share of the bandwidth limit, with the run's tokens per step and with one per step."""
    summary, weights = inputs.report.summary, inputs.all_ranks_bytes("model_load_gib")
    counted = summary.factors.tokens_per_step if summary.factors else None
    tokens_per_step = counted or (1.0 if inputs.facts.speculates is False else None)
    ranks = inputs.tensor_parallel  # only these read memory; other visible GPUs do not

    def share(
        decode_tps: float,
        requests: float,
        tokens_per_step: float,
        of_draft: bool,
        weights_bytes: float,
        gb_s: float,
    ) -> float:
        read_bytes = weights_bytes * (_active_share(inputs, requests * tokens_per_step) or 1.0)
        draft_bytes = (inputs.all_ranks_bytes("draft_load_gib") or 0.0) if of_draft else 0.0
        step = step_bytes(read_bytes, requests, _kv_bytes(inputs), draft_bytes, _draft_tokens(inputs) or 0)
        tokens = tokens_per_step if of_draft else 1.0
        return share_of_limit(decode_tps, limit_tps(step, gb_s * 1e9 * ranks, requests, tokens))

    decode_tps, requests = _usual_speed(summary)
    measured = {
        "decode_tps": decode_tps,
        "requests": requests,
        "tokens_per_step": tokens_per_step,
        "weights_bytes": weights,
        "gb_s": gpu and gpu.bandwidth_gb_s,
    }
    is_dense = _active_share(inputs) is None  # its reads do not depend on the tokens per step
    plain = measured | {"tokens_per_step": tokens_per_step or (1.0 if is_dense else None)}
    return evaluate(share, of_draft=True, **measured), evaluate(share, of_draft=False, **plain)


def _usual_speed(summary: SpeedSummary) -> tuple[float | None, float | None]:
    """Return decode tok/s and its concurrent requests: typical of one request alone, else the mean of all windows."""
    if summary.alone.typical_tps is not None:
        return summary.alone.typical_tps, 1.0
    return (summary.factors.decode_tps if summary.factors else None), summary.concurrency


def _kv_bytes(inputs: _Inputs) -> float:
    """Return the KV bytes of a request halfway through its answer; 0 if unknown, which the page states."""
    lengths = [
        (r.prompt_tokens or 0) + r.completion_tokens / 2
        for load in inputs.facts.loads
        for r in load.measured
        if r.completion_tokens
    ]
    if not lengths:
        return 0.0
    return evaluate_attention(inputs, request_bytes, context_tokens=int(sum(lengths) / len(lengths))).value or 0.0


def _active_share(inputs: _Inputs, tokens: float = 1.0) -> float | None:
    """Return the share of the experts that these tokens use; None for a dense model."""
    mixture = None if isinstance(inputs.config, Reason) else read_experts(inputs.config)
    return mixture.active_share(tokens) if mixture else None


def _draft_tokens(inputs: _Inputs) -> int | None:
    """Return the draft tokens per step: the counted positions, else the configured number."""
    positions = inputs.report.acceptance.per_position
    requested = inputs.setting("speculative.num_tokens")
    most = max_acceptance_length(inputs.facts.served.engine, int(requested) if requested else None)
    return len(positions) if positions else most - 1 if most else None


def _draft_cost(inputs: _Inputs) -> float | None:
    """Return the cost of one draft pass relative to a plain step, by the bytes that each reads."""
    draft, weights = inputs.startup.get("draft_load_gib"), inputs.startup.get("model_load_gib")
    return draft / weights if draft is not None and weights else None


def _chance(inputs: _Inputs) -> Quantity:
    length, k = inputs.report.acceptance.length, _draft_tokens(inputs)
    if length is None:
        return Quantity(None, inputs.report.acceptance.reason)
    if k is not None and not 1.0 <= length <= k + 1:
        k = None
    return evaluate(chance_acceptance, tokens_per_step=length, k=k)


def _best(inputs: _Inputs) -> tuple[BestK | None, Reason | None]:
    positions, cost = inputs.report.acceptance.per_position, _draft_cost(inputs)
    if not positions:
        return None, inputs.report.acceptance.reason or Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("positions",)})
    if cost is None:
        return None, Reason(Code.INPUTS_UNKNOWN, values={"inputs": ("draft_cost",)})
    drafts = sum(w.drafts or 0.0 for w in inputs.report.windows)
    return best_k(positions, cost, int(drafts) or None), None


def _load_means(facts: RunFacts) -> tuple[float | None, float | None]:
    """Return output tok/s and mean watts over the measured spans of the loads."""
    spans = [span for load in facts.loads if (span := measured_span(load))]
    seconds = sum(span.seconds for span in spans)
    tokens = output_tokens(facts.loads)
    return (tokens / seconds if seconds and tokens else None), mean_w(facts.loads, facts.conditions)


def _tokens_per_joule(facts: RunFacts) -> Quantity:
    value = tokens_per_j(facts.loads, facts.conditions)
    return Quantity(value, None if value else Reason(why_no_joules(facts.loads)))


def _idle_w(store: run_data.Queryable, report: RunReport) -> float | None:
    """Return the mean watts of its GPUs over the longest idle span."""
    span = idle_span(report.run, report.windows)
    energy = conditions(store, [span])[0].energy_j if span else None
    return energy / span.seconds if span and energy is not None else None


def idle_span(run: Run, windows: Sequence[Window]) -> Span | None:
    """Return the longest span of idle windows; None if none lasted five seconds."""
    spans: list[tuple[float, float]] = []
    for window in windows:
        if window.activity != "idle":
            continue
        began = window.since_ready_s - window.dt_s
        if spans and began - spans[-1][1] < IDLE_S / 10:
            spans[-1] = (spans[-1][0], window.since_ready_s)
        else:
            spans.append((began, window.since_ready_s))
    began, ended = max(spans, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
    if run.ready_at is None or ended - began < IDLE_S:
        return None
    return Span(run.id, run.ready_at + timedelta(seconds=began), run.ready_at + timedelta(seconds=ended))


def _phases(total_s: float | None, startup: Mapping[str, Any]) -> Phases:
    names = {"model_load_s": "loading_s", "draft_load_s": "draft_s", "compile_s": "compile_s"}
    names |= {"graph_capture_s": "graphs_s", "engine_init_s": "engine_s"}
    return startup_phases(total_s, **{name: startup.get(column) for column, name in names.items()})

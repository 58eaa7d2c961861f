"""A simulated engine and client, labelled as that: steps of known length, drafts of known acceptance, exact counters.

Every request in flight gains one token a step and what is accepted of its draft. What differs between two starts,
between steps and between lengths of answers is drawn from a generator that the caller seeds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np

from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.evidence.loads import LoadRecord
from analysis.runs.conditions import Conditions
from load_records import Load, LoadCounters, LoadPhase, RequestRecord
from workloads import REGISTRY
from workloads.plan import Phase, PlannedRequest

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
PREFILL_S_PER_CHAR = 20e-6
IDS = count()
ON_TIME = {"client_wait_ms": 0.1}
SERVED = ServerSetup("vllm", "m1", "org/model", "f1", "0.33.0", None, ("H100",), {"max_model_len": 4096})


@dataclass(frozen=True)
class Bursts:
    """Other work on the host: in a share of the stretches of `length_s` each step takes `slowdown` times as long."""

    share: tuple[float, float]  # of the stretches; each start draws its own between these
    slowdown: tuple[float, float]  # likewise
    length_s: float = 0.4


@dataclass
class IdealEngine:
    """`step_s` seconds a step; with `drafts` each position is accepted with the probability of the class."""

    step_s: float = 0.025
    drafts: int = 0
    acceptance: dict[str, float] = field(default_factory=dict)  # class -> probability; others 0.6
    start_sd: float = 0.0  # of the log of one start's speed
    step_cv: float = 0.03  # of single steps
    length_sd: float = 0.10  # of the log of an answer's length
    bursts: Bursts | None = None  # of other work on its host
    served: ServerSetup = SERVED

    def run(self, workload: str, rng: np.random.Generator, params: dict[str, object] | None = None) -> RunFacts:
        """One server start under one load."""
        number = next(IDS)
        run_id = f"run-{number:06d}"
        speed = float(np.exp(rng.normal(0.0, self.start_sd))) if self.start_sd else 1.0
        simulated = _Simulation(self, run_id, rng, self.step_s / speed)
        load = simulated.load(workload, params or {})
        began = T0 + timedelta(minutes=number)
        served = replace(self.served, settings={**self.served.settings, "speculative.num_tokens": self.drafts})
        conditions = (Conditions(run_id, starvation_ratio=simulated.waited_s / simulated.wanted_s),)
        return RunFacts(
            run_id, run_id, served, workload=workload, loads=(load,), speculates=bool(self.drafts), began_at=began,
            conditions=conditions if self.bursts else (),
        )  # fmt: skip


class _Simulation:
    def __init__(self, engine: IdealEngine, run_id: str, rng: np.random.Generator, step_s: float) -> None:
        self.engine, self.run_id, self.rng, self.step_s = engine, run_id, rng, step_s
        self.load_id = f"load-of-{run_id}"
        self.sums = {"generation": 0.0, "first": 0.0, "itl": 0.0, "drafts": 0.0, "drafted": 0.0, "accepted": 0.0}
        self.marks: list[LoadCounters] = []
        self.requests: list[RequestRecord] = []
        self.phases: list[LoadPhase] = []
        self.now_s = 0.0
        self.waited_s, self.wanted_s = 0.0, 0.0
        bursts = engine.bursts
        self.share, self.slowdown = (
            (rng.uniform(*bursts.share), rng.uniform(*bursts.slowdown)) if bursts else (0.0, 1.0)
        )

    def load(self, workload: str, params: dict[str, object]) -> LoadRecord:
        known = REGISTRY[workload]
        plan = known.plan(params)
        spec = known.spec(params)
        for index, phase in enumerate(plan):
            self._phase(index, phase)
        self._mark()
        load = Load(
            self.run_id, self.load_id, T0, "pitwall", workload, "0", spec.prompt_set_hash, spec.params,
            sum(len(phase.requests) for phase in plan if phase.kind == "measure"), len(plan),
        )  # fmt: skip
        return LoadRecord(self.run_id, self.load_id, load, tuple(self.phases), tuple(self.requests), tuple(self.marks))

    def _phase(self, index: int, phase: Phase) -> None:
        began_s, sequence = self.now_s, count()
        for segment in phase.segments():
            self._mark()
            free = [self.now_s] * phase.concurrency
            for request in segment:
                stream = int(np.argmin(free))
                free[stream] = self._request(index, phase, request, next(sequence), stream, free[stream], began_s)
            self.now_s = max(free)
        went = LoadPhase(
            self.run_id, self.load_id, T0, index, phase.title, phase.kind, phase.concurrency,
            T0 + timedelta(seconds=began_s), self.now_s - began_s, 0.0, len(phase.requests), True,
        )  # fmt: skip
        self.phases.append(went)

    def _request(
        self,
        index: int,
        phase: Phase,
        request: PlannedRequest,
        sequence: int,
        stream: int,
        sent_s: float,
        began_s: float,
    ) -> float:
        """Record one request; when its stream ends."""
        max_tokens = min(
            request.max_tokens, round(request.max_tokens * np.exp(self.rng.normal(-0.1, self.engine.length_sd)))
        )
        tokens, accepted = self._steps(request.prompt_class, max(2, int(max_tokens)))
        times = self.step_s * (1 + self.rng.normal(0, self.engine.step_cv, len(tokens)))
        times = self._disturbed(times)
        ttft_s = len(request.prompt) * PREFILL_S_PER_CHAR + self.step_s
        decode_s = float(times.sum())
        total = int(tokens.sum()) + 1
        for name, value in (
            ("generation", total), ("first", 1), ("itl", len(tokens)), ("accepted", accepted),
            ("drafts", len(tokens) if self.engine.drafts else 0), ("drafted", len(tokens) * self.engine.drafts),
        ):  # fmt: skip
            self.sums[name] += value
        self.requests.append(
            RequestRecord(
                run_id=self.run_id,
                request_id=f"{self.load_id}-{len(self.requests):04d}",
                workload="w",
                phase=phase.kind,
                prompt_class=request.prompt_class,
                stream=stream,
                concurrency=phase.concurrency,
                sent_at=T0 + timedelta(seconds=sent_s),
                ttft_ms=ttft_s * 1000,
                decode_ms=decode_s * 1000,
                total_ms=(ttft_s + decode_s) * 1000,
                prompt_tokens=len(request.prompt) // 4,
                completion_tokens=total,
                token_source="usage",
                finish_reason="stop",
                prompt_hash=request.prompt_hash,
                sampling=dict(request.sampling),
                extra={
                    "first_chunk_tokens": 1,
                    "cached_prompt_tokens": 0,
                    "collapse": {"looped_ratio": 0.0},
                    **ON_TIME,
                },
                load_id=self.load_id,
                phase_index=index,
                sequence=sequence,
                since_phase_s=sent_s - began_s,
                segment=len(self._segments()) - 1,
                chunk_us=[round(ttft_s * 1e6), *(int(time) for time in times * 1e6)],
                chunk_tokens=[1, *(int(token) for token in tokens)],
            )
        )
        return sent_s + ttft_s + decode_s

    def _disturbed(self, steps_s: np.ndarray) -> np.ndarray:
        """The steps with what the bursts add; what they add is waited for."""
        if self.engine.bursts:
            stretch = (np.cumsum(steps_s) / self.engine.bursts.length_s).astype(int)
            in_burst = self.rng.random(stretch.max(initial=0) + 1) < self.share
            slow_s = np.where(in_burst[stretch], steps_s * self.slowdown, steps_s)
            self.waited_s += float(slow_s.sum() - steps_s.sum())
            steps_s = slow_s
        self.wanted_s += float(steps_s.sum())
        return steps_s

    def _steps(self, prompt_class: str, number: int) -> tuple[np.ndarray, int]:
        """Tokens of each step after the first token, `wanted` - 1 together, and how many of them were drafted."""
        k = self.engine.drafts
        if not k:
            return np.ones(number - 1), 0
        p = self.engine.acceptance.get(prompt_class, 0.6)
        hits = self.rng.random((number - 1, k)) < p
        tokens = 1 + np.cumprod(hits, axis=1).sum(axis=1)
        ends = np.cumsum(tokens)
        steps = int(np.searchsorted(ends, number - 1)) + 1
        tokens = tokens[:steps].copy()
        tokens[-1] -= max(0, int(ends[steps - 1]) - (number - 1))
        return tokens, int(tokens.sum()) - steps

    def _segments(self) -> set[int]:
        return {mark.segment for mark in self.marks}

    def _mark(self) -> None:
        s = self.sums
        self.marks.append(
            LoadCounters(
                self.run_id,
                self.load_id,
                T0 + timedelta(seconds=self.now_s),
                len(self.marks),
                "vllm.counter",
                0,
                s["generation"],
                s["first"],
                s["itl"],
                s["drafts"],
                s["drafted"],
                s["accepted"],
                0.0,
            )
        )


def on_one_start(first: RunFacts, *later: RunFacts) -> RunFacts:
    """One run with the loads of all, an hour apart."""
    moved = [
        _shifted_load(load, first.run_id, timedelta(hours=n)) for n, one in enumerate(later, 1) for load in one.loads
    ]
    return replace(first, loads=(*first.loads, *moved))


def _shifted_load(load: LoadRecord, run_id: str, by: timedelta) -> LoadRecord:
    assert load.plan
    return replace(
        load,
        run_id=run_id,
        plan=replace(load.plan, run_id=run_id, ts=load.plan.ts + by),
        phases=tuple(replace(p, run_id=run_id, ts=p.ts + by, began_at=p.began_at + by) for p in load.phases),
        requests=tuple(replace(r, run_id=run_id, sent_at=r.sent_at + by) for r in load.requests),
        counters=tuple(replace(c, run_id=run_id, ts=c.ts + by) for c in load.counters),
    )


def repeats(engine: IdealEngine, workload: str, n: int, rng: np.random.Generator, **params: object) -> list[RunFacts]:
    """`n` starts of one configuration under the same load."""
    return [engine.run(workload, rng, params) for _ in range(n)]

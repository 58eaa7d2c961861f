"""A played start as the rows that Pitwall records: requests, phases, counters, scrapes and host samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import numpy as np

from analysis.loads.load_results import results_of
from domain import Config, JsonValue, Run, RunState, Speculation
from load_records import Load, LoadCounters, LoadPhase, RequestRecord
from samples import CounterSample, Event, HostSample, Sample
from tests.known_truth.paced_server import Answer, PacedServer, ServerStart
from workloads import REGISTRY
from workloads.plan import PlannedRequest

T0 = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
READY_S = 20.0  # from the start of the process
CORES = 16
WEIGHTS = {"files": 1, "bytes": 9, "sha256_of_headers": "h", "sha256_of_samples": "s"}
PROVENANCE = {
    "gpus": [],
    "model": {"name": "m", "files": {"config.json": {"sha256": "abc"}}, "weights": WEIGHTS},
    "package": "vllm 0.33.0",
}
NUMBERS = count()  # each run has its own hour: no two of them work at the same time


@dataclass(frozen=True)
class PlayedRun:
    """A finished run and its rows."""

    run: Run
    rows: tuple[Sample, ...]


@dataclass(frozen=True)
class PlayedArm:
    """A configuration: a name that is part of its command, a server's pace, and the load that it is put under."""

    name: str
    server: PacedServer = field(default_factory=PacedServer)
    workload: str = "ladder"
    params: dict[str, JsonValue] = field(default_factory=lambda: {"tokens": 64, "repeats": 3, "rungs": [1, 4]})
    config: dict[str, JsonValue] = field(default_factory=dict)  # fields that replace those of the name and the server
    provenance: dict[str, JsonValue] = field(default_factory=dict)  # likewise
    logged: dict[str, JsonValue] = field(default_factory=dict)  # start-up facts of its log
    ready_s: float = READY_S
    prompt_tokens: int | None = None  # of each request, as the server counts them; None: from its text
    has_results: bool = False  # the rows that Pitwall computes at the end of a load
    further_rows: Callable[[Run], Iterable[Sample]] = lambda run: ()

    def starts(self, number: int, rng: np.random.Generator) -> list[PlayedRun]:
        """Play this many starts."""
        return [self._start(rng) for _ in range(number)]

    def _start(self, rng: np.random.Generator) -> PlayedRun:
        number = next(NUMBERS)
        began = T0 + timedelta(hours=number)
        workload = REGISTRY[self.workload]
        spec = workload.spec(self.params)
        start = ServerStart(self.server, rng)
        plan = workload.plan(self.params)
        start.play(plan)
        run = Run(
            id=f"{began:%Y%m%d-%H%M%S}-000-{number:04d}",
            name=f"{self.name} #{number}",
            color=0,
            state=RunState.FINISHED,
            config=self._config(),
            workload=spec,
            machine_id="m1",
            created_at=began,
            started_at=began,
            ready_at=began + timedelta(seconds=self.ready_s),
            ended_at=began + timedelta(seconds=self.ready_s + start.now_s + 5),
            pid=number + 1000,
            pid_birth_s=float(number),
            provenance=PROVENANCE | self.provenance,
        )
        recorder = _Recorder(run, start, self.workload, self.prompt_tokens)
        rows = list(recorder.rows(spec.prompt_set_hash, spec.params))
        requests = [row for row in rows if isinstance(row, RequestRecord)]
        results = results_of(recorder.load_id, run.ended_at or began, requests) if self.has_results else ()
        facts = (
            Event(run.id, began, "startup", key, line=1, offset=0, data={"key": key, "value": value})
            for key, value in self.logged.items()
        )
        return PlayedRun(run, (*facts, *rows, *results, *self.further_rows(run)))

    def _config(self) -> Config:
        drafts, places = self.server.drafts, self.server.max_num_seqs
        argv = ("vllm", "serve", "org/model", "--additional-config", self.name, "--max-num-seqs", str(places))
        stated_by_name: dict[str, Any] = {
            "engine": "vllm",
            "model": "org/model",
            "argv": argv,
            "max_num_seqs": places,
            "speculative": Speculation(method="ngram", num_tokens=drafts) if drafts else None,
            "unknown_flags": [f"--additional-config {self.name}"],
        }
        return Config(**(stated_by_name | self.config))


class _Recorder:
    """Writes what Pitwall's client and collectors record of a start."""

    def __init__(self, run: Run, start: ServerStart, workload: str, prompt_tokens: int | None) -> None:
        self.run, self.start, self.workload = run, start, workload
        self.prompt_tokens = prompt_tokens
        self.began = (run.ready_at or T0) + timedelta(seconds=1)
        self.load_id = f"l{run.pid}"
        self.totals = _ServerTotals(start)

    def rows(self, prompt_set_hash: str | None, params: dict[str, JsonValue]) -> Iterator[Sample]:
        answers, phases = self.start.answers, self.start.phases
        planned = sum(len(played.phase.requests) for played in phases if played.phase.kind == "measure")
        yield Load(
            self.run.id, self.load_id, self.began, "pitwall", self.workload, "0.1.0", prompt_set_hash, params,
            planned, len(phases),
        )  # fmt: skip
        for number, answer in enumerate(answers):
            yield self._request(number, answer)
        for played in phases:
            yield LoadPhase(
                self.run.id, self.load_id, self._at(played.began_s + played.duration_s), played.index,
                played.phase.title, played.phase.kind, played.phase.concurrency, self._at(played.began_s),
                played.duration_s, 0.0, len(played.phase.requests), True, 0.01, 1,
            )  # fmt: skip
        for segment, at_s in enumerate(self.start.segment_s):
            yield LoadCounters(
                self.run.id, self.load_id, self._at(at_s), segment, "vllm.counter", 0, requests_running=0.0,
                **self.totals.counters_at(at_s),
            )  # fmt: skip
        for second in range(int(self.start.now_s) + 2):
            yield self._scrape(float(second))
            yield self._host_sample(float(second))

    def _request(self, number: int, answer: Answer) -> RequestRecord:
        request, times = answer.request, np.round((answer.chunk_s - answer.sent_s) * 1e6).astype(int)
        total = int(answer.chunk_tokens.sum())
        return RequestRecord(
            run_id=self.run.id,
            request_id=f"{self.load_id}-{number:04d}",
            workload=self.workload,
            phase=answer.phase.kind,
            prompt_class=request.prompt_class,
            stream=answer.stream,
            concurrency=answer.phase.concurrency,
            sent_at=self._at(answer.sent_s),
            ttft_ms=int(times[0]) / 1000,
            decode_ms=int(times[-1] - times[0]) / 1000,
            total_ms=int(times[-1]) / 1000,
            prompt_tokens=self.prompt_tokens or planned_tokens(request),
            completion_tokens=total,
            token_source="usage",
            chunks=len(times),
            finish_reason="length",
            http_status=200,
            prompt_hash=request.prompt_hash,
            sampling=dict(request.sampling),
            extra={
                **request.facts,
                "phase_title": answer.phase.title,
                "cached_prompt_tokens": 0,
                "first_chunk_tokens": 1,
                "client_wait_ms": 0.1,
                "collapse": answer.collapse.as_json(total),
            },
            load_id=self.load_id,
            phase_index=answer.phase_index,
            sequence=answer.sequence,
            since_phase_s=answer.sent_s - answer.phase_began_s,
            segment=answer.segment,
            chunk_us=np.diff(times, prepend=0).tolist(),
            chunk_tokens=answer.chunk_tokens.tolist(),
        )

    def _scrape(self, at_s: float) -> CounterSample:
        running, waiting = self.totals.requests_at(at_s)
        restarted_s = self.start.restarted_s
        is_new = restarted_s is not None and at_s >= restarted_s
        return CounterSample(
            self.run.id, self._at(at_s), 100.0 + at_s, "vllm.counter", requests_running=running,
            requests_waiting=waiting, process_start_s=self.began.timestamp() + (restarted_s or 0.0 if is_new else 0.0),
            preemptions_total=0.0, **self.totals.counters_at(at_s),
        )  # fmt: skip

    def _host_sample(self, at_s: float) -> HostSample:
        waits = self.start.server.waits
        busy = waits.run_share + waits.other_cores
        return HostSample(
            self.run.id, self._at(at_s), 100.0 + at_s, "m1", process_count=2, host_cores=CORES,
            cpu_seconds_total=waits.run_share * at_s, scheduled_seconds_total=waits.run_share * at_s,
            runnable_wait_seconds_total=self.start.wait_share * at_s, throttled_seconds_total=0.0,
            throttled_periods_total=0, host_cpu_seconds_total=CORES * at_s, host_busy_seconds_total=busy * at_s,
            host_steal_seconds_total=0.0,
        )  # fmt: skip

    def _at(self, at_s: float) -> datetime:
        return self.began + timedelta(seconds=at_s)


def planned_tokens(request: PlannedRequest) -> int:
    """Return the length of a prompt: as it is planned, else of its text."""
    planned = [text.tokens for text in (request.context, request.seeded_prompt) if text]
    return sum(planned) or max(1, len(request.text) // 4)


class _ServerTotals:
    """The server's own counters at any time; a new process counts from 0 again."""

    def __init__(self, start: ServerStart) -> None:
        answers = start.answers
        self.restarted_s = start.restarted_s
        self.drafts = start.server.drafts
        self.first_s = np.sort([answer.chunk_s[0] for answer in answers])
        self.began_s = np.sort([answer.began_s for answer in answers])
        self.sent_s = np.sort([answer.sent_s for answer in answers])
        self.ended_s = np.sort([answer.ended_s for answer in answers])
        times = np.concatenate([answer.chunk_s[1:] for answer in answers])
        order = np.argsort(times)
        self.step_s = times[order]
        self.tokens = np.concatenate([[0], np.cumsum(np.concatenate([a.chunk_tokens[1:] for a in answers])[order])])

    def counters_at(self, at_s: float) -> dict[str, Any]:
        """Return the cumulative counters of the process that runs at this time."""
        values = self._sums(at_s)
        if self.restarted_s is not None and at_s >= self.restarted_s:
            before = self._sums(self.restarted_s)
            values = {name: value - before[name] for name, value in values.items()}
        return values

    def _sums(self, at_s: float) -> dict[str, float]:
        first = float(np.searchsorted(self.first_s, at_s, "right"))
        steps = int(np.searchsorted(self.step_s, at_s, "right"))
        tokens = float(self.tokens[steps])
        values = {"generation_tokens_total": first + tokens, "first_tokens_total": first}
        values["inter_token_count_total"] = float(steps)
        if self.drafts:
            drafted = {"drafts_total": float(steps), "draft_tokens_total": float(steps * self.drafts)}
            values |= drafted | {"accepted_tokens_total": tokens - steps}
        return values

    def requests_at(self, at_s: float) -> tuple[float, float]:
        """Return the requests that run and those that wait for a place."""
        number, began, ended = (
            int(np.searchsorted(s, at_s, "right")) for s in (self.sent_s, self.began_s, self.ended_s)
        )
        return float(began - ended), float(number - began)


def with_config(played: PlayedRun, **changes: Any) -> PlayedRun:
    """Return the run with another configuration."""
    config = played.run.config.model_copy(update=changes)
    return replace(played, run=played.run.model_copy(update={"config": config}))

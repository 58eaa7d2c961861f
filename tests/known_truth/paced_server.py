"""A stand-in server of known pace under Pitwall's own loads, played in virtual time.

It is no engine: each request waits for a free place, is prefilled, and then gets its tokens step by step. What differs
between two starts, between steps and between answers is drawn from a generator that the caller seeds, so the truth of
every ratio, factor and cause is known.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

import numpy as np

from analysis.runs.collapse import Collapse
from workloads.plan import Phase, PlannedRequest

GAP_S = 0.002  # between the end of a request and the next of its stream


@dataclass(frozen=True)
class LoopingAnswers:
    """Answers that repeat themselves: how many of them, and from which share of the text on."""

    share_of_answers: float
    from_share: float = 0.0


@dataclass(frozen=True)
class CpuWaits:
    """CPU use of the server and its waits for a CPU; each start draws its waits between the two shares."""

    wait_share: tuple[float, float] = (0.0, 0.0)  # seconds of waiting per second
    run_share: float = 0.5  # seconds on a CPU per second
    other_cores: float = 0.1  # in use by other processes
    slows: bool = False  # whether a second of waiting is a second of the server


class RequestPace(NamedTuple):
    """The exact pace of one request, in seconds; `tokens_per_step` 1.0 is a server that drafts nothing."""

    ttft_s: float
    step_s: float
    tokens_per_step: float = 1.0


@dataclass(frozen=True)
class PacedServer:
    """The pace of a server. Times are in seconds, `*_sd` are standard deviations of a log."""

    step_s: float = 0.02
    drafts: int = 0
    acceptance: float = 0.6  # of each draft token, if those before it were accepted
    prefill_s: float = 0.06
    max_num_seqs: int = 256
    slow_requests: int = 0  # the first so many measured requests, as if their shapes were compiled
    slowdown: float = 3.0  # of these
    answer_share: float = 1.0  # of the requested length
    answer_sd: float = 0.0
    loops: LoopingAnswers | None = None
    start_sd: float = 0.01  # of the speed of a start
    acceptance_sd: float = 0.0  # of the acceptance of a start
    step_cv: float = 0.03  # of single steps
    waits: CpuWaits = field(default_factory=CpuWaits)
    restart_at: int | None = None  # a new process before this measured request: its counters begin at 0
    freeze: tuple[int, float] | None = None  # a measured request, and seconds before its first token
    # The exact pace of each request, by its phase and its number there; nothing of it is drawn.
    pace_of: Callable[[Phase, PlannedRequest, int], RequestPace] | None = None


@dataclass
class Answer:
    """One request as the server and its client saw it; times in seconds of virtual time."""

    phase_index: int
    phase: Phase
    request: PlannedRequest
    sequence: int
    stream: int
    segment: int
    phase_began_s: float
    sent_s: float
    began_s: float  # left the queue
    chunk_s: np.ndarray  # when each chunk arrived
    chunk_tokens: np.ndarray
    accepted: int
    collapse: Collapse

    @property
    def ended_s(self) -> float:
        return float(self.chunk_s[-1])


@dataclass(frozen=True)
class PlayedPhase:
    """When a phase began and how long it took."""

    index: int
    phase: Phase
    began_s: float
    duration_s: float


@dataclass
class ServerStart:
    """One start of a server under one plan: what it draws once, and everything that it answered."""

    server: PacedServer
    rng: np.random.Generator
    answers: list[Answer] = field(default_factory=list)
    phases: list[PlayedPhase] = field(default_factory=list)
    segment_s: list[float] = field(default_factory=list)  # when each segment began, and the end of the last
    now_s: float = 0.0
    restarted_s: float | None = None

    def __post_init__(self) -> None:
        server, rng = self.server, self.rng
        self.wait_share = float(rng.uniform(*server.waits.wait_share))
        speed = float(np.exp(rng.normal(0.0, server.start_sd)))
        wait_share = 1 - self.wait_share if server.waits.slows else 1.0
        self.step_s = server.step_s / speed / wait_share
        self.prefill_s = server.prefill_s / speed / wait_share
        self.acceptance = float(min(1.0, server.acceptance * np.exp(rng.normal(0.0, server.acceptance_sd))))
        self.measured = count()

    def play(self, plan: list[Phase]) -> None:
        """Answer every request of the plan."""
        for index, phase in enumerate(plan):
            began_s, sequence = self.now_s, count()
            for segment in phase.segments():
                self.segment_s.append(self.now_s)
                self._play_segment(index, phase, segment, sequence, began_s)
            self.phases.append(PlayedPhase(index, phase, began_s, self.now_s - began_s))
            self.now_s += 0.05
        self.segment_s.append(self.now_s)

    def _play_segment(
        self, index: int, phase: Phase, segment: tuple[PlannedRequest, ...], sequence: count[int], began_s: float
    ) -> None:
        streams = [(self.now_s, stream) for stream in range(phase.concurrency)]
        places = [self.now_s] * min(self.server.max_num_seqs, phase.concurrency)
        for request in segment:
            sent_s, stream = heapq.heappop(streams)
            admitted_s = max(sent_s, heapq.heappop(places))
            answer = self._answer(index, phase, request, next(sequence), stream, began_s, sent_s, admitted_s)
            self.answers.append(answer)
            heapq.heappush(streams, (answer.ended_s + GAP_S, stream))
            heapq.heappush(places, answer.ended_s)
        self.now_s = max(answer.ended_s for answer in self.answers[-len(segment) :]) + GAP_S

    def _answer(
        self,
        index: int,
        phase: Phase,
        request: PlannedRequest,
        sequence: int,
        stream: int,
        began_s: float,
        sent_s: float,
        admitted_s: float,
    ) -> Answer:
        server = self.server
        number = next(self.measured) if phase.kind == "measure" else -1
        if number >= 0 and number == server.restart_at:
            self.restarted_s = admitted_s
        slow = server.slowdown if 0 <= number < server.slow_requests else 1.0
        stalled_s = server.freeze[1] if server.freeze and number == server.freeze[0] else 0.0
        length = request.max_tokens * server.answer_share * np.exp(self.rng.normal(0.0, server.answer_sd))
        if server.pace_of:
            pace = server.pace_of(phase, request, sequence)
            tokens, steps = exact_steps(request.max_tokens, pace)
            accepted = int((tokens[1:] - 1).sum())
            return Answer(
                index, phase, request, sequence, stream, len(self.segment_s) - 1, began_s, sent_s, admitted_s,
                admitted_s + np.cumsum(steps), tokens, accepted, Collapse("none", request.max_tokens),
            )  # fmt: skip
        tokens, accepted = self._steps(max(3, min(request.max_tokens, round(float(length)))))
        steps = self.step_s * slow * np.maximum(0.2, 1 + self.rng.normal(0.0, server.step_cv, len(tokens)))
        steps[0] += self.prefill_s * slow + stalled_s
        return Answer(
            index, phase, request, sequence, stream, len(self.segment_s) - 1, began_s, sent_s, admitted_s,
            admitted_s + np.cumsum(steps), tokens, accepted, self._collapse(int(tokens.sum())),
        )  # fmt: skip

    def _steps(self, length: int) -> tuple[np.ndarray, int]:
        """Return the tokens of each step, the first of which makes one, and how many of them were drafted."""
        k = self.server.drafts
        if not k:
            return np.ones(length, int), 0
        hits = self.rng.random((length - 1, k)) < self.acceptance
        tokens = 1 + np.cumprod(hits, axis=1).sum(axis=1)
        ends = np.cumsum(tokens)
        steps = int(np.searchsorted(ends, length - 1)) + 1
        tokens = tokens[:steps].copy()
        tokens[-1] -= max(0, int(ends[steps - 1]) - (length - 1))
        return np.concatenate([[1], tokens]), int(tokens.sum()) - steps

    def _collapse(self, words: int) -> Collapse:
        loops = self.server.loops
        if not loops or self.rng.random() >= loops.share_of_answers:
            return Collapse("none", words)
        onset = round(loops.from_share * words)
        return Collapse("collapsed", words, onset, 6, words - onset, "so it goes on and on")


def exact_steps(length: int, pace: RequestPace) -> tuple[np.ndarray, np.ndarray]:
    """Return the tokens and the seconds of each step of an answer; the first step makes its first token."""
    steps = int(np.ceil((length - 1) / pace.tokens_per_step))
    ends = np.minimum(np.floor(pace.tokens_per_step * np.arange(1, steps + 1) + 1e-9), length - 1).astype(int)
    if steps:
        ends[-1] = length - 1
    tokens = np.concatenate([[1], np.diff(ends, prepend=0)])
    return tokens, np.concatenate([[pace.ttft_s], np.full(steps, pace.step_s)])

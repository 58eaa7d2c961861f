"""Shape of agent sessions from a seed, for users without a recording.

The defaults are figures of coding agents that others published: a first prompt of 20,000 tokens (Claude's agent on
SWE-bench Pro, in the data set netpreme/coding_agent_traces); 33 turns, which reach 80,000 tokens at turn 30, 131
prompt tokens per answer token, and 94.2 % of the prompts from the cache (vLLM's blog of 2026-05-06 on Codex on
SWE-bench Pro, 610 traces). The break share is the one with which these lengths give that share of cached tokens.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from pydantic import BaseModel, Field

from analysis.sessions.agent_shape import ANSWER, AgentShape, ShapeHeader, ShapeRequest, ShapeSpan, SharedPrefix
from analysis.sessions.prompt_part import PartKind

SPREAD = (0.5, 1.5)  # of lengths and pauses, around their mean
SUBAGENT_PROMPT = 0.5  # of the first prompt; its tools and system text are the agent's
SHARED_PROMPT = 0.4  # of the first prompt: what sessions and subagents have in common


class SeededAgents(BaseModel):
    """Parameters of generated agent sessions; lengths are means."""

    sessions: int = Field(default=1, ge=1, le=64)
    turns: int = Field(default=33, ge=1, le=1000)
    first_prompt_tokens: int = Field(default=20_000, ge=20, le=1_000_000)
    tool_result_tokens: int = Field(default=1700, ge=1, le=100_000)
    output_tokens: int = Field(default=340, ge=1, le=100_000)
    subagents: int = Field(default=0, ge=0, le=16)  # of each session, all at once, after half of its turns
    subagent_turns: int = Field(default=5, ge=1, le=200)
    prefix_breaks: float = Field(default=0.02, ge=0.0, le=1.0)  # share of turns whose prompt changes somewhere before
    pause_s: float = Field(default=2.0, ge=0.0, le=3600.0)  # of a tool


@dataclass(slots=True)
class _Generator:
    """Generates the requests of all sessions, one after the other."""

    params: SeededAgents
    rng: random.Random
    requests: list[ShapeRequest] = field(default_factory=list)
    sessions: int = 0

    def run(self) -> None:
        """Generate all sessions; they begin together."""
        for _ in range(self.params.sessions):
            self._add_session()

    def _add_session(self) -> None:
        middle = (self.params.turns + 1) // 2 if self.params.subagents else 0
        last = self._begin(self.params.first_prompt_tokens, ())
        session = self.requests[last].session
        joined: tuple[int, ...] = ()
        for turn in range(2, self.params.turns + 1):
            last = self._continue(session, turn, last, joined)
            joined = self._add_subagents(last) if turn == middle else ()

    def _add_subagents(self, parent: int) -> tuple[int, ...]:
        """Add the subagents that a turn starts; returns their last requests, for which the agent waits."""
        ends = []
        for _ in range(self.params.subagents):
            tokens = max(20, round(self.params.first_prompt_tokens * SUBAGENT_PROMPT))
            last = self._begin(tokens, (parent,))
            session = self.requests[last].session
            for turn in range(2, self.params.subagent_turns + 1):
                last = self._continue(session, turn, last, ())
            ends.append(last)
        return tuple(ends)

    def _begin(self, tokens: int, waits_for: tuple[int, ...]) -> int:
        """Add the first request of a session; all begin with the same tools and system text."""
        shared = max(1, min(tokens - 1, round(self.params.first_prompt_tokens * SHARED_PROMPT)))
        task = ShapeSpan(f"task {self.sessions}", PartKind.TEXT.value, tokens - shared)
        is_first = not self.requests
        request = ShapeRequest(
            session=self.sessions,
            turn=1,
            shares=None if is_first else SharedPrefix(0, shared),
            spans=(ShapeSpan("system", PartKind.SYSTEM.value, shared), task) if is_first else (task,),
            output_tokens=self._length(self.params.output_tokens),
            waits_for=waits_for,
            arrives_s=None if waits_for else 0.0,
        )
        self.sessions += 1
        return self._append(request)

    def _continue(self, session: int, turn: int, last: int, joined: tuple[int, ...]) -> int:
        """Add the next request of a session: its answer and a tool's result follow, or the prompt broke before."""
        before = self.requests[last]
        answer = ShapeSpan(f"answer {last}", ANSWER, before.output_tokens)
        result = ShapeSpan(
            f"result {len(self.requests)}", PartKind.TOOL_RESULT.value, self._length(self.params.tool_result_tokens)
        )
        shares, spans = SharedPrefix(last, before.prompt_tokens), (answer, result)
        if self.rng.random() < self.params.prefix_breaks:
            place = self.rng.randint(1, before.prompt_tokens)
            changed_tokens = before.prompt_tokens - place + before.output_tokens
            changed = ShapeSpan(f"changed {len(self.requests)}", PartKind.TEXT.value, changed_tokens)
            shares, spans = SharedPrefix(last, place), (changed, result)
        request = ShapeRequest(
            session=session,
            turn=turn,
            follows=last,
            shares=shares,
            spans=spans,
            output_tokens=self._length(self.params.output_tokens),
            waits_for=(last, *joined),
            pause_s=round(self.params.pause_s * self.rng.uniform(*SPREAD), 3),
        )
        return self._append(request)

    def _append(self, request: ShapeRequest) -> int:
        self.requests.append(request)
        return len(self.requests) - 1

    def _length(self, mean: int) -> int:
        return max(1, round(mean * self.rng.uniform(*SPREAD)))


def seeded_shape(params: SeededAgents, seed: int) -> AgentShape:
    """Return generated agent sessions, equal for equal parameters and seeds."""
    generator = _Generator(params, random.Random(f"{seed} agents"))
    generator.run()
    return AgentShape(tuple(generator.requests), ShapeHeader(source="generated"))

"""A scripted agent in front of a real server: recorded, its prefix cache explained, its shape replayed.

The agent speaks `/v1/messages` and `/v1/responses` and has two subagents at once; a block of its system text changes,
and a tool is added before others. Each planted cause must be named, with the cached tokens that the server reports
within a block of its cache; then a restarted server must compute as many tokens of the replay. Once the template writes
tools before the messages, once behind them: then every turn computes them again.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import uvloop

from analysis.sessions.causes import PrefixMiss, ServerEvidence, prefix_misses
from analysis.sessions.recorded_shape import shape_of
from analysis.sessions.turns import Turn, turns_of
from load_records import RequestRecord
from scripts.vllm.check_vllm_loads import BLOCK_TOKENS, TEMPLATE, Demand, counters
from tests.workloads.recording.agent_requests import Agent
from tests.workloads.recording.recorders import Recording, recorder_of
from tests.workloads.recording.test_agent_replay import computed, replayed, send, subagent_of

CONTEXT_TOKENS, MODEL = 16_384, "tiny"
TOOLS_FIRST = (
    "<s>{% for t in tools or [] %}{{ t | tojson }}\n{% endfor %}"
    "{% for m in messages %}{{ m.role }}: {{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}\n{% endfor %}assistant:"
)
MOST_DIFFERENCE = 0.03  # of the computed tokens
SYSTEM, TOOL = "system", "tool"  # parts that change


@dataclass(frozen=True)
class AgentServer:
    """An engine, how its server is started in a folder with a template, and its counter of cached prompt tokens."""

    engine: str
    start: Callable[[Path, str], AbstractContextManager[str]]
    cached_metric: str


async def work(recording: Recording) -> None:
    """Three turns, two subagents at once, a turn, a changed system text, a turn, another tool, and a turn."""
    agent = Agent(1)
    agent.tools = agent.tools[:2]
    agent.system = agent.text(60)
    for _ in range(3):
        await send(recording, agent, "messages", model=MODEL)
    subagents = [(subagent_of(agent, 2), "messages"), (subagent_of(agent, 3), "responses")]

    async def run(subagent: Agent, protocol: str) -> None:
        for _ in range(2):
            await send(recording, subagent, protocol, model=MODEL)

    await asyncio.gather(*(run(*pair) for pair in subagents))
    await send(recording, agent, "messages", model=MODEL)
    agent.system = agent.system[:300] + "X" + agent.system[301:]
    for _ in range(2):
        await send(recording, agent, "messages", model=MODEL)
    agent.tools = [agent.tools[0], agent.tool("browser2"), agent.tools[1]]
    for _ in range(2):
        await send(recording, agent, "messages", model=MODEL)


async def recorded(url: str, folder: Path) -> list[RequestRecord]:
    async with recorder_of(url, folder) as recording:
        await work(recording)
    return sorted(recording.rows, key=lambda row: row.sent_at)


def causes(turns: Sequence[Turn], misses: Sequence[PrefixMiss]) -> Iterator[Demand]:
    """Check the named causes, and what the other turns compute."""
    differences = [miss.cause.difference if miss.cause else None for miss in misses]
    kinds = [difference.kind.value if difference else "not known" for difference in differences]
    yield Demand("recording", "both planted causes, no other", ", ".join(kinds), kinds == [SYSTEM, TOOL])
    missing = {miss.turn.request_id for miss in misses}
    beyond = [
        (turn.computed_tokens or 0) - (turn.prompt_tokens or 0) + (turn.follows.prompt_tokens or 0)
        for turn in turns
        if turn.follows and turn.request_id not in missing
    ]
    is_within = len(beyond) > 1 and all(-BLOCK_TOKENS <= tokens <= BLOCK_TOKENS for tokens in beyond)
    yield Demand("recording", "other turns compute what is new, within a block", f"{beyond} more", is_within)


def tree(turns: Sequence[Turn], hits: float) -> Iterator[Demand]:
    """Check the sessions, and the server's own count of cached tokens."""
    sessions = {turn.session for turn in turns}
    yield Demand("recording", "an agent and two subagents", f"{len(sessions)} sessions", len(sessions) == 3)
    cached = sum(turn.cached_tokens or 0 for turn in turns)
    yield Demand("recording", "the server counts the same hits", f"{hits:.0f} and {cached}", abs(hits - cached) < 1)


def replay(rows: Sequence[RequestRecord], again: Sequence[RequestRecord], place: str) -> Iterator[Demand]:
    """Check that a cold server computes as much of the replay as it did when recorded."""
    lengths = [row.prompt_tokens for row in again] == [row.prompt_tokens for row in rows]
    yield Demand(f"replay, tools {place}", "prompts are as long as recorded", f"{len(again)} requests", lengths)
    before, after = sum(computed(rows)), sum(computed(again))
    is_near = abs(after / before - 1) < MOST_DIFFERENCE
    yield Demand(f"replay, tools {place}", "computed tokens within 3 %", f"{after:,} of {before:,}", is_near)


def demands(server: AgentServer, folder: Path) -> Iterator[Demand]:
    """Check a server with tools before and behind the messages."""
    for place, template in (("before", TOOLS_FIRST), ("behind", TEMPLATE)):
        yield from _demands(server, folder / place, place, template)


def _demands(server: AgentServer, folder: Path, place: str, template: str) -> Iterator[Demand]:
    """Record on one start of the server, and replay on another; folder: is made."""
    folder.mkdir()
    with server.start(folder, template) as url:
        before = counters(url).get(server.cached_metric, 0.0)
        rows = uvloop.run(recorded(url, folder))  # as the recorder's own process does
        hits = counters(url)[server.cached_metric] - before
    if failed := [row.error_text for row in rows if row.error_kind]:
        sys.exit(f"{len(failed)} of {len(rows)} requests failed: {failed[0]}")
    turns = turns_of(rows)
    yield from tree(turns, hits)
    if template == TOOLS_FIRST:
        yield from causes(turns, prefix_misses(turns, ServerEvidence(is_caching=True)))
    with server.start(folder, template) as url:
        again = replayed(url, folder / "replay", shape_of(turns), engine=server.engine)
    yield from replay(rows, again, place)

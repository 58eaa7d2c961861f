"""`make test-vllm`: records a scripted agent in front of a real vLLM, explains its prefix cache, and replays its shape.

The agent speaks `/v1/messages` and `/v1/responses` and has two subagents at once; a block of its system text changes,
and a tool is added before others. Each planted cause must be named, with the cached tokens that vLLM reports within a
block of its cache; then a restarted server must compute as many tokens of the replay. Prints a table, exits 1 if a
demand is not met.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from analysis.sessions.causes import PrefixMiss, ServerEvidence, prefix_misses
from analysis.sessions.recorded_shape import shape_of
from analysis.sessions.turns import Turn, turns_of
from load_records import RequestRecord
from scripts.tools.tool_demands import table
from scripts.vllm.check_vllm_loads import BLOCK_TOKENS, Demand, counters, serving
from tests.workloads.recording.agent_requests import Agent
from tests.workloads.recording.recorders import Recording, recorder_of
from tests.workloads.recording.test_agent_replay import computed, replayed, send, subagent_of

CONTEXT_TOKENS, MODEL = 16_384, "tiny"
MOST_DIFFERENCE = 0.03  # of the computed tokens
SYSTEM, TOOL = "system", "tool"  # parts that change


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


def causes(turns: Sequence[Turn], misses: Sequence[PrefixMiss], hits: float) -> Iterator[Demand]:
    """Check the tree, the named causes, and the server's own count of cached tokens."""
    sessions = {turn.session for turn in turns}
    yield Demand("recording", "an agent and two subagents", f"{len(sessions)} sessions", len(sessions) == 3)
    named = [(m.cause.difference.kind.value, m.cause.difference.change) if m.cause and m.cause.difference else m
             for m in misses]  # fmt: skip
    kinds = [cause[0] for cause in named if isinstance(cause, tuple)]
    yield Demand("recording", "both planted causes, no other", str(named), kinds == [SYSTEM, TOOL])
    cached = [turn.cached_tokens or 0 for turn in turns]
    yield Demand(
        "recording", "the server counts the same hits", f"{hits:.0f} and {sum(cached)}", abs(hits - sum(cached)) < 1
    )
    shares = [
        (turn.prompt_tokens or 0) - (turn.cached_tokens or 0)
        for turn in turns
        if turn.depth and turn not in missed(misses)
    ]
    news = [new_tokens(turns, turn) for turn in turns if turn.depth and turn not in missed(misses)]
    beyond = [share - new for share, new in zip(shares, news, strict=True)]
    is_within = all(-BLOCK_TOKENS <= more <= BLOCK_TOKENS for more in beyond)
    yield Demand("recording", "other turns compute what is new, within a block", str(beyond), is_within)


def missed(misses: Sequence[PrefixMiss]) -> list[Turn]:
    return [miss.turn for miss in misses]


def new_tokens(turns: Sequence[Turn], turn: Turn) -> int:
    """Return what the turn's prompt adds to that of the turn before it on its branch."""
    before = max(
        (other for other in turns if other.session == turn.session and other.depth < turn.depth),
        key=lambda other: other.depth,
    )
    return (turn.prompt_tokens or 0) - (before.prompt_tokens or 0)


def replay(rows: Sequence[RequestRecord], again: Sequence[RequestRecord]) -> Iterator[Demand]:
    """Check that a cold server computes as much of the replay as it did when recorded."""
    lengths = [row.prompt_tokens for row in again] == [row.prompt_tokens for row in rows]
    yield Demand("replay", "prompts are as long as recorded", f"{len(again)} requests", lengths)
    before, after = sum(computed(rows)), sum(computed(again))
    share = abs(after / before - 1)
    yield Demand("replay", "computed tokens within 3 %", f"{after:,} of {before:,}", share < MOST_DIFFERENCE)


def check(vllm: Path, model: Path, folder: Path) -> list[Demand]:
    (folder / "first").mkdir()
    with serving(vllm, model, folder / "first", CONTEXT_TOKENS) as url:
        before = counters(url).get("vllm:prefix_cache_hits_total", 0.0)
        rows = asyncio.run(recorded(url, folder / "first"))
        hits = counters(url)["vllm:prefix_cache_hits_total"] - before
    if failed := [row.error_text for row in rows if row.error_kind]:
        sys.exit(f"{len(failed)} of {len(rows)} requests failed: {failed[0]}")
    turns = turns_of(rows)
    demands = list(causes(turns, prefix_misses(turns, ServerEvidence(is_caching=True)), hits))
    (folder / "second").mkdir()
    with serving(vllm, model, folder / "second", CONTEXT_TOKENS) as url:
        again = replayed(url, folder / "second" / "replay", shape_of(turns), engine="vllm")
    return [*demands, *replay(rows, again)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vllm", type=Path, help="the environment that scripts/install_vllm.sh made")
    parser.add_argument("model", type=Path, help="the folder that scripts/vllm/make_tiny_llama.py wrote")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        demands = check(flags.vllm.absolute(), flags.model.absolute(), Path(scratch))
    rows = [[*demand[:3], "yes" if demand.is_met else "NO"] for demand in demands]
    print(table(["load", "demand", "seen", "met"], rows))
    return int(not all(demand.is_met for demand in demands))


if __name__ == "__main__":
    sys.exit(main())

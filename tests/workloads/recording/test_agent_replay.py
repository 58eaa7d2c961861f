"""Agent sessions recorded on a real llama.cpp server and replayed by their shape on the same server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from analysis.sessions.agent_shape import ANSWER, AgentShape, ShapeRequest, ShapeSpan, SharedPrefix
from analysis.sessions.recorded_shape import shape_of
from analysis.sessions.turns import turns_of
from demo.model import ModelFiles
from load_records import RequestRecord, Result
from tests.demo_engine import DemoServer, running_demo
from tests.ports import free_ports
from tests.workloads.recording.agent_requests import Agent
from tests.workloads.recording.recorders import Recording, post, recorder_of
from tests.workloads.test_runner import Job
from workloads.requests.bodies import messages_body, responses_body
from workloads.requests.protocols import PATHS
from workloads.requests.records import parse_line
from workloads.texts.shape_file import write_shape

MOST_DIFFERENCE = 0.03  # of the computed tokens


async def send(
    recording: Recording,
    agent: Agent,
    protocol: str,
    answer_tokens: int = 3,
    echoes: bool = False,
    model: str = "demo",
) -> None:
    """Send the agent's next request in this protocol.

    It then goes on with a tool call of its script, or (`echoes`) with the server's answer as real agents do.
    """
    system = {"role": "system", "content": agent.system}
    make = messages_body if protocol == "messages" else responses_body
    body = {"model": model, **make([system, *agent.messages], agent.tools)}
    body["max_tokens" if protocol == "messages" else "max_output_tokens"] = answer_tokens
    status, (answer, _) = await post(recording, body, PATHS[protocol])
    assert status == 200, answer
    if not echoes:
        agent.call()
        return
    blocks = json.loads(answer)["content"]
    text = "".join(block.get("text") or block.get("thinking") or "" for block in blocks)
    agent.messages += [{"role": "assistant", "content": text}, {"role": "user", "content": agent.text(60)}]


def subagent_of(agent: Agent, seed: int) -> Agent:
    """A subagent with the tools and the system text of the agent, and a task of its own."""
    subagent = Agent(seed)
    subagent.system, subagent.tools = agent.system, agent.tools
    return subagent


async def work(recording: Recording) -> None:
    """Three turns of an agent, two subagents at once, and two more turns, before which a system block changed."""
    agent = Agent(1)
    for _ in range(3):
        await send(recording, agent, "messages")
    subagents = [(subagent_of(agent, 2), "messages"), (subagent_of(agent, 3), "responses")]

    async def run(subagent: Agent, protocol: str) -> None:
        # Long answers: if the first ended before the second began, the server could give both the same slot.
        for _ in range(3):
            await send(recording, subagent, protocol, answer_tokens=40)
            await asyncio.sleep(0.2)

    await asyncio.gather(*(run(*pair) for pair in subagents))
    await send(recording, agent, "messages")
    agent.system = agent.system[:700] + "X" + agent.system[701:]
    await send(recording, agent, "messages")


def computed(rows: Sequence[RequestRecord]) -> list[int]:
    return [(row.prompt_tokens or 0) - int(row.extra["cached_prompt_tokens"]) for row in rows]


async def recorded(base_url: str, folder: Path) -> list[RequestRecord]:
    async with recorder_of(base_url, folder) as recording:
        await work(recording)
    return recording.rows


def replayed(
    base_url: str, folder: Path, shape: AgentShape, engine: str = "llamacpp", **params: Any
) -> list[RequestRecord]:
    """The requests of a replay through `./pitwall load`."""
    folder.mkdir()
    write_shape(folder / "shape.jsonl", shape)
    fields = {"file": str(folder / "shape.jsonl"), **params}
    job = Job(folder, base_url, engine=engine, workload="agent-replay", params=fields)
    status, said = job.run()
    assert (status, said) == (0, ""), (status, said)
    return sorted(job.rows, key=lambda row: row.sequence or 0)


def results(folder: Path) -> dict[str, float | None]:
    """The values of the replay as a whole, by metric."""
    lines = map(parse_line, (folder / "requests.jsonl").read_text().splitlines())
    return {line.metric: line.value for line in lines if isinstance(line, Result) and line.statistic == "total"}


@contextmanager
def cold_server(model: ModelFiles, folder: Path) -> Iterator[str]:
    """A real server with four slots and nothing in its cache."""
    (port,) = free_ports(1)
    argv = ["-m", str(model.target), "-np", "4", "-c", "65536"]
    with running_demo(argv, port, folder / f"server-{port}.log") as server:
        yield server.base_url


@pytest.mark.engine
@pytest.mark.wide
def test_replay_computes_what_the_recording_computed(tiny_model: ModelFiles, tmp_path: Path) -> None:
    with cold_server(tiny_model, tmp_path) as base_url:
        rows = sorted(asyncio.run(recorded(base_url, tmp_path)), key=lambda row: row.sent_at)
    shape = shape_of(turns_of(rows))
    assert shape.computed_tokens == sum(computed(rows))
    with cold_server(tiny_model, tmp_path) as base_url:
        again = replayed(base_url, tmp_path / "replay", shape)
    assert [row.prompt_tokens for row in again] == [row.prompt_tokens for row in rows]
    assert [row.completion_tokens for row in again] == [row.completion_tokens for row in rows]
    assert abs(sum(computed(again)) / sum(computed(rows)) - 1) < MOST_DIFFERENCE
    totals = results(tmp_path / "replay")
    assert totals["computed_prompt_tokens"] == sum(computed(again))
    assert totals["recorded_computed_prompt_tokens"] == sum(computed(rows))
    turns, turns_again = turns_of(rows), turns_of(again)
    assert sorted(turn.depth for turn in turns_again) == sorted(turn.depth for turn in turns)
    assert len({turn.session for turn in turns_again}) == len({turn.session for turn in turns}) == 3


@pytest.mark.engine
@pytest.mark.parametrize(
    ("answers", "reused_tokens"), [pytest.param("generated", 0, marks=pytest.mark.wide), ("the server's own", 59)]
)
def test_answers_of_a_replay(demo_server: DemoServer, tmp_path: Path, answers: str, reused_tokens: int) -> None:
    """A server has computed all tokens of its answer but the last one."""
    first = ShapeRequest(session=0, turn=1, spans=(ShapeSpan("first", "text", 300),), output_tokens=60)
    answer, result = ShapeSpan("answer", ANSWER, 60), ShapeSpan("result", "tool_result", 200)
    second = ShapeRequest(
        session=0,
        turn=2,
        follows=0,
        shares=SharedPrefix(0, 300),
        spans=(answer, result),
        output_tokens=5,
        waits_for=(0,),
    )
    rows = replayed(demo_server.base_url, tmp_path / "replay", AgentShape((first, second)), answers=answers)
    assert [(row.prompt_tokens, row.completion_tokens) for row in rows] == [(300, 60), (560, 5)]
    assert rows[1].extra["cached_prompt_tokens"] == pytest.approx(300 + reused_tokens, abs=2)
    assert rows[0].extra["cached_prompt_tokens"] < 20, "a cold replay has other words than the one before"
    totals = results(tmp_path / "replay")
    assert totals["computed_prompt_tokens"] == sum(computed(rows)) and "recorded_computed_prompt_tokens" not in totals
    turns = turns_of(rows)
    assert [(turn.session, turn.depth) for turn in turns] == [(rows[0].request_id, 0), (rows[0].request_id, 1)]
    requests = shape_of(turns).requests
    assert [r.prompt_tokens for r in requests] == [300, 560] and requests[1].shares == SharedPrefix(0, 300)


@pytest.mark.engine
@pytest.mark.wide
def test_answers_that_were_computed_again_are_generated(tiny_model: ModelFiles, tmp_path: Path) -> None:
    """The template of this server renders an answer otherwise than the model wrote it."""

    async def chat(base_url: str) -> list[RequestRecord]:
        async with recorder_of(base_url, tmp_path) as recording:
            agent = Agent(5)
            for _ in range(4):
                await send(recording, agent, "messages", 120, echoes=True)
        return recording.rows

    with cold_server(tiny_model, tmp_path) as base_url:
        rows = asyncio.run(chat(base_url))
    shape = shape_of(turns_of(rows))
    assert shape.cached_answer_tokens == 0
    with cold_server(tiny_model, tmp_path) as base_url:
        again = replayed(base_url, tmp_path / "replay", shape, answers="the server's own")
    assert computed(again) == pytest.approx(computed(rows), abs=2)

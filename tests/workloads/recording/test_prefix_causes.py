"""Recordings of a real llama.cpp whose prefix breaks for a known cause, which the analysis names."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from analysis.sessions.causes import CauseKind, PrefixMiss, ServerEvidence, prefix_misses
from analysis.sessions.difference import Change
from analysis.sessions.prompt_part import PartKind
from analysis.sessions.turns import Turn, turns_of
from demo.model import ModelFiles
from load_records import RequestRecord
from tests.demo_engine import DemoServer, running_demo
from tests.ports import free_ports
from tests.workloads.recording.agent_requests import Agent, Body, without
from tests.workloads.recording.recorders import post, recorder_of

TEMPLATE = Path(__file__).parent / "agent_template.jinja"
ONE_SLOT = ServerEvidence(slots=1)
BLOCK_TOKENS = 32

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def one_slot(tiny_model: ModelFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """One slot, no memory for prompts that left it, and a template that writes tools and drops earlier thinking."""
    argv = [
        "-m",
        str(tiny_model.target),
        "-np",
        "1",
        "-c",
        "16384",
        "-cram",
        "0",
        "--chat-template-file",
        str(TEMPLATE),
    ]
    with running_demo(argv, free_ports(1)[0], tmp_path_factory.mktemp("one-slot") / "server.log") as server:
        yield server


def recorded(server: DemoServer, folder: Path, bodies: list[Body]) -> list[RequestRecord]:
    """The records of these requests, sent one after the other."""

    async def run() -> list[RequestRecord]:
        async with recorder_of(server.base_url, folder) as recording:
            for body in bodies:
                status, (answer, _) = await post(recording, body)
                assert status == 200, answer
        return recording.rows

    rows = asyncio.run(run())
    assert [row.error_kind for row in rows] == [None] * len(bodies)
    return rows


def misses_of(rows: list[RequestRecord], evidence: ServerEvidence = ONE_SLOT) -> tuple[list[Turn], list[PrefixMiss]]:
    turns = turns_of(rows)
    return turns, prefix_misses(turns, evidence)


def system_at_its_start(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.system = "It is 11:05. " + agent.system
    return [*bodies, agent.body()]


def system_further_on(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.system = agent.system[:600] + "CHANGED" + agent.system[607:]
    return [*bodies, agent.body()]


def tool_before_others(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.tools.insert(1, agent.tool("fetch"))
    return [*bodies, agent.body()]


def tool_removed(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.tools = without(agent.tools, 1)
    return [*bodies, agent.body()]


def tool_changed(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.tools[2] = agent.tool("edit")
    return [*bodies, agent.body()]


def tools_reordered(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    agent.tools = [agent.tools[0], agent.tools[3], agent.tools[2], agent.tools[1]]
    return [*bodies, agent.body()]


def result_shortened(agent: Agent) -> list[Body]:
    bodies = agent.turns(4)
    agent.messages[2] = agent.messages[2] | {"content": "[cleared to save context]"}
    return [*bodies, agent.body()]


def message_changed(agent: Agent) -> list[Body]:
    bodies = agent.turns(4)
    agent.messages[4] = agent.messages[4] | {"content": agent.text(100)}
    return [*bodies, agent.body()]


def oldest_removed(agent: Agent) -> list[Body]:
    bodies = agent.turns(6)
    agent.messages = agent.messages[:1] + agent.messages[3:]
    return [*bodies, agent.body()]


def message_inserted(agent: Agent) -> list[Body]:
    bodies = agent.turns(4)
    agent.messages.insert(3, {"role": "user", "content": "Reminder: " + agent.text(10)})
    return [*bodies, agent.body()]


def cache_refused(agent: Agent) -> list[Body]:
    return [*agent.turns(3), agent.body(cache_prompt=False)]


CONTENT = {  # what the agent does -> the part that differs: its kind, its name and its number, and the change
    system_at_its_start: (PartKind.SYSTEM, None, 1, Change.CHANGED),
    system_further_on: (PartKind.SYSTEM, None, 1, Change.CHANGED),
    tool_before_others: (PartKind.TOOL, "fetch", 2, Change.ADDED),
    tool_removed: (PartKind.TOOL, "browser", 2, Change.REMOVED),
    tool_changed: (PartKind.TOOL, "edit", 3, Change.CHANGED),
    tools_reordered: (PartKind.TOOL, "grep", 2, Change.REORDERED),
    result_shortened: (PartKind.TOOL_RESULT, None, 3, Change.SHORTENED),
    message_changed: (PartKind.TOOL_RESULT, None, 5, Change.CHANGED),
    oldest_removed: (PartKind.TOOL_CALL, "bash", 2, Change.REMOVED),
    message_inserted: (PartKind.TEXT, "user", 4, Change.ADDED),
    cache_refused: (PartKind.SETTING, "cache_prompt", 2, Change.ADDED),
}


LONG = [pytest.param(act, id=act.__name__, marks=pytest.mark.wide) for act in CONTENT if act is not tool_before_others]


@pytest.mark.parametrize("act", [pytest.param(tool_before_others, id="tool_before_others"), *LONG])
def test_changed_part_is_named(act: Callable[[Agent], list[Body]], one_slot: DemoServer, tmp_path: Path) -> None:
    bodies = act(Agent(list(CONTENT).index(act)))
    turns, misses = misses_of(recorded(one_slot, tmp_path, copy.deepcopy(bodies)))
    assert {turn.session for turn in turns} == {turns[0].session} and {turn.branch for turn in turns} == {0}
    (miss,) = misses
    assert miss.turn is turns[-1] and miss.cause and miss.cause.difference, miss
    difference = miss.cause.difference
    assert (difference.kind, difference.name, difference.number, difference.change) == CONTENT[act]
    assert (difference.equal_bytes == 512) == (act is system_further_on)
    computed_before = turns[-2].prompt_tokens or 0
    assert 0 < miss.excess_tokens <= computed_before - (miss.turn.cached_tokens or 0)


def as_it_should_be(agent: Agent) -> list[Body]:
    return agent.turns(5)


def sent_again(agent: Agent) -> list[Body]:
    bodies = agent.turns(3)
    return [*bodies, bodies[-1]]


def side_question(agent: Agent) -> list[Body]:
    """A question about the chat so far, after which the chat goes on without it."""
    bodies = agent.turns(3)
    messages = [*agent.messages[:-2], {"role": "user", "content": "What is this chat about?"}]
    agent_goes_on = agent.body()
    return [*bodies, agent.body(messages=[{"role": "system", "content": agent.system}, *messages]), agent_goes_on]


def key_order_changed(agent: Agent) -> list[Body]:
    """The same tool, whose fields the client wrote in another order."""
    bodies = agent.turns(3)
    function = agent.tools[2]["function"]
    agent.tools[2] = {"type": "function", "function": dict(reversed(function.items()))}
    return [*bodies, agent.body()]


@pytest.mark.wide
@pytest.mark.parametrize("act", [as_it_should_be, sent_again, side_question, key_order_changed])
def test_no_cause_is_named_without_a_miss(
    act: Callable[[Agent], list[Body]], one_slot: DemoServer, tmp_path: Path
) -> None:
    """llama.cpp reads tools and writes them anew: fields in another order are another text and the same prompt."""
    turns, misses = misses_of(recorded(one_slot, tmp_path, act(Agent(100))))
    assert misses == [] and len({turn.session for turn in turns}) == 1
    for turn in turns[1:]:
        follows = turn.follows
        assert follows and turn.cached_tokens is not None and turn.context_tokens
        if turn.branch == follows.branch and act is not sent_again:
            assert abs(turn.cached_tokens - (follows.prompt_tokens or 0)) <= BLOCK_TOKENS
    assert max(turn.branch for turn in turns) == (act is side_question)


def test_another_session_took_the_slot(one_slot: DemoServer, tmp_path: Path) -> None:
    agent, other_agent = Agent(1), Agent(2)
    bodies = agent.turns(3)
    rows = recorded(one_slot, tmp_path, [*bodies, other_agent.body(), agent.body()])
    turns, (miss,) = misses_of(rows)
    assert miss.turn is turns[-1] and miss.cause and miss.cause.kind is CauseKind.SLOT_TAKEN
    assert miss.cause.other_requests == 1 and turns[3].session != turns[0].session
    assert miss.excess_tokens == (turns[2].prompt_tokens or 0) - (miss.turn.cached_tokens or 0) > 500
    _, (unexplained,) = misses_of(rows, ServerEvidence())
    assert (unexplained.cause, unexplained.candidates) == (None, ()), "without the number of slots nothing is known"
    _, (many,) = misses_of(rows, ServerEvidence(slots=4))
    assert many.cause is None, "one other session does not take four slots"


@pytest.mark.wide
def test_two_causes_that_fit_are_not_known(one_slot: DemoServer, tmp_path: Path) -> None:
    agent, other_agent = Agent(3), Agent(4)
    bodies = agent.turns(3)
    agent.system = "It is 11:05. " + agent.system
    rows = recorded(one_slot, tmp_path, [*bodies, other_agent.body(), agent.body()])
    _, (miss,) = misses_of(rows)
    assert miss.cause is None
    assert [candidate.kind for candidate in miss.candidates] == [CauseKind.CONTENT, CauseKind.SLOT_TAKEN]


@pytest.mark.wide
def test_tool_and_system_text_that_both_changed_are_not_told_apart(one_slot: DemoServer, tmp_path: Path) -> None:
    agent = Agent(5)
    bodies = agent.turns(3)
    agent.system, agent.tools = "It is 11:05. " + agent.system, without(agent.tools, 0)
    _, (miss,) = misses_of(recorded(one_slot, tmp_path, [*bodies, agent.body()]))
    kinds = [candidate.difference.kind for candidate in miss.candidates if candidate.difference]
    assert miss.cause is None and kinds == [PartKind.TOOL, PartKind.SYSTEM]


@pytest.mark.wide
def test_template_that_drops_thinking_is_the_cause(one_slot: DemoServer, tmp_path: Path) -> None:
    agent = Agent(6)
    bodies = [agent.body()]
    for number in range(3):
        agent.call(result_words=30, thinking=f"step {number} " + agent.text(60))
        bodies.append(agent.body())
    agent.answer(thinking="done " + agent.text(40))
    turns, misses = misses_of(recorded(one_slot, tmp_path, [*bodies, agent.body()]))
    (miss,) = misses
    assert miss.turn is turns[-1] and miss.cause and miss.cause.kind is CauseKind.THINKING_DROPPED


@pytest.mark.wide
def test_thinking_that_the_client_drops_is_told_apart(one_slot: DemoServer, tmp_path: Path) -> None:
    agent = Agent(7)
    bodies = [agent.body()]
    for number in range(3):
        agent.call(result_words=30, thinking=f"step {number} " + agent.text(60))
        bodies.append(agent.body())
    agent.messages = [
        {name: value for name, value in message.items() if name != "reasoning_content"} for message in agent.messages
    ]
    _, (miss,) = misses_of(recorded(one_slot, tmp_path, [*bodies, agent.body()]))
    assert miss.cause and miss.cause.difference
    assert (miss.cause.difference.kind, miss.cause.difference.change) == (PartKind.THINKING, Change.REMOVED)

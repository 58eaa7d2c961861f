"""'session': recorded chats are replayed turn by turn, the context growing, as a coding agent makes it grow."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

from pydantic import Field

from domain import JsonValue
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts.natural_text import DrawnText
from workloads.texts.prompt_file import RecordedSession, read_sessions

SYSTEM = "You are a coding agent. Read the files that you need with the tool read_file, then say what you would change."
TOOL: dict[str, JsonValue] = {
    "type": "function",
    "function": {
        "name": "read_file",
        "description": "The text of a file of the project.",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
}
FILES = ("timing.py", "laps.py", "store.py", "pits.py", "radio.py", "tyres.py", "fuel.py", "report.py")


class SessionParams(Params):
    """What can be set of 'session'."""

    file: str = Field(default="", max_length=4096)  # JSON lines; none: sessions of our own making
    sessions: int = Field(default=1, ge=1, le=64)  # at once; of a file the first ones
    turns: int = Field(default=8, ge=1, le=200)
    context_tokens: int = Field(default=8000, ge=100, le=1_000_000)  # about, by the last turn; of our own making
    output_tokens: int = Field(default=200, ge=1, le=100_000)  # at most, of a turn
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    with_think_time: bool = True  # as it was recorded
    send_tools: bool = True  # off for servers that refuse tools


def build(params: SessionParams) -> Plan:
    """Every session in a stream of its own, its turns one after the other.

    A turn's context is the recorded one, with the recorded answers, so that every server is asked the same.
    """
    found = read_sessions(params.file)[: params.sessions] if params.file else list(made_sessions(params))
    requests = [request for thread, session in enumerate(found) for request in _turns(params, session, thread)]
    return [Phase(f"{len(found)} at once" if len(found) > 1 else "One session", "measure", len(found), tuple(requests))]


def _turns(params: SessionParams, session: RecordedSession, thread: int) -> Iterator[PlannedRequest]:
    answers = [n for n, message in enumerate(session.messages) if message.get("role") == "assistant" and n > 0]
    for turn, place in enumerate(answers[: params.turns]):
        think_s = session.think_s[turn] if params.with_think_time and turn < len(session.think_s) else 0.0
        yield PlannedRequest(
            f"turn {turn + 1:02d}",
            "",
            params.sampled(params.output_tokens, params.temperature, ignore_eos=False),
            messages=tuple(session.messages[:place]),
            tools=tuple(session.tools) if params.send_tools else (),
            think_s=think_s,
            thread=thread,
            facts={"session": thread, "turn": turn + 1},
        )


def made_sessions(params: SessionParams) -> Iterator[RecordedSession]:
    """Sessions of an agent that reads one file a turn; the same for the same seed."""
    for number in range(params.sessions):
        drawn = random.Random(f"{params.seed} session {number}")
        messages: list[dict[str, JsonValue]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Session {number + 1}: find why lap times are sometimes stored twice."},
        ]
        for turn in range(params.turns):
            messages += _made_turn(params, f"{params.seed} {number} {turn}", drawn.choice(FILES), turn)
        think_s = [round(drawn.uniform(0.0, 0.2), 3) for _ in range(params.turns)]
        yield RecordedSession(messages=messages, tools=[TOOL], think_s=think_s)


def _made_turn(params: SessionParams, seed: str, file: str, turn: int) -> list[dict[str, JsonValue]]:
    """The agent asks for a file, and gets one of its share of the context."""
    call_id = f"call_{turn}"
    text = DrawnText(seed, max(10, params.context_tokens // params.turns)).about()
    if not params.send_tools:
        return [
            {"role": "assistant", "content": f"Show me {file}."},
            {"role": "user", "content": f"{file}:\n{text}"},
        ]
    function: dict[str, JsonValue] = {"name": "read_file", "arguments": json.dumps({"path": file})}
    call: dict[str, JsonValue] = {"id": call_id, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call_id, "content": text},
    ]


SESSION = Workload(
    name="session",
    title="Agent session",
    summary="A chat with tools turn by turn, its context growing to 8,000 tokens, or sessions of yours from a file.",
    params_type=SessionParams,
    build=build,
)

"""'session': replays recorded chats turn by turn with a growing context, as of a coding agent."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence

from pydantic import Field

from domain import JsonValue
from workloads.natural_text import SeededText
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.texts.prompt_file import ChatMessage, PlanError, RecordedSession, read_sessions

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
    """Parameters of 'session'."""

    file: str = Field(default="", max_length=4096)  # JSON lines; empty: generated sessions
    sessions: int = Field(default=1, ge=1, le=64)  # concurrent; the first ones of a file
    turns: int = Field(default=8, ge=1, le=200)
    context_tokens: int = Field(default=8000, ge=100, le=1_000_000)  # of a generated session's last turn, approximately
    output_tokens: int = Field(default=200, ge=1, le=100_000)  # at most, per turn
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    with_think_time: bool = True  # as recorded
    max_pause_s: float = Field(default=30.0, ge=0.0, le=3600.0)  # of these times
    send_tools: bool = True  # off for servers that reject tools


def build(params: SessionParams) -> Plan:
    """Return a plan of every session in its own stream, turn by turn.

    A turn's context has the recorded answers, so that every server gets the same requests.
    """
    sessions = read_sessions(params.file)[: params.sessions] if params.file else list(generate_sessions(params))
    starts_s = _starts_s(params, sessions)
    requests = [
        request
        for thread, (session, start_s) in enumerate(zip(sessions, starts_s, strict=True))
        for request in _turns(params, session, thread, start_s)
    ]
    return [
        Phase(
            f"{len(sessions)} at once" if len(sessions) > 1 else "One session",
            "measure",
            len(sessions),
            tuple(requests),
        )
    ]


def _starts_s(params: SessionParams, sessions: Sequence[RecordedSession]) -> list[float]:
    """Return when each chat begins: as recorded, with times in which no chat ran limited."""
    if not params.with_think_time:
        return [0.0] * len(sessions)
    starts_s = [0.0] * len(sessions)
    skipped_s = ended_s = 0.0
    for index in sorted(range(len(sessions)), key=lambda index: sessions[index].starts_s):
        session = sessions[index]
        skipped_s += max(0.0, session.starts_s - ended_s - params.max_pause_s)
        starts_s[index] = round(session.starts_s - skipped_s, 3)
        ended_s = max(ended_s, session.starts_s, session.ends_s or 0.0)
    return starts_s


def _turns(params: SessionParams, session: RecordedSession, thread: int, start_s: float) -> Iterator[PlannedRequest]:
    """Yield a chat's requests; the first one also waits for the beginning of its chat."""
    answers = [n for n, message in enumerate(session.messages) if message.get("role") == "assistant" and n > 0]
    for turn, answer_index in enumerate(answers[: params.turns]):
        think_s = session.think_s[turn] if params.with_think_time and turn < len(session.think_s) else 0.0
        think_s = min(think_s, params.max_pause_s) + (start_s if turn == 0 else 0.0)
        messages = session.messages[:answer_index]
        is_plain = params.endpoint == "completions"
        yield PlannedRequest(
            f"turn {turn + 1:02d}",
            _plain_prompt(messages) if is_plain else "",
            params.sampling_for(params.output_tokens, params.temperature, ignore_eos=False),
            messages=() if is_plain else tuple(messages),
            tools=tuple(session.tools) if params.send_tools else (),
            think_s=think_s,
            thread=thread,
            facts={"session": thread, "turn": turn + 1},
        )


def _plain_prompt(messages: Sequence[ChatMessage]) -> str:
    """Return the prompt of a request to /v1/completions, which is kept as the only message of its chat."""
    content = messages[0].get("content")
    if len(messages) > 1 or not isinstance(content, str):
        raise PlanError("Chats cannot be sent to /v1/completions: choose another protocol.")
    return content


def generate_sessions(params: SessionParams) -> Iterator[RecordedSession]:
    """Yield sessions of an agent that reads one file per turn; equal for equal seeds."""
    for number in range(params.sessions):
        rng = random.Random(f"{params.seed} session {number}")
        messages: list[dict[str, JsonValue]] = [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"Session {number + 1}: find why lap times are sometimes stored twice."},
        ]
        for turn in range(params.turns):
            messages += _generate_turn(params, f"{params.seed} {number} {turn}", rng.choice(FILES), turn)
        think_s = [round(rng.uniform(0.0, 0.2), 3) for _ in range(params.turns)]
        yield RecordedSession(messages=messages, tools=[TOOL], think_s=think_s)


def _generate_turn(params: SessionParams, seed: str, file: str, turn: int) -> list[dict[str, JsonValue]]:
    """Return the messages of a turn: the agent reads a file, whose length is its share of the context."""
    call_id = f"call_{turn}"
    text = SeededText(seed, max(10, params.context_tokens // params.turns)).approximate_text()
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
    summary="A chat with tools, turn by turn, with a context growing to 8,000 tokens, or your sessions from a file.",
    params_type=SessionParams,
    build=build,
)

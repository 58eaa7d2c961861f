"""'endurance': one agent session after another, each with a growing context, for as long as it is set."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from load_records import SESSION, TURN
from workloads.plan import Params, Phase, Plan, PlannedRequest, Workload
from workloads.shapes.session import SYSTEM, TOOL
from workloads.texts.long_history import SeededDialogue

QUESTION = "Step {turn}: say what happened last in one sentence, then what you would check next and why."


class EnduranceParams(Params):
    """Parameters of 'endurance'."""

    sessions: int = Field(default=24, ge=12, le=10_000)  # one after another in each stream
    turns: int = Field(default=8, ge=1, le=200)  # of each session
    streams: int = Field(default=1, ge=1, le=64)  # sessions at once
    context_tokens: int = Field(default=16_000, ge=100, le=1_000_000)  # before a session's last turn, approximately
    output_tokens: int = Field(default=200, ge=1, le=100_000)  # at most, per turn
    temperature: float = Field(default=0.0, ge=0.0, le=2.0)
    send_tools: bool = True  # off for servers that reject tools


def build(params: EnduranceParams) -> Plan:
    """Return a plan of all sessions; each has a text of its own, so that nothing of it is cached before its first turn.

    A turn's context does not contain the answers, so that every session asks for the same work.
    """
    return [Phase("Endurance", "measure", params.streams, tuple(_requests(params)))]


def _requests(params: EnduranceParams) -> Iterator[PlannedRequest]:
    for session in range(1, params.sessions + 1):
        for turn in range(1, params.turns + 1):
            yield PlannedRequest(
                f"turn {turn:02d}",
                "",
                params.sampling_for(params.output_tokens, params.temperature, ignore_eos=False),
                messages=(
                    {"role": "system", "content": SYSTEM},
                    {"role": "user", "content": QUESTION.format(turn=turn)},
                ),
                history=SeededDialogue(
                    f"{params.seed} endurance {session}", round(params.context_tokens * turn / params.turns)
                ),
                tools=(TOOL,) if params.send_tools else (),
                thread=session,
                facts={SESSION: session, TURN: turn},
            )


ENDURANCE = Workload(
    name="endurance",
    title="Endurance",
    summary="Agent sessions one after another: does the server slow down, grow, answer emptily or loop with time?",
    params_type=EnduranceParams,
    build=build,
)

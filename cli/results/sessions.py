"""`./pitwall sessions RUN`: prints why agents' prefixes were computed again, or writes the sessions' shape."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from analysis.sessions.agent_shape import AgentShape
    from analysis.sessions.causes import CauseTotal, PrefixMiss
    from analysis.sessions.turns import Turn
    from reports.runs.agent_sessions import AgentSessions

NO_RECORDING = "No recording of this run has the parts of its prompts: use `./pitwall record RUN`."


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall sessions` to the parser."""
    help_text = "print why a server computed the prompts of recorded agents again, and what that cost"
    command = commands.add_parser("sessions", help=help_text, description=help_text)
    command.add_argument("run_id", metavar="RUN", help="id of a run that a recorder recorded")
    command.add_argument("--shape", type=Path, metavar="FILE", help="write their shape, which agent-replay sends")
    command.add_argument("--load", metavar="LOAD", help="with --shape: of this recording (default: of all)")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the causes and turns; return REFUSED with a sentence if there are none."""
    from reports.runs.agent_sessions import agent_sessions
    from reports.runs.agent_shapes import agent_shape
    from reports.runs.prices import prices_of
    from settings import load_settings
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.run_queries import runs_of

    settings = load_settings()
    with published_query(settings.published_path) as query:
        store = PublishedStore(query)
        runs = runs_of(store, [arguments.run_id])
        if not runs:
            print(f"There is no run {arguments.run_id}.", file=sys.stderr)
            return REFUSED
        if arguments.shape:
            return _write_shape(agent_shape(store, runs[0], arguments.load), arguments.shape)
        sessions = agent_sessions(store, runs[0], prices_of(settings.prices_path, runs[0].machine_id))
    if not sessions.turns:
        print(NO_RECORDING, file=sys.stderr)
        return REFUSED
    print(json.dumps(_as_json(sessions)) if arguments.json else _as_text(sessions))
    return DONE


def _write_shape(shape: AgentShape | None, path: Path) -> int:
    """Write a shape and say what is in it; REFUSED with a sentence if there is none, or its file exists."""
    from web.runs.page.agent_session_words import shape_text
    from workloads.texts.shape_file import write_shape

    if shape is None:
        print(NO_RECORDING, file=sys.stderr)
        return REFUSED
    if path.exists():
        print(f"{path} exists.", file=sys.stderr)
        return REFUSED
    write_shape(path, shape)
    print(f"{path}: {shape_text(shape)}")
    return DONE


def _as_text(sessions: AgentSessions) -> str:
    """Return the causes, the most expensive first, and a line per turn."""
    from web.runs.page.agent_session_words import causes_text, turn_lines

    return "\n".join([*causes_text(sessions), "", *turn_lines(sessions)])


def _as_json(sessions: AgentSessions) -> dict[str, Any]:
    return {
        "causes": [_cause_json(sessions, total) for total in sessions.totals],
        "turns": [_turn_json(sessions, turn) for turn in sessions.turns],
        "uncounted_turns": sessions.uncounted_turns,
    }


def _cause_json(sessions: AgentSessions, total: CauseTotal) -> dict[str, Any]:
    """Return a cause with its cost; `cause` is null if it is not known."""
    from web.runs.page.agent_session_words import miss_sentence

    cost = sessions.cost_of(total)
    return {
        "cause": total.cause.kind.value if total.cause else None,
        "sentence": miss_sentence(total.misses[0]),
        "turns": len(total.misses),
        "tokens": cost.tokens,
        "seconds": cost.seconds.value,
        "joules": cost.joules.value,
        "money": cost.money.value,
        "currency": sessions.currency if cost.money.value is not None else None,
    }


def _turn_json(sessions: AgentSessions, turn: Turn) -> dict[str, Any]:
    return {
        "request_id": turn.request_id,
        "session": turn.session,
        "branch": turn.branch,
        "depth": turn.depth,
        "prompt_tokens": turn.prompt_tokens,
        "cached_tokens": turn.cached_tokens,
        "computed_tokens": turn.computed_tokens,
        "miss": _miss_json(sessions.misses.get(turn.request_id)),
    }


def _miss_json(miss: PrefixMiss | None) -> dict[str, Any] | None:
    """Return what is known of a miss; null: the turn has none."""
    from web.runs.page.agent_session_words import miss_sentence

    if miss is None:
        return None
    return {
        "tokens": miss.excess_tokens,
        "cause": miss.cause.kind.value if miss.cause else None,
        "candidates": [candidate.kind.value for candidate in miss.candidates],
        "sentence": miss_sentence(miss),
    }

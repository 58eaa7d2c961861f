"""The section 'Agent sessions' of the Run page: why prefixes were computed again, and every turn."""

from __future__ import annotations

from itertools import islice

import streamlit as st

from analysis.sessions.turns import Turn
from domain import Run
from reasons import Code, Reason
from reports.runs.agent_sessions import AgentSessions, MissCost, agent_sessions
from reports.runs.agent_shapes import agent_shape
from reports.runs.prices import prices_of
from web import markup
from web.actions import is_operator, require_operator
from web.context import services
from web.fleet import store_for_runs
from web.markup import markdown_text
from web.runs.page.agent_session_words import (
    by_session,
    cost_text,
    miss_sentence,
    shape_text,
    standing_text,
    turn_title,
)
from web.theme import DASH, duration
from web.words import reason_text
from workloads.texts.shape_file import write_shape

NO_CACHED_COUNT = Reason(Code.NO_CACHED_COUNT)
MOST_TURNS = 200  # in the table; the view `turns` has all
ABOUT = (
    "A turn is one recorded or replayed request. Tokens again: those of the prompt before it that the server computed "
    "again. Their cost is at the turn's own prefill speed, which includes waiting."
)
SHAPE_HELP = (
    "Lengths, shared prefixes, pauses and subagents, without text. The load 'Agent replay' sends them to any server."
)


def show_agent_sessions(run: Run) -> None:
    """Show the causes and the turns; nothing for a run without such recordings."""
    prices = prices_of(services().settings.prices_path, run.machine_id)
    sessions = agent_sessions(store_for_runs([run]), run, prices)
    if not sessions.turns:
        return
    st.subheader("Agent sessions")
    st.html(f'<div class="pw-agent-sessions">{sessions_html(sessions)}</div>')
    st.caption(ABOUT)
    if is_operator():
        _offer_shape(run)


def _offer_shape(run: Run) -> None:
    """Offer to save the shape of the run's recordings, which the load 'Agent replay' then lists."""
    if not st.button("Save their shape for replays", key="save-shape", help=SHAPE_HELP):
        return
    require_operator()
    shape = agent_shape(store_for_runs([run]), run)
    if shape is None:
        st.error("No turn can be replayed: its prompt is not known.")
        return
    path = services().settings.shapes_dir / f"{run.id}.jsonl"
    try:
        write_shape(path, shape)
    except OSError as error:
        st.error(markdown_text(f"{path} cannot be written: {error.strerror}."))
        return
    st.success(markdown_text(f"{path}: {shape_text(shape)}"))


def sessions_html(sessions: AgentSessions) -> str:
    """Return the section as markup."""
    rows = (_turn_row(sessions, number, turn) for number, turn in by_session(sessions))  # in order of their beginnings
    turns_table = markup.table(TURN_HEAD, islice(rows, MOST_TURNS))
    hidden = len(sessions.turns) - MOST_TURNS
    more = f"<p>{hidden:,} more turns are in the view <code>turns</code>.</p>" if hidden > 0 else ""
    return f"{_causes(sessions)}{turns_table}{more}"


def newest_turns_html(sessions: AgentSessions, most: int) -> str:
    """Return the causes so far, and this many turns, the newest first."""
    newest = sorted(by_session(sessions), key=lambda pair: pair[1].request.sent_at, reverse=True)[:most]
    rows = [_turn_row(sessions, number, turn) for number, turn in newest]
    return f"{_causes(sessions)}{markup.table(TURN_HEAD, rows)}"


def _causes(sessions: AgentSessions) -> str:
    """Return the causes as a list, the most expensive first, or the sentence that there is none."""
    items = "".join(
        f"<li><strong>{markup.text(miss_sentence(total.misses[0]))}</strong> "
        f"{markup.text(cost_text(sessions, total))}</li>"
        for total in sessions.totals
    )
    standing = markup.text(standing_text(sessions))
    return (f"<ol>{items}</ol>" if items else "") + (f"<p>{standing}</p>" if standing else "")


TURN_HEAD = [
    "Session, branch, turn", "Prompt", "Cached", "Computed", "Again", "TTFT", "Decode", "Pause before", "Context",
    "Accepted", "Why",
]  # fmt: skip


def _turn_row(sessions: AgentSessions, number: int, turn: Turn) -> list[str]:
    """Return the row of a turn; number: of its session."""
    miss = sessions.misses.get(turn.request_id)
    cost = sessions.costs.get(turn.request_id)
    return [
        turn_title(number, turn),
        _count(turn.prompt_tokens),
        _count(turn.cached_tokens, NO_CACHED_COUNT),
        _count(turn.computed_tokens),
        _again(cost) if cost else "",
        _milliseconds(turn.request.ttft_ms),
        _milliseconds(turn.request.decode_ms),
        DASH if turn.pause_s is None else duration(turn.pause_s),
        _count(turn.context_tokens),
        _acceptance(turn),
        markup.text(miss_sentence(miss) if miss else turn.request.error_kind or ""),
    ]


def _count(value: int | None, reason: Reason | None = None) -> str:
    return f"{value:,}" if value is not None else markup.number(DASH, why=reason_text(reason))


def _again(cost: MissCost) -> str:
    seconds = "" if cost.seconds.value is None else f" ({duration(cost.seconds.value)})"
    return markup.text(f"{cost.tokens:,}{seconds}")


def _milliseconds(value: float | None) -> str:
    return DASH if value is None else f"{value:,.0f} ms"


def _acceptance(turn: Turn) -> str:
    """Return the accepted share of its draft tokens; '' without drafts."""
    drafted, accepted = turn.request.draft_tokens, turn.request.accepted_tokens
    return f"{100 * accepted / drafted:.0f} %" if drafted and accepted is not None else ""

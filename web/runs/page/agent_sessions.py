"""The section 'Agent sessions' of the Run page: why prefixes were computed again, and every turn."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import streamlit as st

from analysis.sessions.causes import CauseTotal
from analysis.sessions.turns import Turn
from domain import Run
from reasons import Code, Reason
from reports.runs.agent_sessions import AgentSessions, MissCost, agent_sessions
from reports.runs.prices import prices_of
from web import markup
from web.context import services
from web.fleet import store_for_runs
from web.runs.page.agent_session_words import miss_sentence
from web.theme import DASH, duration, three_digits
from web.words import reason_text

NO_CACHED_COUNT = Reason(Code.NO_CACHED_COUNT)
MOST_TURNS = 200  # in the table; the view `turns` has all
ABOUT = (
    "A turn is one recorded request. Tokens again: those of the prompt before it that the server computed again. "
    "Their cost is at the turn's own prefill speed, which includes waiting."
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


def sessions_html(sessions: AgentSessions) -> str:
    """Return the section as markup."""
    turns_table = markup.table(TURN_HEAD, islice(_turn_rows(sessions), MOST_TURNS))
    hidden = len(sessions.turns) - MOST_TURNS
    more = f"<p>{hidden:,} more turns are in the view <code>turns</code>.</p>" if hidden > 0 else ""
    return f"{_causes(sessions)}{turns_table}{more}"


def _causes(sessions: AgentSessions) -> str:
    """Return one sentence for each cause with its cost, the most expensive first, or that there is none."""
    uncounted = sessions.uncounted_turns
    count = len(sessions.turns)
    missing = f"The server reported no cached tokens for {uncounted} of {count} turns." if uncounted else ""
    if not sessions.totals:
        judged = "" if uncounted == count else "No turn computed its prefix again."
        return f"<p>{markup.text(f'{judged} {missing}'.strip())}</p>"
    items = "".join(f"<li>{_cause_item(sessions, total)}</li>" for total in sessions.totals)
    return f"<ol>{items}</ol>" + (f"<p>{markup.text(missing)}</p>" if missing else "")


def _cause_item(sessions: AgentSessions, total: CauseTotal) -> str:
    sentence = miss_sentence(total.misses[0])
    return f"<strong>{markup.text(sentence)}</strong> {markup.text(cost_text(sessions, total))}"


def cost_text(sessions: AgentSessions, total: CauseTotal) -> str:
    """'In 3 turns: 12,400 tokens again, 8.1 s, 2.4 kJ.'; what is not known is left out."""
    cost, count = sessions.cost_of(total), len(total.misses)
    parts = [f"{cost.tokens:,} tokens again"]
    parts += [duration(cost.seconds.value)] if cost.seconds.value is not None else []
    parts += [f"{three_digits(cost.joules.value)} J"] if cost.joules.value is not None else []
    parts += [f"{three_digits(cost.money.value)} {sessions.currency}"] if cost.money.value is not None else []
    return f"In {count} turn{'s' * (count != 1)}: {', '.join(parts)}."


TURN_HEAD = [
    "Session, branch, turn", "Prompt", "Cached", "Computed", "Again", "TTFT", "Decode", "Pause before", "Context",
    "Accepted", "Why",
]  # fmt: skip


def _turn_rows(sessions: AgentSessions) -> Iterator[list[str]]:
    """Yield a row per turn, by session and branch, in the order of their beginnings."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(turn.session for turn in sessions.turns), 1)}
    for turn in sorted(sessions.turns, key=lambda turn: (numbers[turn.session], turn.branch, turn.request.sent_at)):
        miss = sessions.misses.get(turn.request_id)
        cost = sessions.costs.get(turn.request_id)
        yield [
            f"{numbers[turn.session]}.{turn.branch + 1}.{turn.depth + 1}",
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

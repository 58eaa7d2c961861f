"""Sentences on why the prefix of an agent's request was computed again, and on what that cost."""

from __future__ import annotations

from analysis.sessions.agent_shape import AgentShape
from analysis.sessions.causes import Cause, CauseKind, CauseTotal, PrefixMiss
from analysis.sessions.difference import Change, PartDifference
from analysis.sessions.prompt_part import PIECE_BYTES, PartKind
from analysis.sessions.turns import Turn
from reports.runs.agent_sessions import AgentSessions
from web.theme import DASH, duration, three_digits

KIND_NOUNS = {
    PartKind.SETTING: "setting",
    PartKind.TOOL: "tool",
    PartKind.SYSTEM: "system block",
    PartKind.TEXT: "text",
    PartKind.IMAGE: "image",
    PartKind.THINKING: "thinking",
    PartKind.TOOL_CALL: "tool call",
    PartKind.TOOL_RESULT: "tool result",
}
UNKNOWN = "The cause is not known"


def miss_sentence(miss: PrefixMiss) -> str:
    """Return why a turn's prefix was computed again; all candidates if two causes fit."""
    if miss.cause:
        return cause_sentence(miss.cause)
    if not miss.candidates:
        return f"{UNKNOWN}: nothing that is stored explains it."
    causes = "; ".join(cause_sentence(cause).rstrip(".") for cause in miss.candidates)
    fit = "this alone does not explain the cached tokens" if len(miss.candidates) == 1 else "any of these may be it"
    return f"{UNKNOWN}, {fit}: {causes}."


def cause_sentence(cause: Cause) -> str:
    """Return a cause with its evidence as one sentence."""
    if cause.difference:
        return f"{_difference_text(cause.difference)}."
    return {
        CauseKind.CONTENT: "The prompt changed.",
        CauseKind.RESTARTED: "The prefix is the same, but the server was restarted.",
        CauseKind.EVICTED: f"The prefix is the same, but the server had dropped it ({_pressure_text(cause)}).",
        CauseKind.SLOT_TAKEN: f"The prefix is the same, but another session took the slot ({_others_text(cause)}).",
        CauseKind.OVERLAPPED: "The prefix is the same, but the request was sent before the one it continues had ended.",
        CauseKind.THINKING_DROPPED: "The chat template drops the thinking of earlier turns when a person writes again.",
        CauseKind.CACHING_OFF: "The server runs with its prefix cache off.",
    }[cause.kind]


def _difference_text(difference: PartDifference) -> str:
    name = f" (`{difference.name}`)" if difference.name else ""
    is_message = difference.kind not in (PartKind.SETTING, PartKind.TOOL, PartKind.SYSTEM)
    if difference.change is Change.REORDERED:
        return f"The order of {KIND_NOUNS[difference.kind]}s differs, from number {difference.number}{name} on"
    place = f"{difference.number} of {difference.count}"
    if is_message:
        role = f", {difference.name}" if difference.name else ""
        subject = f"Message block {place} ({KIND_NOUNS[difference.kind]}{role})"
    elif difference.kind is PartKind.SETTING:
        subject = f"Setting `{difference.name}`"
    else:
        subject = f"{KIND_NOUNS[difference.kind].capitalize()} {place}{name}"
    if difference.change is Change.ADDED:
        is_last = difference.number == difference.count
        return f"{subject} was added" + ("" if is_last or difference.kind is PartKind.SETTING else " before others")
    if difference.change is Change.REMOVED:
        return f"{subject} was removed"
    verb = "was shortened" if difference.change is Change.SHORTENED else "changed"
    return f"{subject} {verb}{_piece_text(difference)}"


def _piece_text(difference: PartDifference) -> str:
    if difference.kind is PartKind.SETTING:
        return ""
    if difference.equal_bytes == 0:
        return f" in its first {PIECE_BYTES} bytes" + (" (a date?)" if difference.kind is PartKind.SYSTEM else "")
    return f" after its first {difference.equal_bytes:,} bytes"


def _pressure_text(cause: Cause) -> str:
    usage = [] if cause.kv_usage_ratio is None else [f"KV use {100 * cause.kv_usage_ratio:.0f} %"]
    count = round(cause.preemptions or 0)
    return ", ".join(usage + ([f"{count} preemption{'s' * (count != 1)}"] if count else []))


def _others_text(cause: Cause) -> str:
    count = cause.other_requests or 0
    return f"{count} request{'s' * (count != 1)} of others in between"


def cost_text(sessions: AgentSessions, total: CauseTotal) -> str:
    """'In 3 turns: 12,400 tokens again, 8.1 s, 2.4 kJ.'; what is not known is left out."""
    cost, count = sessions.cost_of(total), len(total.misses)
    parts = [f"{cost.tokens:,} tokens again"]
    parts += [duration(cost.seconds.value)] if cost.seconds.value is not None else []
    parts += [f"{three_digits(cost.joules.value)} J"] if cost.joules.value is not None else []
    parts += [f"{three_digits(cost.money.value)} {sessions.currency}"] if cost.money.value is not None else []
    return f"In {count} turn{'s' * (count != 1)}: {', '.join(parts)}."


def standing_text(sessions: AgentSessions) -> str:
    """Return what is to be said besides the causes: that there is none, or how many turns could not be judged."""
    uncounted, count = sessions.uncounted_turns, len(sessions.turns)
    texts = [] if sessions.totals or uncounted == count else ["No turn computed its prefix again."]
    texts += [f"The server reported no cached tokens for {uncounted} of {count} turns."] if uncounted else []
    return " ".join(texts)


def causes_text(sessions: AgentSessions) -> list[str]:
    """Return a line per cause with its cost, the most expensive first, and what else is to be said."""
    causes = [f"{miss_sentence(total.misses[0])} {cost_text(sessions, total)}" for total in sessions.totals]
    standing = standing_text(sessions)
    return [*causes, *([standing] if standing else [])]


def shape_text(shape: AgentShape) -> str:
    """Return what is in a shape, and how a replay differs from the recording."""
    requests, sessions = len(shape.requests), len({request.session for request in shape.requests})
    texts = [f"{requests} request{'s' * (requests != 1)} of {sessions} session{'s' * (sessions != 1)}"]
    if shape.computed_tokens is not None:
        prompt_tokens = sum(request.prompt_tokens for request in shape.requests)
        texts[0] += f", {prompt_tokens:,} prompt tokens, of which the server computed {shape.computed_tokens:,}"
    if shape.cached_answer_tokens:
        texts.append(
            f"Its own answers were {shape.cached_answer_tokens:,} of the cached tokens: a replay with generated "
            "answers computes them once more"
        )
    if shape.images:
        texts.append("Images are replaced by text of as many tokens")
    if shape.header.left_out_requests:
        texts.append(f"{shape.header.left_out_requests} failed or unknown prompts are left out")
    return ". ".join(texts) + "."


def by_session(sessions: AgentSessions) -> list[tuple[int, Turn]]:
    """Return the turns with the number of their session, by session and branch, each branch in order."""
    numbers = {name: number for number, name in enumerate(dict.fromkeys(turn.session for turn in sessions.turns), 1)}
    numbered = [(numbers[turn.session], turn) for turn in sessions.turns]
    return sorted(numbered, key=lambda pair: (pair[0], pair[1].branch, pair[1].request.sent_at))


def turn_title(session: int, turn: Turn) -> str:
    """'1.2.7': session, branch and turn, each from 1."""
    return f"{session}.{turn.branch + 1}.{turn.depth + 1}"


def turn_lines(sessions: AgentSessions) -> list[str]:
    """Return a head and a line per turn for a terminal."""
    lines = [f"{'turn':<10}{'prompt':>9}{'cached':>9}{'computed':>9}{'again':>9}  why"]
    for session, turn in by_session(sessions):
        miss = sessions.misses.get(turn.request_id)
        counts = (turn.prompt_tokens, turn.cached_tokens, turn.computed_tokens, miss.excess_tokens if miss else 0)
        cells = "".join(f"{DASH if count is None else f'{count:,}':>9}" for count in counts)
        lines.append(f"{turn_title(session, turn):<10}{cells}  {miss_sentence(miss) if miss else ''}".rstrip())
    return lines

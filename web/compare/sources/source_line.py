"""The evidence of a run in words: its sources, and whether its log and its counters agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from domain import Run, Source
from reports.runs.evidence import Evidence, Standing
from storage.ask import queries
from web import markup
from web.theme import DASH, duration
from web.words import reasons_in_words

TITLES = {Source.COUNTER: "counters", Source.SLOTS: "slots", Source.LOG: "log", Source.CLIENT: "our client"}
BOTH = "log and counters"
IN_NO_INTERVAL = (
    "Nobody looked at the counters meanwhile, or two looks contradict each other: the sum of these tokens is known, "
    "their speed at any moment is not."
)
LOST = "A restart of the server lies between these looks, or may: what was counted meanwhile is lost."


def standing_words(evidence: Evidence) -> str:
    """How the numbers that the engine itself gave stand, in a few words."""
    check = evidence.crosscheck
    match evidence.standing:
        case Standing.AGREE:
            return f"{BOTH} agree within {_ceil_percent(check.difference or 0.0):g} % ({_over(check)})"
        case Standing.DISAGREE:
            return f"{BOTH} disagree by {100 * (check.difference or 0.0):.1f} % ({_over(check)})"
        case Standing.NOT_COMPARED:
            return f"{BOTH} cannot be held against each other"
        case Standing.ENGINE_ALONE:
            return f"known by its {_titles(evidence.of_engine)}"
        case Standing.LOG_ALONE:
            return "known only by its log"
        case Standing.UNKNOWN:
            return "neither counters nor a log give its speed"


def standing_reason(evidence: Evidence) -> str | None:
    """Why there are no more sources, or why they were not compared."""
    match evidence.standing:
        case Standing.NOT_COMPARED:
            return "no line of the log has counters of the same tokens and seconds"
        case Standing.ENGINE_ALONE:
            return _no_log(evidence.run)
        case Standing.LOG_ALONE if evidence.run.kind != "imported":  # an import has no endpoints to ask
            return evidence.no_counters or "its endpoints exported no counters"
    return None


def _over(check: queries.Crosscheck) -> str:
    return f"median of {check.windows} windows" if check.windows > 1 else "1 window"


def _ceil_percent(difference: float) -> float:
    return max(0.1, math.ceil(1000 * difference) / 10)


def _no_log(run: Run) -> str:
    return "its log states no speed" if run.log_path else "it has no log that Pitwall can read"


def _titles(rows: Sequence[queries.SourceRow]) -> str:
    return " and ".join(dict.fromkeys(TITLES[Source(row.source)] for row in rows))


def silence_words(silence: queries.Silence) -> str:
    """'5,250 of 10,500 tokens, over 105 s; what was counted in 1 interval'."""
    of = "" if silence.of_tokens is None else f" of {silence.of_tokens:,.0f}"
    lost_words = [f"{silence.tokens:,.0f}{of} tokens, over {duration(silence.seconds)}"] if silence.tokens else []
    if lost := silence.lost_intervals:
        lost_words.append(f"what was counted in {lost} interval{'s' if lost > 1 else ''}")
    return "; ".join(lost_words)


def silence_reason(silence: queries.Silence) -> str:
    """Why it is in none, and what is known of it."""
    return " ".join([IN_NO_INTERVAL] * bool(silence.tokens) + [LOST] * bool(silence.lost_intervals))


def silence_cell(evidence: Evidence) -> str:
    """For a row that is called 'In no interval'; what has no counters says nothing of it."""
    if not evidence.of_engine:
        return markup.number(DASH, why="no counters were read of it")
    if evidence.silence is None:
        return "nothing"
    return markup.hint(silence_words(evidence.silence), silence_reason(evidence.silence))


def source_line(evidence: Evidence) -> str:
    """Every source with its definition id, what that means on hover, whether they agree, and what no interval holds."""
    named = ", ".join(_source(row) for row in evidence.sources)
    said, reason = standing_words(evidence), standing_reason(evidence)
    words = said[:1].upper() + said[1:] + (f": {reason}." if reason else ".")
    sources = f"Sources: {named}. " if named else ""
    silence = evidence.silence
    missing = f" In no interval: {silence_words(silence)}. {silence_reason(silence)}" if silence else ""
    agree = f'<span class="{_tone(evidence)}">{markup.text(words)}</span>'
    return f'<p class="pw-muted">{sources}{agree}{markup.text(missing)}</p>'


def standing_cell(evidence: Evidence) -> str:
    """How its numbers stand, for a row that is called 'Log and counters'; the reason on hover."""
    words = markup.hint(standing_words(evidence).removeprefix(f"{BOTH} "), standing_reason(evidence))
    return f'<span class="{_tone(evidence)}">{words}</span>'


def _tone(evidence: Evidence) -> str:
    return "pw-doubt" if evidence.standing is Standing.DISAGREE else "pw-muted"


def _source(row: queries.SourceRow) -> str:
    unknown = {metric: f"unknown: {reasons_in_words(code)}" for metric, code in row.unknown.items()}
    meaning = "\n".join(f"{metric}: {words}" for metric, words in (row.meaning | unknown).items())
    title = f' title="{markup.text(meaning)}"' if meaning else ""
    return f"{TITLES[Source(row.source)]} <abbr{title}>{markup.text(row.definition)}</abbr>"

"""A run's evidence as text: its sources, and whether its log and counters agree."""

from __future__ import annotations

import math
from collections.abc import Sequence

from domain import MeasurementSource, Run
from reports.runs.evidence import Evidence, SourceAgreement
from storage.queries import run_data
from web import markup
from web.theme import DASH, duration
from web.words import reasons_text

TITLES = {
    MeasurementSource.COUNTER: "counters",
    MeasurementSource.SLOTS: "slots",
    MeasurementSource.LOG: "log",
    MeasurementSource.CLIENT: "Pitwall's client",
}
LOG_AND_COUNTERS = "log and counters"
IN_NO_INTERVAL = (
    "The counters were not read during this time, or two readings contradict each other: the total of these tokens is "
    "known, but not their speed over time."
)
COUNTS_LOST = "The server was, or may have been, restarted between these readings: its counts in between are lost."


def standing_text(evidence: Evidence) -> str:
    """Return in a few words whether the engine's own sources agree."""
    check = evidence.crosscheck
    match evidence.agreement:
        case SourceAgreement.AGREE:
            return f"{LOG_AND_COUNTERS} agree within {_ceil_percent(check.difference or 0.0):g} % ({_over(check)})"
        case SourceAgreement.DISAGREE:
            return f"{LOG_AND_COUNTERS} disagree by {100 * (check.difference or 0.0):.1f} % ({_over(check)})"
        case SourceAgreement.NOT_COMPARED:
            return f"{LOG_AND_COUNTERS} cannot be compared"
        case SourceAgreement.ENGINE_ALONE:
            return f"{_titles(evidence.of_engine)} only"
        case SourceAgreement.LOG_ALONE:
            return "log only"
        case SourceAgreement.UNKNOWN:
            return "neither counters nor a log state its speed"


def standing_reason(evidence: Evidence) -> str | None:
    """Return why there are no more sources, or why they were not compared."""
    match evidence.agreement:
        case SourceAgreement.NOT_COMPARED:
            return "no log line and counter readings cover the same tokens and seconds"
        case SourceAgreement.ENGINE_ALONE:
            return _no_log(evidence.run)
        case SourceAgreement.LOG_ALONE if evidence.run.kind != "imported":  # an import has no endpoints
            return evidence.no_counters or "its endpoints exported no counters"
    return None


def _over(check: run_data.Crosscheck) -> str:
    return f"median of {check.windows} windows" if check.windows > 1 else "1 window"


def _ceil_percent(difference: float) -> float:
    return max(0.1, math.ceil(1000 * difference) / 10)


def _no_log(run: Run) -> str:
    return "its log states no speed" if run.log_path else "it has no log that Pitwall can read"


def _titles(rows: Sequence[run_data.SourceRow]) -> str:
    return " and ".join(dict.fromkeys(TITLES[MeasurementSource(row.source)] for row in rows))


def silence_text(silence: run_data.Silence) -> str:
    """'5,250 of 10,500 tokens, over 105 s; the counts of 1 interval'."""
    total = "" if silence.of_tokens is None else f" of {silence.of_tokens:,.0f}"
    parts = [f"{silence.tokens:,.0f}{total} tokens, over {duration(silence.seconds)}"] if silence.tokens else []
    if lost_count := silence.lost_intervals:
        parts.append(f"the counts of {lost_count} interval{'s' if lost_count > 1 else ''}")
    return "; ".join(parts)


def silence_reason(silence: run_data.Silence) -> str:
    """Return why the tokens are in no interval, and what is known about them."""
    return " ".join([IN_NO_INTERVAL] * bool(silence.tokens) + [COUNTS_LOST] * bool(silence.lost_intervals))


def silence_cell(evidence: Evidence) -> str:
    """The cell of the row 'In no interval'; a dash without counters."""
    if not evidence.of_engine:
        return markup.number(DASH, why="its counters were not read")
    if evidence.silence is None:
        return "nothing"
    return markup.hint(silence_text(evidence.silence), silence_reason(evidence.silence))


def source_line(evidence: Evidence) -> str:
    """All sources with definition ids (meaning on hover), whether they agree, and the tokens in no interval."""
    source_names = ", ".join(_source(row) for row in evidence.sources)
    standing, reason = standing_text(evidence), standing_reason(evidence)
    standing_sentence = standing[:1].upper() + standing[1:] + (f": {reason}." if reason else ".")
    source_list = f"Sources: {source_names}. " if source_names else ""
    silence = evidence.silence
    silence_note = f" In no interval: {silence_text(silence)}. {silence_reason(silence)}" if silence else ""
    standing_html = f'<span class="{_tone(evidence)}">{markup.text(standing_sentence)}</span>'
    return f'<p class="pw-muted">{source_list}{standing_html}{markup.text(silence_note)}</p>'


def standing_cell(evidence: Evidence) -> str:
    """The cell of the row 'Log and counters', with the reason on hover."""
    text = markup.hint(standing_text(evidence).removeprefix(f"{LOG_AND_COUNTERS} "), standing_reason(evidence))
    return f'<span class="{_tone(evidence)}">{text}</span>'


def _tone(evidence: Evidence) -> str:
    return "pw-doubt" if evidence.agreement is SourceAgreement.DISAGREE else "pw-muted"


def _source(row: run_data.SourceRow) -> str:
    unknown = {metric: f"unknown: {reasons_text(code)}" for metric, code in row.unknown.items()}
    meaning = "\n".join(f"{metric}: {metric_text}" for metric, metric_text in (row.meaning | unknown).items())
    title = f' title="{markup.text(meaning)}"' if meaning else ""
    return f"{TITLES[MeasurementSource(row.source)]} <abbr{title}>{markup.text(row.definition)}</abbr>"

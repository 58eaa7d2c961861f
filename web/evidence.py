"""Who spoke of a run, and whether they agree: the sources of its numbers, the log held against the counters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from domain import Run, Source
from storage.ask import live_queries, queries
from web import markup
from web.context import services

TOLERANCE = 0.05
TITLES = {Source.COUNTER: "counters", Source.SLOTS: "slots", Source.LOG: "log", Source.CLIENT: "our client"}
OF_ENGINE = (Source.COUNTER, Source.SLOTS)


@dataclass(frozen=True)
class Evidence:
    """The sources of one run's numbers; `no_counters` is why its endpoints said nothing, where that is known."""

    run: Run
    sources: Sequence[queries.SourceRow]
    crosscheck: queries.Crosscheck
    no_counters: str | None = None

    @property
    def disagrees(self) -> bool:
        return (self.crosscheck.difference or 0.0) > TOLERANCE


def evidence_of(runs: Sequence[Run]) -> list[Evidence]:
    """The evidence of each run, in the order given."""
    ids, store = [run.id for run in runs], services().store
    sources, checks = queries.sources(store, ids), queries.crosschecks(store, ids)
    errors = live_queries.collector_errors(store, ids)
    return [Evidence(run, sources[run.id], checks[run.id], errors[run.id].get("endpoint")) for run in runs]


class Standing(NamedTuple):
    """Which sources the engine's own numbers have and whether they agree, in a few words; and why there are no more."""

    words: str
    why: str | None = None


def standing(evidence: Evidence) -> Standing:
    """How the numbers that the engine itself told stand."""
    own = [row for row in evidence.sources if row.source in OF_ENGINE]
    logged = [row for row in evidence.sources if row.source == Source.LOG]
    if own and logged:
        return _compared(evidence.crosscheck)
    if own:
        return Standing(f"known by its {_titles(own)}", _no_log(evidence.run))
    if logged:
        return Standing("known only by its log", _no_counters(evidence))
    return Standing("neither counters nor a log have told its speed")


def _compared(check: queries.Crosscheck) -> Standing:
    if check.difference is None:
        why = "no line of the log has counters of the same tokens and seconds"
        return Standing("log and counters cannot be held against each other", why)
    over = f"median of {check.windows} windows" if check.windows > 1 else "1 window"
    if check.difference > TOLERANCE:
        return Standing(f"log and counters disagree by {100 * check.difference:.1f} % ({over})")
    return Standing(f"log and counters agree within {max(0.1, math.ceil(1000 * check.difference) / 10):g} % ({over})")


def _no_counters(evidence: Evidence) -> str | None:
    """An imported run has no endpoints that could have told anything."""
    if evidence.run.kind == "imported":
        return None
    return evidence.no_counters or "its endpoints told no counters"


def _no_log(run: Run) -> str:
    return "its log has told no speed" if run.log_path else "it has no log that Pitwall can read"


def _titles(rows: Sequence[queries.SourceRow]) -> str:
    return " and ".join(dict.fromkeys(TITLES[Source(row.source)] for row in rows))


def source_line(evidence: Evidence) -> str:
    """Every source with its definition id, what that means on hover, and whether they agree."""
    named = ", ".join(_source(row) for row in evidence.sources)
    stands = standing(evidence)
    words = stands.words[:1].upper() + stands.words[1:] + (f": {stands.why}." if stands.why else ".")
    sources = f"Sources: {named}. " if named else ""
    return f'<p class="pw-muted">{sources}<span class="{_tone(evidence)}">{markup.text(words)}</span></p>'


def standing_words(evidence: Evidence) -> str:
    """How its numbers stand, for a row that is called 'Log and counters'; the reason on hover."""
    stands = standing(evidence)
    words = markup.hint(stands.words.removeprefix("log and counters "), stands.why)
    return f'<span class="{_tone(evidence)}">{words}</span>'


def _tone(evidence: Evidence) -> str:
    return "pw-doubt" if evidence.disagrees else "pw-muted"


def _source(row: queries.SourceRow) -> str:
    meaning = "\n".join(f"{metric}: {words}" for metric, words in row.meaning.items())
    title = f' title="{markup.text(meaning)}"' if meaning else ""
    return f"{TITLES[Source(row.source)]} <abbr{title}>{markup.text(row.definition)}</abbr>"

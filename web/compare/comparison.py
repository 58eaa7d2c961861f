"""The numbers of runs and how they are written: as columns beside each other on Compare, as tiles on Run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from analysis.config_diff import differing_fields
from analysis.guard import window_words
from web import markup
from web.evidence import Evidence, standing_words
from web.facts import Facts
from web.theme import DASH, duration, three_digits

NO_REQUESTS = "no request of ours ended"
NO_RATE = "how many tokens were drafted was not told"
ACTIVE = "Windows that hold decoding and nothing else, of all; only these are ranked"
TOLD_BY_NOTE = ("Steps per second", "Time to first token")  # what no imported log can know


class Cell(NamedTuple):
    """One number of one run, or why it is not known."""

    value: float | None
    unit: str
    why: str | None
    range: str = ""


class Metric(NamedTuple):
    """One number that runs are compared by, its meaning, and where it comes from."""

    title: str
    meaning: str
    cell: Callable[[Facts], Cell]


METRICS = (
    Metric(
        "Decode speed, mean",
        "Tokens over seconds of the active windows: tokens per step × steps/s, and what the verdict is about",
        lambda f: _factor(f, "decode_tps", "tok/s"),
    ),
    Metric(
        "Tokens per step",
        "Tokens that one request gains in one step of the engine: 1 without speculation",
        lambda f: _factor(f, "tokens_per_step", ""),
    ),
    Metric(
        "Steps per second",
        "Engine steps times the requests in each: what the hardware does, whatever a step yields",
        lambda f: _factor(f, "steps_per_s", "/s"),
    ),
    Metric(
        "Decode speed, typical",
        "Median of the active windows, and their middle half (p25 to p75)",
        lambda f: Cell(f.summary.typical_tps, "tok/s", f.summary.reason, _middle_half(f)),
    ),
    Metric(
        "Decode speed, peak",
        "99th percentile of the active windows",
        lambda f: Cell(f.summary.peak_tps, "tok/s", f.summary.reason),
    ),
    Metric(
        "Decode speed, floor",
        "10th percentile of the active windows",
        lambda f: Cell(f.summary.floor_tps, "tok/s", f.summary.reason),
    ),
    Metric(
        "Acceptance length",
        "Tokens per verified draft, its own token included: at most the draft tokens + 1",
        lambda f: Cell(f.acceptance.length, "tok/step", f.acceptance.reason),
    ),
    Metric(
        "Acceptance rate",
        "Accepted of the drafted tokens",
        lambda f: Cell(_percent(f.acceptance.rate), "%", f.acceptance.reason or NO_RATE),
    ),
    Metric(
        "Time to first token",
        "Median over the requests of our workload, as its client measured them",
        lambda f: Cell(f.requests.ttft_ms, "ms", NO_REQUESTS),
    ),
)


def number_table(facts: Sequence[Facts], ranked: Collection[str], evidence: Sequence[Evidence]) -> str:
    """One column a run, one row a number; beside it the ratio to the first run where that may be told (`ranked`)."""
    head = ["", *(markup.named(f.run.name, f.run.color) for f in facts)]
    body = [[markup.hint(m.title, m.meaning), *_cells(m.cell, facts, ranked)] for m in METRICS]
    body.append(["Time to ready", *(markup.number(duration(f.time_to_ready_s)) for f in facts)])
    body.append([markup.hint("Active windows", ACTIVE), *(_windows(f) for f in facts)])
    body.append(["Requests", *(requests_words(f) for f in facts)])
    body.append(["Workload", *(markup.text(f.subject.workload or DASH) for f in facts)])
    body.append(["Log and counters", *(standing_words(one) for one in evidence)])
    return markup.table(head, body)


def number_tiles(facts: Facts) -> str:
    """The numbers that are known, large, and below them in one line those that are not, with the reasons."""
    cells = [(metric, metric.cell(facts)) for metric in METRICS]
    tiles = [(markup.hint(m.title, m.meaning), _cell(cell)) for m, cell in cells if cell.value is not None]
    if facts.time_to_ready_s is not None:
        tiles.append(("Time to ready", markup.number(duration(facts.time_to_ready_s))))
    if facts.requests.sent:
        tiles.append(("Requests", requests_words(facts)))
    if facts.summary.definition:
        tiles.append((markup.hint("Active windows", ACTIVE), _windows(facts)))
    told = TOLD_BY_NOTE if facts.run.kind == "imported" else ()
    missing = [(m.title, c.why) for m, c in cells if c.value is None and m.title not in told]
    return (markup.tiles(tiles) if tiles else "") + _unknown(missing)


def _unknown(missing: Sequence[tuple[str, str | None]]) -> str:
    """'Not known: steps per second, tokens per step (the log has no step counter).'"""
    by_reason: dict[str, list[str]] = {}
    for title, why in missing:
        by_reason.setdefault(why or "not told", []).append(title)
    told = "; ".join(f"{', '.join(titles)} ({why})" for why, titles in by_reason.items())
    return f'<p class="pw-muted">Not known: {markup.text(told)}.</p>' if told else ""


def _cells(cell: Callable[[Facts], Cell], facts: Sequence[Facts], ranked: Collection[str]) -> list[str]:
    base = cell(facts[0]).value
    return [_cell(cell(f), base if f.run.id in ranked else None) for f in facts]


def _cell(cell: Cell, base: float | None = None) -> str:
    shown = markup.number(three_digits(cell.value), cell.unit, cell.why or "not known")
    if cell.value is None:
        return shown
    ratio = f" <small>{cell.value / base:.2f}×</small>" if base else ""
    return shown + ratio + (f" <small>{cell.range}</small>" if cell.range else "")


def _factor(facts: Facts, name: str, unit: str) -> Cell:
    factors = facts.summary.factors
    if factors is None:
        return Cell(None, unit, facts.summary.reason)
    return Cell(getattr(factors, name), unit, factors.reason)


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100.0 * ratio


def _middle_half(facts: Facts) -> str:
    said = facts.summary
    return f"({three_digits(said.typical_low_tps)} to {three_digits(said.typical_high_tps)})"


def _windows(facts: Facts) -> str:
    said = facts.summary
    if said.definition is None:
        return markup.number(DASH, why=said.reason)
    counts = f"{said.active_windows} of {said.active_windows + said.excluded_windows}"
    return markup.number(counts, f"of {window_words(said)}")


def requests_words(facts: Facts) -> str:
    """'8, none failed'."""
    sent, failed = facts.requests.sent, facts.requests.failed
    return markup.number(str(sent), f"{failed or 'none'} failed") if sent else markup.number(DASH, why=NO_REQUESTS)


def config_table(facts: Sequence[Facts]) -> str:
    """The fields that are not equal in all runs, one row each."""
    rows = differing_fields([f.run.config.model_dump(mode="json") for f in facts])
    if not rows:
        return '<p class="pw-muted">Nothing: these runs had the same configuration.</p>'
    body = [[markup.field(key), *(markup.setting(key, value) for value in values)] for key, values in rows.items()]
    return markup.table(["", *(markup.named(f.run.name, f.run.color) for f in facts)], body, wraps=True)

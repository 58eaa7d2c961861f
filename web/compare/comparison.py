"""The numbers of a run as tiles, and what they rest on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.runs.printed import PrintedSpeed, in_place_of
from reasons import Code, Reason
from reports.runs.evidence import Evidence
from reports.runs.run_metrics import client_speeds, printed_meaning
from reports.runs.run_report import RunReport
from web import markup
from web.compare.sources.source_line import IN_NO_INTERVAL, silence_cell, standing_cell
from web.theme import DASH, duration, three_digits
from web.words import why, window_words

BY_LOG = "By its log, not ranked"
NO_REQUESTS = "no request of ours ended"
NO_STREAM = why(Reason(Code.NO_WHOLE_WINDOW))
NO_RATE = "how many tokens were drafted was not reported"
ACTIVE = "Windows that hold decoding and nothing else, of all; only these are ranked"
IN_NOTE = ("Steps per second", "Time to first token")  # what no imported log can know


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
    cell: Callable[[RunReport], Cell]


METRICS = (
    Metric(
        "Decode speed, mean",
        "Tokens over seconds of decoding: tokens per step × steps/s, and what the verdict is about",
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
        "Median of the decoding intervals, and their middle half (p25 to p75)",
        lambda f: Cell(f.summary.typical_tps, "tok/s", why(f.summary.reason), _middle_half(f)),
    ),
    Metric(
        "Decode speed, peak",
        "99th percentile of the decoding intervals of one request alone",
        lambda f: Cell(f.summary.peak_tps, "tok/s", why(f.summary.reason) or NO_STREAM),
    ),
    Metric(
        "Decode speed, floor",
        "10th percentile of the decoding intervals",
        lambda f: Cell(f.summary.floor_tps, "tok/s", why(f.summary.reason)),
    ),
    Metric(
        "Acceptance length",
        "Tokens per verified draft, its own token included: at most the draft tokens + 1",
        lambda f: Cell(f.acceptance.length, "tok/step", why(f.acceptance.reason)),
    ),
    Metric(
        "Acceptance rate",
        "Accepted of the drafted tokens",
        lambda f: Cell(_percent(f.acceptance.rate), "%", why(f.acceptance.reason) or NO_RATE),
    ),
    Metric(
        "Time to first token",
        "Median over the requests of our workload, as its client measured them",
        lambda f: Cell(f.requests.ttft_ms, "ms", NO_REQUESTS),
    ),
)


def evidence_table(reports: Sequence[RunReport], evidence: Sequence[Evidence], machines: Mapping[str, str]) -> str:
    """What each run's numbers rest on: machine, windows, requests, whether log and counters agree."""
    head = ["", *(markup.named(f.run.name, f.run.color) for f in reports)]
    body = [["Machine", *(_machine(machines.get(f.run.machine_id)) for f in reports)]]
    body.append([markup.hint("Active windows", ACTIVE), *(_windows(f) for f in reports)])
    body.append(["Requests", *(requests_words(f) for f in reports)])
    if any(one.silence for one in evidence):
        body.append([markup.hint("In no interval", IN_NO_INTERVAL), *(silence_cell(one) for one in evidence)])
    body.append(["Log and counters", *(standing_cell(one) for one in evidence)])
    return markup.table(head, body)


def _machine(title: str | None) -> str:
    return markup.text(title) if title else markup.number(DASH, why="an imported file does not name its machine")


def number_tiles(report: RunReport, facts: RunFacts) -> str:
    """The numbers that are known, large, and below them in one line those that are not, with the reasons."""
    cells = [(metric, metric.cell(report)) for metric in METRICS]
    tiles = [
        (markup.hint(named.title, named.meaning), markup.number(three_digits(value), named.unit))
        for named, value in client_speeds(facts)
        if value is not None
    ]
    tiles += [(markup.hint(m.title, m.meaning), _cell(cell)) for m, cell in cells if cell.value is not None]
    if printed := in_place_of(report.summary, report.printed):
        tiles.append((BY_LOG, markup.set_apart(markup.number(three_digits(printed.median_tps), "tok/s"))))
    if report.time_to_ready_s is not None:
        tiles.append(("Time to ready", markup.number(duration(report.time_to_ready_s))))
    if report.requests.sent:
        tiles.append(("Requests", requests_words(report)))
    if report.summary.definition:
        tiles.append((markup.hint("Active windows", ACTIVE), _windows(report)))
    in_note = IN_NOTE if report.run.kind == "imported" else ()
    missing = [(m.title, c.why) for m, c in cells if c.value is None and m.title not in in_note]
    return (markup.tiles(tiles) if tiles else "") + _printed_words(printed) + markup.unknown(missing)


def _printed_words(printed: PrintedSpeed | None) -> str:
    """What the number that the log prints is; nothing where none is shown."""
    if printed is None:
        return ""
    lines = f"{printed.lines:,} line{'s' * (printed.lines != 1)} ({printed.definition})"
    return f'<p class="pw-unknown">{BY_LOG}: {markup.text(printed_meaning(printed))}; {markup.text(lines)}.</p>'


def _cell(cell: Cell) -> str:
    shown = markup.number(three_digits(cell.value), cell.unit, cell.why or "not known")
    return shown + (f" <small>{cell.range}</small>" if cell.range and cell.value is not None else "")


def _factor(report: RunReport, name: str, unit: str) -> Cell:
    factors = report.summary.factors
    if factors is None:
        return Cell(None, unit, why(report.summary.reason))
    return Cell(getattr(factors, name), unit, why(factors.reason))


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100.0 * ratio


def _middle_half(report: RunReport) -> str:
    said = report.summary
    return f"({three_digits(said.typical_low_tps)} to {three_digits(said.typical_high_tps)})"


def _windows(report: RunReport) -> str:
    said = report.summary
    if said.definition is None:
        return markup.number(DASH, why=why(said.reason))
    counts = f"{said.active_windows} of {said.active_windows + said.excluded_windows}"
    return markup.number(counts, f"of {window_words(said.window_s)}")


def requests_words(report: RunReport) -> str:
    """'8, none failed'."""
    sent, failed = report.requests.sent, report.requests.failed
    return markup.number(str(sent), f"{failed or 'none'} failed") if sent else markup.number(DASH, why=NO_REQUESTS)

"""The tables of the Compare page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from analysis.config_diff import differing_fields
from analysis.guard import window_words
from web import markup
from web.facts import Facts
from web.theme import DASH, byte_size, duration, three_digits

Cell = tuple[float | None, str, str | None]  # value, unit, why it is unknown


def number_table(facts: Sequence[Facts]) -> str:
    """One column a run, one row a number; the change against the baseline beside each."""
    rows: list[tuple[str, Callable[[Facts], Cell]]] = [
        ("Peak decode speed (p99 of windows)", lambda f: (f.summary.peak_tps, "tok/s", f.summary.reason)),
        ("Typical decode speed (median)", lambda f: (f.summary.typical_tps, "tok/s", f.summary.reason)),
        ("Floor (p10)", lambda f: (f.summary.floor_tps, "tok/s", f.summary.reason)),
        ("Tokens per step", lambda f: _factor(f, "tokens_per_step", "tok/step")),
        ("Steps per second", lambda f: _factor(f, "steps_per_s", "steps/s")),
        ("Acceptance length", lambda f: (f.acceptance.length, "tok/step", f.acceptance.reason)),
        ("Acceptance rate (accepted / drafted)", lambda f: (_percent(f.acceptance.rate), "%", f.acceptance.reason)),
        ("Time to first token (median)", lambda f: (f.requests.ttft_ms, "ms", "no request of ours ended")),
    ]
    head = ["", *(f.run.name for f in facts)]
    body = [[markup.text(title), *_cells(value, facts)] for title, value in rows]
    body.append(["Typical range (p25 to p75)", *(_range(f) for f in facts)])
    body.append(["Active windows / all, of what length", *(_windows(f) for f in facts)])
    body.append(["Time to ready", *(markup.number(duration(f.time_to_ready_s)) for f in facts)])
    body.append(["Requests, failed among them", *(_requests(f) for f in facts)])
    body.append(["Workload", *(markup.text(f.subject.workload or DASH) for f in facts)])
    return markup.table(head, body)


def _cells(value: Callable[[Facts], Cell], facts: Sequence[Facts]) -> list[str]:
    base = value(facts[0])[0]
    return [_cell(*value(f), base if i else None) for i, f in enumerate(facts)]


def _cell(number: float | None, unit: str, why: str | None, base: float | None) -> str:
    shown = markup.number(three_digits(number), unit, why or "not known")
    if number is None or not base:
        return shown
    return f"{shown} <small>{number / base:.2f}×</small>"


def _factor(facts: Facts, name: str, unit: str) -> Cell:
    factors = facts.summary.factors
    if factors is None:
        return None, unit, facts.summary.reason
    return getattr(factors, name), unit, factors.reason


def _percent(ratio: float | None) -> float | None:
    return None if ratio is None else 100.0 * ratio


def _range(facts: Facts) -> str:
    low, high = facts.summary.typical_low_tps, facts.summary.typical_high_tps
    if low is None:
        return markup.number(DASH, why=facts.summary.reason)
    return markup.number(f"{three_digits(low)} to {three_digits(high)}", "tok/s")


def _windows(facts: Facts) -> str:
    said = facts.summary
    if said.definition is None:
        return markup.number(DASH, why=said.reason)
    counts = f"{said.active_windows} / {said.active_windows + said.excluded_windows}"
    return markup.number(counts, f"of {window_words(said)}")


def _requests(facts: Facts) -> str:
    return f"{facts.requests.sent} / {facts.requests.failed}" if facts.requests.sent else DASH


def config_table(facts: Sequence[Facts]) -> str:
    """The fields that are not equal in all runs, one row each."""
    rows = differing_fields([f.run.config.model_dump(mode="json") for f in facts])
    if not rows:
        return '<p class="pw-muted">Nothing: these runs had the same configuration.</p>'
    body = [
        [markup.text(key), *(markup.text(_shown(key, value)) for value in values)] for key, values in rows.items()
    ]  # fmt: skip
    return markup.table(["", *(f.run.name for f in facts)], body)


def _shown(key: str, value: object) -> str:
    if value is None:
        return "not stated"
    return byte_size(float(str(value))) if key.endswith("_bytes") else str(value)

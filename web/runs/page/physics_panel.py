"""The part of the Run page that holds a run against physics and money; each number says its formula on hover."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import streamlit as st

from analysis.comparison.facts import RunFacts
from analysis.physics.known import Quantity
from analysis.physics.speculation import BestK
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import prices_of
from reports.runs.run_report import RunReport
from web import markup
from web.actions import is_operator
from web.context import services
from web.fleet import asked_about
from web.runs.page.physics_words import (
    BANDS,
    BEST,
    CHANCE,
    COST,
    EVEN,
    FIT,
    IDLE,
    JOULE,
    KV,
    PHASES,
    PLAIN,
    RESTART,
    SHARE,
)
from web.theme import DASH, byte_size, duration, three_digits
from web.words import why

CAUSES = {
    "acceptance": "steps/s are alike, so acceptance tells them apart",
    "steps": "steps/s differ as well",
    "unknown": "steps/s are not known, so the cause is not",
}


class Tile(NamedTuple):
    """One finding as it is shown."""

    title: str
    meaning: str
    shown: str | None  # markup; None where it is not known
    reason: str | None = None


def physics_panel(report: RunReport, facts: RunFacts) -> None:
    """Tiles, what fits, where the start went; nothing of a run that never ran."""
    if report.run.ready_at is None and not report.windows:
        return
    prices = prices_of(services().settings.prices_path, report.run.machine_id)
    found = physics_of(asked_about([report.run]), report, facts, prices)
    st.subheader("Physics")
    st.html(panel_html(found))
    if is_operator() and (prices.per_hour is None or prices.per_kwh is None):
        problem = f"{prices.problem} " if prices.problem else ""
        machine = report.run.machine_id
        st.caption(
            f"{problem}Enter prices once per machine, in `prices.toml` in the data folder: "
            f'`currency = "EUR"`, `[machine."{machine}"]`, `per_hour = 2.50`, `per_kwh = 0.30`.'
        )


def panel_html(found: Physics) -> str:
    """The whole section as markup."""
    all_tiles = list(_tiles(found))
    shown = [(markup.hint(t.title, t.meaning), t.shown) for t in all_tiles if t.shown is not None]
    notes = [words for words in (_full_length(found), _bands_words(found)) if words]
    parts = [markup.tiles(shown) if shown else "", *(f"<p>{markup.text(words)}</p>" for words in notes)]
    return "".join(
        [
            *parts,
            _fits(found),
            _phases(found),
            markup.unknown((tile.title, tile.reason) for tile in all_tiles if tile.shown is None),
        ]
    )


def _tiles(found: Physics) -> Iterator[Tile]:
    yield _tile("KV of a token", KV, found.token_bytes, lambda v: markup.text(byte_size(v)))
    yield _tile("Share of the bandwidth limit", SHARE, found.share, _percent)
    yield _tile("Share without speculation", PLAIN, found.plain_share, _percent)
    if found.active_share is not None:
        yield Tile("Weights read for one token", SHARE, _percent(found.active_share))
    yield _tile("Break-even", EVEN, found.break_even, lambda v: markup.number(f"{v:.2f}", "tok/step"))
    yield _tile("Acceptance by chance", CHANCE, found.chance, _percent)
    yield Tile("Best number of draft tokens", BEST, _best(found.best), why(found.best_reason))
    one = "one band" if len(found.bands.bands) == 1 else "two bands" if found.bands.bands else None
    yield Tile("Acceptance", BANDS, one, why(found.bands.reason))
    yield _tile("Tokens per joule", JOULE, found.tokens_per_joule, lambda v: markup.number(three_digits(v), "tok/J"))
    yield _tile("Idle share of the power", IDLE, found.idle_share, _percent)
    money = found.prices.currency
    yield _tile("A million output tokens", COST, found.cost, lambda v: markup.number(f"{v:.2f}", money))
    yield _tile("A restart", RESTART, found.restart_tokens, lambda v: markup.number(f"{v:,.0f}", "tokens not served"))


def _tile(title: str, meaning: str, quantity: Quantity, show: Callable[[float], str]) -> Tile:
    return Tile(title, meaning, None if quantity.value is None else show(quantity.value), why(quantity.reason))


def _percent(share: float) -> str:
    return markup.number(f"{100 * share:.0f}", "%")


def _best(best: BestK | None) -> str | None:
    if best is None:
        return None
    between = "" if best.low == best.high else f" ({best.low} to {best.high})"
    return markup.number(f"{best.k}", f"{between} {best.speedup:.2f}× of none".strip())


def _full_length(found: Physics) -> str | None:
    return "One request of the full context length does not fit." if found.is_full_length_too_long else None


def _bands_words(found: Physics) -> str | None:
    """'Two bands of acceptance: 67 % of windows at 4.23, 33 % at 4.95; steps/s are alike, ...'"""
    if len(found.bands.bands) != 2:
        return None
    bands = ", ".join(
        f"{100 * band.share:.0f} % of windows at {band.acceptance_length:.2f}{_tps(band.decode_tps)}"
        for band in found.bands.bands
    )
    return f"Two bands of acceptance: {bands}; {CAUSES[found.bands.cause or 'unknown']}."


def _tps(value: float | None) -> str:
    return "" if value is None else f" ({three_digits(value)} tok/s)"


def _fits(found: Physics) -> str:
    """Nothing where nothing is known of it: what is missing for it is missing for the KV of a token too."""
    if all(fit.requests.value is None for fit in found.fits):
        return ""
    rows = [[f"{fit.context_tokens:,}", _requests(fit.requests)] for fit in found.fits]
    return markup.table(["tokens of a request", markup.hint("requests that fit", FIT)], rows, is_numeric=True)


def _requests(quantity: Quantity) -> str:
    if quantity.value is None:
        return markup.number(DASH, why=why(quantity.reason) or "not known")
    return markup.text(f"{quantity.value:.2f}" if quantity.value < 100 else f"{quantity.value:,.0f}")


def _phases(found: Physics) -> str:
    if len(found.phases.seconds) < 2:
        return ""
    rows = [[markup.text(name), markup.text(duration(seconds))] for name, seconds in found.phases.seconds.items()]
    return markup.table([markup.hint("phase of the start", PHASES), "took"], rows, is_numeric=True)

"""The Physics section of the Run page: speed against hardware limits, energy and cost, with formulas on hover."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import streamlit as st

from analysis.comparison.facts import RunFacts
from analysis.physics.formula_result import Quantity
from analysis.physics.speculation import BestK, tokens_by_k
from reports.runs.physics import Physics, physics_of
from reports.runs.prices import PriceFileError, Prices, prices_of, save_prices
from reports.runs.run_report import RunReport
from web import audit, markup
from web.actions import is_operator, require_operator
from web.context import services
from web.fleet import store_for_runs
from web.markup import markdown_text
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
    PLAIN_MEANING,
    POSITION,
    RESTART,
    SHARE,
    TOKENS_BY_K,
)
from web.theme import DASH, byte_size, duration, three_digits
from web.words import reason_text

CAUSES = {
    "acceptance": "steps/s are the same, so acceptance causes the difference",
    "steps": "steps/s differ as well",
    "unknown": "steps/s are not known, so the cause is not",
}


class PhysicsTile(NamedTuple):
    """One number of the section."""

    title: str
    meaning: str
    value_html: str | None  # markup; None if not known
    reason: str | None = None


def physics_panel(report: RunReport, facts: RunFacts) -> None:
    """Show tiles, KV capacity and startup phases; nothing for a run that never ran."""
    if report.run.ready_at is None and not report.windows:
        return
    prices = prices_of(services().settings.prices_path, report.run.machine_id)
    physics = physics_of(store_for_runs([report.run]), report, facts, prices)
    st.subheader("Physics")
    st.html(panel_html(physics))
    if is_operator():
        _price_form(report.run.machine_id, prices)


def _price_form(machine_id: str, prices: Prices) -> None:
    """A form for the machine's prices, which the costs of all its runs are computed from."""
    if prices.problem:
        st.caption(markdown_text(prices.problem))
        return
    with st.popover("Prices of this machine"), st.form(f"prices-{machine_id}", border=False):
        currency = st.text_input("Currency", prices.currency or "EUR", max_chars=8)
        per_hour = st.number_input("Price of an hour", 0.0, None, prices.per_hour, placeholder="not entered")
        per_kwh = st.number_input("Price of a kWh", 0.0, None, prices.per_kwh, placeholder="not entered")
        st.caption("Costs of all runs on this machine are computed from these. They are stored in `prices.toml`.")
        if st.form_submit_button("Save", type="primary"):
            _save_prices(machine_id, Prices(currency.strip() or "EUR", per_hour, per_kwh))


def _save_prices(machine_id: str, prices: Prices) -> None:
    require_operator()
    try:
        save_prices(services().settings.prices_path, machine_id, prices)
    except (PriceFileError, OSError) as error:
        st.error(markdown_text(str(error)))
        return
    audit.record("prices", detail=machine_id)
    st.rerun()


def panel_html(physics: Physics) -> str:
    """Return the whole section as markup."""
    all_tiles = list(_tiles(physics))
    known_tiles = [
        (markup.hint(tile.title, tile.meaning), tile.value_html) for tile in all_tiles if tile.value_html is not None
    ]
    notes = [note for note in (_full_length(physics), _bands_text(physics)) if note]
    parts = [markup.tiles(known_tiles) if known_tiles else "", *(f"<p>{markup.text(note)}</p>" for note in notes)]
    return "".join(
        [
            *parts,
            _positions(physics),
            _fits(physics),
            _phases(physics),
            markup.unknown_numbers((tile.title, tile.reason) for tile in all_tiles if tile.value_html is None),
        ]
    )


def _tiles(physics: Physics) -> Iterator[PhysicsTile]:
    yield _tile("KV per token", KV, physics.token_bytes, lambda v: markup.text(byte_size(v)))
    yield _tile("Share of the bandwidth limit", SHARE, physics.share, _percent)
    yield _tile("Share without speculation", PLAIN_MEANING, physics.plain_share, _percent)
    if physics.active_share is not None:
        yield PhysicsTile("Weights read per token", SHARE, _percent(physics.active_share))
    yield _tile("Break-even", EVEN, physics.break_even, lambda v: markup.number(f"{v:.2f}", "tok/step"))
    yield _tile("Acceptance by chance", CHANCE, physics.chance, _percent)
    yield PhysicsTile("Best number of draft tokens", BEST, _best(physics.best), reason_text(physics.best_reason))
    bands = "one band" if len(physics.bands.bands) == 1 else "two bands" if physics.bands.bands else None
    yield PhysicsTile("Acceptance", BANDS, bands, reason_text(physics.bands.reason))
    yield _tile("Tokens per joule", JOULE, physics.tokens_per_joule, lambda v: markup.number(three_digits(v), "tok/J"))
    yield _tile("Idle share of power", IDLE, physics.idle_share, _percent)
    currency = physics.prices.currency
    yield _tile("Cost of a million output tokens", COST, physics.cost, lambda v: markup.number(f"{v:.2f}", currency))
    yield _tile(
        "Cost of a restart", RESTART, physics.restart_tokens, lambda v: markup.number(f"{v:,.0f}", "tokens not served")
    )


def _tile(title: str, meaning: str, quantity: Quantity, show: Callable[[float], str]) -> PhysicsTile:
    return PhysicsTile(
        title, meaning, None if quantity.value is None else show(quantity.value), reason_text(quantity.reason)
    )


def _percent(share: float) -> str:
    return markup.number(f"{100 * share:.0f}", "%")


def _best(best: BestK | None) -> str | None:
    if best is None:
        return None
    interval = "" if best.low == best.high else f" ({best.low} to {best.high})"
    return markup.number(f"{best.k}", f"{interval} {best.speedup:.2f}× of none".strip())


def _positions(physics: Physics) -> str:
    """A row per draft position: its acceptance, and what that many draft tokens would give; the best k is marked."""
    if not physics.positions:
        return ""
    curve = physics.best.curve if physics.best else ()
    tokens = tokens_by_k(physics.positions)
    head = ["draft position", markup.hint("accepted up to it", POSITION), markup.hint("tokens per step", TOKENS_BY_K)]
    head += [markup.hint("speed over none", BEST)] if curve else []
    rows = []
    for k, share in enumerate(physics.positions, start=1):
        bar = f'<span class="pw-share" style="--pw-share:{min(100.0 * share, 100.0):.0f}%"></span>'
        row = [f"{k}{' (best)' if physics.best and physics.best.k == k else ''}", f"{_percent(share)} {bar}"]
        rows.append([*row, f"{tokens[k]:.2f}", *([f"{curve[k]:.2f}×"] if curve else [])])
    return markup.table(head, rows, is_numeric=True)


def _full_length(physics: Physics) -> str | None:
    return "One request of the full context length does not fit." if physics.is_full_length_too_long else None


def _bands_text(physics: Physics) -> str | None:
    """'Two bands of acceptance: 67 % of windows at 4.23, 33 % at 4.95; steps/s are the same, ...'"""
    if len(physics.bands.bands) != 2:
        return None
    bands = ", ".join(
        f"{100 * band.share:.0f} % of windows at {band.acceptance_length:.2f}{_tps(band.decode_tps)}"
        for band in physics.bands.bands
    )
    return f"Two bands of acceptance: {bands}; {CAUSES[physics.bands.cause or 'unknown']}."


def _tps(value: float | None) -> str:
    return "" if value is None else f" ({three_digits(value)} tok/s)"


def _fits(physics: Physics) -> str:
    """'' if nothing is known: the tile 'KV per token' then lists the same missing inputs."""
    if all(fit.requests.value is None for fit in physics.fits):
        return ""
    rows = [[f"{fit.context_tokens:,}", _requests(fit.requests)] for fit in physics.fits]
    return markup.table(["request length, tokens", markup.hint("requests that fit", FIT)], rows, is_numeric=True)


def _requests(quantity: Quantity) -> str:
    if quantity.value is None:
        return markup.number(DASH, why=reason_text(quantity.reason) or "not known")
    return markup.text(f"{quantity.value:.2f}" if quantity.value < 100 else f"{quantity.value:,.0f}")


def _phases(physics: Physics) -> str:
    if len(physics.phases.seconds) < 2:
        return ""
    rows = [[markup.text(name), markup.text(duration(seconds))] for name, seconds in physics.phases.seconds.items()]
    return markup.table([markup.hint("startup phase", PHASES), "duration"], rows, is_numeric=True)

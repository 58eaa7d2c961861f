"""Limits of how many matching runs are shown, the texts that say so, and the button for more."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from storage.queries.run_queries import RunFilter
from web.runs.table.run_filters import ORDERS, is_ascending
from web.url_state import address_button, single_choice

# Steps of the maximum number of table rows and of grouped runs. With a store of ten thousand runs, the last steps take
# about a second on two cores.
ROWS = (200, 500, 1_000, 2_000)
GROUPED_ROWS = (1_000, 2_000)


def row_limit(steps: Sequence[int], name: str = "rows") -> int:
    """Return the maximum number of rows; the URL parameter `name` keeps it."""
    choice = single_choice(name, f"runs-{name}", [str(step) for step in steps], str(steps[0]))
    return int(choice.parse(st.query_params.get_all(name)))


def show_more(steps: Sequence[int], matching: int, name: str = "rows") -> None:
    """A button for the next step, if more runs match."""
    limit = row_limit(steps, name)
    next_step = next((step for step in steps if step > limit), None)
    if next_step is None or matching <= limit:
        return
    params = {param: st.query_params.get_all(param) for param in st.query_params} | {name: [str(next_step)]}
    label = f"Show {next_step:,}" if next_step < matching else f"Show all {matching:,}"
    address_button(label, f"runs-more-{name}", params)


def count_text(shown_count: int, matching: int, total: int, run_filter: RunFilter) -> str:
    """'the first 200 of 230 that match, of 254 runs that have ended (newest first)'."""
    ended = f"{total:,} runs that have ended"
    if shown_count == matching:
        return f"{shown_count:,} of {ended}"
    whole_text = ended if matching == total else f"{matching:,} that match, of {ended}"
    return f"the first {shown_count:,} of {whole_text} ({order_text(run_filter)})"


def grouped_count_text(grouped: int, matching: int, run_filter: RunFilter) -> str:
    """'of the first 1,000 of 2,300 that match (newest first)'; '' if all are in the groups."""
    return "" if grouped >= matching else f" of the first {grouped:,} of {matching:,} ({order_text(run_filter)})"


def order_text(run_filter: RunFilter) -> str:
    """'newest first', or 'sorted by Stream, tok/s, descending'."""
    if run_filter.order_by == "newest":
        return "oldest first" if run_filter.is_reversed else "newest first"
    direction = "ascending" if is_ascending(run_filter.order_by, run_filter.is_reversed) else "descending"
    return f"sorted by {ORDERS[run_filter.order_by]}, {direction}"

"""How much of what matches is shown: said in words where it is not all, and more of it on demand."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from storage.ask.run_queries import RunFilter
from web.kept import address_button, kept_one
from web.runs.table.run_filters import ORDERS

# How many at most, in steps, of rows of the table and of runs put together to groups. The last step of each is what a
# store of ten thousand runs still answers in about a second on two cores.
ROWS = (200, 500, 1_000, 2_000)
GROUPED = (1_000, 2_000)


def most_shown(steps: Sequence[int], name: str = "rows") -> int:
    """How many are shown at most; the address keeps it under this name."""
    kept = kept_one(name, f"runs-{name}", [str(step) for step in steps], str(steps[0]))
    return int(kept.read(st.query_params.get_all(name)))


def show_more(steps: Sequence[int], matching: int, name: str = "rows") -> None:
    """The button that shows the next step, where there is more to show."""
    most = most_shown(steps, name)
    following = next((step for step in steps if step > most), None)
    if following is None or matching <= most:
        return
    params = {word: st.query_params.get_all(word) for word in st.query_params} | {name: [str(following)]}
    label = f"Show {following:,}" if following < matching else f"Show all {matching:,}"
    address_button(label, f"runs-more-{name}", params)


def how_many(shown: int, matching: int, of_all: int, wanted: RunFilter) -> str:
    """'the first 200 of 230 that match, of 254 runs that have ended (newest first)'."""
    ended = f"{of_all:,} runs that have ended"
    if shown == matching:
        return f"{shown:,} of {ended}"
    of = ended if matching == of_all else f"{matching:,} that match, of {ended}"
    return f"the first {shown:,} of {of} ({in_words(wanted)})"


def how_many_grouped(put_together: int, matching: int, wanted: RunFilter) -> str:
    """'of the first 1,000 of 2,300 that match (newest first)'; empty where all are in the groups."""
    return "" if put_together >= matching else f" of the first {put_together:,} of {matching:,} ({in_words(wanted)})"


def in_words(wanted: RunFilter) -> str:
    """'newest first', 'in order of Stream, tok/s', the latter 'reversed' where it is."""
    if wanted.order_by == "newest":
        return "oldest first" if wanted.is_reversed else "newest first"
    return f"in order of {ORDERS[wanted.order_by]}{', reversed' * wanted.is_reversed}"

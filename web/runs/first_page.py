"""The first look at the page Runs, before its script has run: the welcome, or the newest runs."""

from __future__ import annotations

from storage.store import Store
from web.guided_demo.welcome import welcome
from web.runs.table.run_cards import newest_cards

TITLE = '<h1 class="pw-title">Runs</h1>'


def first_page(store: Store) -> str:
    """Return the welcome of an empty store as HTML, else the page's title and its newest runs."""
    cards = newest_cards(store)
    return f"{TITLE}{cards}" if cards else welcome(store)

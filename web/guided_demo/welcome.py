"""The welcome text of the first page, shown while there is no run."""

from __future__ import annotations

from storage.store import Store

WELCOME = (
    '<h1 class="pw-title">Pitwall</h1>'
    '<p class="pw-lead">Launch configurations of a language model server, watch them live side by side, '
    "and learn which is faster and why.</p>"
    '<p class="pw-lead pw-muted">Every number shows who measured it and how; '
    "results that cannot be compared are not ranked.</p>"
)


def welcome(store: Store) -> str:
    """Return the welcome as HTML, or '' once there is a run."""
    return "" if store.runs(limit=1) else WELCOME

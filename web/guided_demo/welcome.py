"""What the first page begins with while there is no run: what Pitwall is for."""

from __future__ import annotations

from storage.store import Store

WELCOME = (
    '<h1 class="pw-title">Pitwall</h1>'
    '<p class="pw-lead">Launch configurations of a language model server, watch them live side by side, '
    "and learn which is faster and why.</p>"
    '<p class="pw-lead pw-muted">Every number says who measured it and how; what cannot be compared is not ranked.</p>'
)


def welcome(store: Store) -> str:
    """As HTML; nothing once there is a run."""
    return "" if store.runs(limit=1) else WELCOME

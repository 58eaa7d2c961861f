"""Whose runs a statement asks about: this Pitwall's, or all machines' by the lake; for the operator, in the address."""

from __future__ import annotations

from storage.sandbox.client import Sandbox
from web.context import services
from web.fleet import ALL, SCOPE, SCOPES, reads_fleet
from web.kept import choose_segment, kept_one
from web.sql.shown import saved_one, shown_now

MINE = "mine"
HELP = "All machines: the lake is asked, through a process that reaches nothing else; an answer takes seconds."


def choose_whose() -> None:
    """A switch, where there is a lake and whoever looks may read it."""
    if not reads_fleet():
        return
    kept = kept_one(SCOPE, "sql-machines", list(SCOPES), saved_one(SCOPE, SCOPES, MINE))
    choose_segment("Asked of", kept, SCOPES, shows_title=True, help_text=HELP)


def whose() -> str:
    """What the address or the saved question says, for who may; a stranger's opens nothing more to anybody."""
    return ALL if reads_fleet() and shown_now().get(SCOPE) == [ALL] else MINE


def sandbox_of(asked: str) -> Sandbox:
    """What answers about these machines' runs."""
    lake = services().lake_sandbox
    return lake if asked == ALL and lake is not None else services().sandbox

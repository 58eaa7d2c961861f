"""The operator's choice, kept in the address, to query this Pitwall's runs or those of all machines in the lake."""

from __future__ import annotations

from storage.sandbox.client import Sandbox
from web.context import services
from web.fleet import ALL, SCOPE, SCOPES, can_read_fleet
from web.sql.display_options import current_params, saved_choice
from web.url_state import choose_segment, single_choice

OWN_RUNS = "mine"
HELP = "All machines: queries the lake through a process that can reach nothing else; a result takes seconds."


def choose_scope() -> None:
    """Show the switch if there is a lake and the viewer may read it."""
    if not can_read_fleet():
        return
    choice = single_choice(SCOPE, "sql-machines", list(SCOPES), saved_choice(SCOPE, SCOPES, OWN_RUNS))
    choose_segment("Runs of", choice, SCOPES, shows_title=True, help_text=HELP)


def current_scope() -> str:
    """Return the scope from the address or the saved query; OWN_RUNS for viewers who may not read the lake."""
    return ALL if can_read_fleet() and current_params().get(SCOPE) == [ALL] else OWN_RUNS


def sandbox_of(scope: str) -> Sandbox:
    """Return the sandbox for this scope."""
    lake = services().lake_sandbox
    return lake if scope == ALL and lake is not None else services().sandbox

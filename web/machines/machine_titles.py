"""The machines and their titles on the pages."""

from __future__ import annotations

from collections.abc import Sequence

from storage.queries.machine_queries import MachineRow, machines
from storage.queries.run_data import Queryable
from web.actions import is_member
from web.context import services


def known_machines(source: Queryable) -> Sequence[MachineRow]:
    """Return all machines; those of this store are cached for all viewers until a row changes."""
    store = services().store
    return store.query_cache.get("machine rows", lambda: machines(store)) if source is store else machines(source)


def machine_titles(store: Queryable) -> dict[str, str]:
    """Return by machine id its label, else its host name (not for guests), else its id."""
    shows_host = is_member()
    return {row.machine_id: row.title(shows_host) for row in machines(store)}

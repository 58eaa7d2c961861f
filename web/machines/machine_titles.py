"""What a machine is called on the pages."""

from __future__ import annotations

from collections.abc import Sequence

from storage.ask.machine_queries import MachineRow, machines
from storage.ask.queries import Asked
from web.actions import is_member
from web.context import services


def known_machines(asked: Asked) -> Sequence[MachineRow]:
    """All of them; of this store asked once for all who look, until a row has changed."""
    store = services().store
    return store.answers.of("machine rows", lambda: machines(store)) if asked is store else machines(asked)


def machine_titles(store: Asked) -> dict[str, str]:
    """Machine id -> its label, else its host name, which a shared link does not show, else the id."""
    shows_host = is_member()
    return {row.machine_id: row.title(shows_host) for row in machines(store)}

"""What a machine is called on the pages."""

from __future__ import annotations

from storage.ask.machine_queries import machines
from storage.ask.queries import Asked
from web.actions import is_member


def machine_titles(store: Asked) -> dict[str, str]:
    """Machine id -> its label, else its host name, which a shared link does not tell, else the id."""
    tells_host = is_member()
    return {row.machine_id: row.title(tells_host) for row in machines(store)}

"""Queries about machines, for the store, the published file or the lake."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from machine.identity import REMOTE
from storage.queries.run_data import Queryable
from storage.queries.statements import statement


@dataclass(frozen=True, slots=True)
class MachineRow:
    """One machine; `gpus` have index, uuid, name, memory_total_bytes and memory_kind."""

    machine_id: str
    label: str | None
    host_name: str | None
    gpus: Sequence[Mapping[str, Any]]
    gpus_reason: str | None
    driver_version: str | None
    cpu: str | None
    cores: int | None
    memory_bytes: int | None
    addresses: Sequence[str] | None  # without loopback
    runs: int
    seen_at: datetime | None
    url: str | None = None  # of the Pitwall there

    def title(self, shows_host: bool = True) -> str:
        """The label, else the host name if hosts may be shown, else the id."""
        if self.label or shows_host:
            return self.label or self.host_name or self.machine_id
        return without_host(self.machine_id)


def without_host(machine_id: str) -> str:
    """The id, or a placeholder if it contains a host name."""
    return "a remote machine" if machine_id.startswith(REMOTE) else machine_id


def machine_labels(store: Queryable) -> dict[str, str]:
    """Return the label of each labelled machine by its id."""
    rows = store.query("SELECT machine_id, label FROM raw.machine_labels WHERE label IS NOT NULL").to_pylist()
    return {row["machine_id"]: row["label"] for row in rows}


def machines(store: Queryable) -> list[MachineRow]:
    """Return all known machines, the one with the newest run first."""
    return [MachineRow(**row) for row in store.query(statement("machines"), {}).to_pylist()]

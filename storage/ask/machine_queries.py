"""The questions about machines, asked of the store, the published file or the lake alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from machine.identity import REMOTE
from storage.ask.queries import Asked
from storage.ask.statements import statement


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
        """Its label, else its host name where hosts may be shown, else its id."""
        if self.label or shows_host:
            return self.label or self.host_name or self.machine_id
        return without_host(self.machine_id)


def without_host(machine_id: str) -> str:
    """The id, unless it is the name of a host."""
    return "a remote machine" if machine_id.startswith(REMOTE) else machine_id


def machine_labels(store: Asked) -> dict[str, str]:
    """Machine id -> what a person calls it."""
    rows = store.query("SELECT machine_id, label FROM raw.machine_labels WHERE label IS NOT NULL").to_pylist()
    return {row["machine_id"]: row["label"] for row in rows}


def machines(store: Asked) -> list[MachineRow]:
    """All machines that are known, the one with the newest run first."""
    return [MachineRow(**row) for row in store.query(statement("machines"), {}).to_pylist()]

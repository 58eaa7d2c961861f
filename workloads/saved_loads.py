"""Loads saved under a name: one JSON file each in the data folder, editable and suitable for git."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain import JsonValue
from machine.private_files import write_private
from workloads import REGISTRY

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,-]{0,59}")
MAX_BYTES = 1 << 20


class SavedLoad(BaseModel):
    """A workload with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    workload: str
    params: dict[str, JsonValue] = Field(default_factory=dict)


class SavedLoads:
    """Saved loads of a folder by name, which is the file name without its suffix."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> dict[str, SavedLoad]:
        """Return the loads by name in alphabetical order, without those that this Pitwall cannot use."""
        names = sorted((path.stem for path in self._folder.glob("*.json")), key=str.lower)
        loads = {name: self._read(name) for name in names if NAME.fullmatch(name)}
        return {name: load for name, load in loads.items() if load}

    def _read(self, name: str) -> SavedLoad | None:
        path = self._folder / f"{name}.json"
        try:
            if not path.is_file() or path.stat().st_size > MAX_BYTES:  # reading a pipe would block
                return None
            load = SavedLoad.model_validate_json(path.read_bytes())
            REGISTRY[load.workload].validate_params(load.params)
        except (OSError, KeyError, ValidationError):
            return None
        return load

    def save(self, name: str, load: SavedLoad) -> None:
        """Save a load, replacing one of this name; raises ValueError for an invalid name, or OSError."""
        if not NAME.fullmatch(name):
            raise ValueError("A name has at most 60 letters, digits, spaces, commas, dots, - and _.")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._folder / f"{name}.json", load.model_dump_json(indent=1).encode())

    def delete(self, name: str) -> None:
        """Delete a saved load."""
        if NAME.fullmatch(name):
            (self._folder / f"{name}.json").unlink(missing_ok=True)

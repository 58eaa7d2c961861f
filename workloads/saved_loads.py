"""Loads that people keep under a name: one JSON file each in the data folder, for an editor and git too."""

from __future__ import annotations

import re
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain import JsonValue
from machine.private_files import write_private
from workloads import REGISTRY

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.,-]{0,59}")
MOST_BYTES = 1 << 20


class SavedLoad(BaseModel):
    """A workload with its parameters."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    workload: str
    params: dict[str, JsonValue] = Field(default_factory=dict)


class SavedLoads:
    """The folder's loads by name; a name is the file's without its ending."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def all(self) -> dict[str, SavedLoad]:
        """By name, in alphabetical order; what this Pitwall cannot use is left out."""
        names = sorted((path.stem for path in self._folder.glob("*.json")), key=str.lower)
        found = {name: self._read(name) for name in names if NAME.fullmatch(name)}
        return {name: load for name, load in found.items() if load}

    def _read(self, name: str) -> SavedLoad | None:
        path = self._folder / f"{name}.json"
        try:
            if not path.is_file() or path.stat().st_size > MOST_BYTES:  # a pipe would be waited for
                return None
            load = SavedLoad.model_validate_json(path.read_bytes())
            REGISTRY[load.workload].checked(load.params)
        except (OSError, KeyError, ValidationError):
            return None
        return load

    def save(self, name: str, load: SavedLoad) -> None:
        """Keep it in place of what stood under this name; raises ValueError on a name we do not take, or OSError."""
        if not NAME.fullmatch(name):
            raise ValueError("A name has letters, digits, spaces, commas, dots, - and _, and at most 60 of them.")
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._folder / f"{name}.json", load.model_dump_json(indent=1).encode())

    def delete(self, name: str) -> None:
        """Remove a load that was kept."""
        if NAME.fullmatch(name):
            (self._folder / f"{name}.json").unlink(missing_ok=True)

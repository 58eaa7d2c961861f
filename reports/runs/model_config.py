"""A run's model as its config.json describes it: noted at the start, or read from its folder on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from domain import Run
from machine.identity import machine_id
from machine.json_object import read_object
from machine.regular_file import NotRegularError
from reasons import Code, Reason

CONFIG = "config.json"
LARGEST_BYTES = 4 << 20


def model_config(run: Run, here: str | None = None) -> Mapping[str, Any] | Reason:
    """Its fields as they were noted at the start, else as the file says now; or why they are unknown.

    here: the id of this machine, which alone has the file.
    """
    noted = ((run.provenance or {}).get("model") or {}).get("shape")
    if isinstance(noted, Mapping) and noted:
        return noted
    place = _place(run)
    if place is None or run.machine_id != (here or machine_id()):
        return Reason(Code.MODEL_NOT_HERE)
    if place.is_file():
        return Reason(Code.CONFIG_NOT_READ, values={"why": "the model is a single file, which has none"})
    return read_config(place / CONFIG)


def read_config(path: Path) -> Mapping[str, Any] | Reason:
    """One JSON object from a regular file of at most 4 MiB."""
    try:
        return read_object(path, LARGEST_BYTES)
    except FileNotFoundError:
        return Reason(Code.CONFIG_NOT_READ, values={"why": "there is none"})
    except (OSError, RuntimeError, NotRegularError):
        return Reason(Code.CONFIG_NOT_READ, values={"why": "it may not be read"})
    except ValueError as error:
        return Reason(Code.CONFIG_NOT_READ, values={"why": str(error)})


def _place(run: Run) -> Path | None:
    """Where its start found the model; of a run that was not launched here, a path in its command."""
    found = (run.provenance or {}).get("model")
    if isinstance(found, Mapping) and isinstance(found.get("path"), str):
        return Path(found["path"])
    named = run.config.model
    is_path = named is not None and named.startswith("/") and not run.config.image
    return Path(named) if named and is_path and Path(named).exists() else None

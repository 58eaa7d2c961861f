"""Config.json of a run's model: as recorded at the start, or read from its folder on this machine."""

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


def model_config(run: Run, local_machine_id: str | None = None) -> Mapping[str, Any] | Reason:
    """Return the fields as recorded at the start, else from the file now; or the reason why they are unknown.

    local_machine_id: the id of this machine, whose files are read; None: determine it.
    """
    noted = ((run.provenance or {}).get("model") or {}).get("shape")
    if isinstance(noted, Mapping) and noted:
        return noted
    path = _model_path(run)
    if path is None or run.machine_id != (local_machine_id or machine_id()):
        return Reason(Code.MODEL_NOT_HERE)
    if path.is_file():
        return Reason(Code.CONFIG_NOT_READ, values={"why": "the model is a single file without one"})
    return read_config(path / CONFIG)


def read_config(path: Path) -> Mapping[str, Any] | Reason:
    """Read one JSON object from a regular file of at most 4 MiB."""
    try:
        return read_object(path, LARGEST_BYTES)
    except FileNotFoundError:
        return Reason(Code.CONFIG_NOT_READ, values={"why": "it does not exist"})
    except (OSError, RuntimeError, NotRegularError):
        return Reason(Code.CONFIG_NOT_READ, values={"why": "it cannot be opened"})
    except ValueError as error:
        return Reason(Code.CONFIG_NOT_READ, values={"why": str(error)})


def _model_path(run: Run) -> Path | None:
    """Return the model's path as recorded at the start, else the path in the command if it exists here."""
    model = (run.provenance or {}).get("model")
    if isinstance(model, Mapping) and isinstance(model.get("path"), str):
        return Path(model["path"])
    model_name = run.config.model
    is_path = model_name is not None and model_name.startswith("/") and not run.config.image
    return Path(model_name) if model_name and is_path and Path(model_name).exists() else None

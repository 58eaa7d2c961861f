"""A TOML file that holds secrets: its owner's alone, checked, and described without a value of it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from errors import PitwallError

Model = TypeVar("Model", bound=BaseModel)
FOLDER = "folder"  # in the context of the model's validation: where the file lies, for the paths that it names


def read_secrets(path: Path, model: type[Model], error: type[PitwallError]) -> Model | None:
    """The file's; None without one. Raises `error` for one that others may read, or that is wrong.

    It names what is wrong, never a value: that may be a secret.
    """
    try:
        text, mode = path.read_text(encoding="utf-8"), path.stat().st_mode
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError):
        raise error(f"{path} cannot be read.") from None
    if mode & 0o077:
        raise error(f"{path} holds secrets and may be read by others: `chmod 600 {path}`.")
    try:
        return model.model_validate(tomllib.loads(text), context={FOLDER: path.parent.absolute()})
    except tomllib.TOMLDecodeError:
        raise error(f"{path} is no TOML.") from None
    except ValidationError as wrong:
        first = wrong.errors(include_input=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        raise error(f"{path}: {name} is wrong: {first['msg'].lower()}.") from None

"""Reads a TOML file of secrets: readable by its owner only, validated, its values never shown in errors."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from errors import PitwallError
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.toml_text import parse_toml

Model = TypeVar("Model", bound=BaseModel)
FOLDER = "folder"  # key in the validation context: the file's folder, the base of relative paths in the file


def read_secrets(path: Path, model: type[Model], error: type[PitwallError]) -> Model | None:
    """Return the file's content; None without a file. Raises `error` if others may read the file or it is invalid.

    The message names the invalid key, never a value, which may be a secret.
    """
    try:
        with open_regular(pin_path(path)) as file:
            text, mode = file.read().decode(), os.fstat(file.fileno()).st_mode
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, NotRegularError, UnicodeDecodeError):  # RuntimeError: a loop of links
        raise error(f"{path} cannot be read.") from None
    if mode & 0o077:
        raise error(f"{path} holds secrets but is readable by other users: run `chmod 600 {path}`.")
    try:
        return model.model_validate(parse_toml(text), context={FOLDER: path.parent.absolute()})
    except tomllib.TOMLDecodeError:
        raise error(f"{path} is not valid TOML.") from None
    except ValidationError as invalid:
        first = invalid.errors(include_input=False)[0]
        name = ".".join(str(key) for key in first["loc"])
        raise error(f"{path}: {name} is invalid: {first['msg'].lower()}.") from None

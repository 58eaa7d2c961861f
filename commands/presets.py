"""Reads presets, one launchable configuration per TOML file; an error names the file and line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from commands.secrets import take_secrets
from commands.write import command_of
from domain import Config
from errors import PitwallError

SHIPPED = Path(__file__).resolve().parent.parent / "presets"
WRONG_TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text in quotes",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
_HEADER = re.compile(r"\s*\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*("[^"]*"|'[^']*'|[\w-]+(?:\.[\w-]+)*)\s*=""")
_SYNTAX = re.compile(r"(?P<what>.*) \(at line (?P<line>\d+), column \d+\)$")


class PresetError(PitwallError):
    """A preset cannot be read or written; the message is one sentence."""


class Needs(BaseModel):
    """The hardware requirements of a preset beyond its command."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    gpu: str | None = None  # GPU it was published on, as text
    gpu_count: int = 0
    compute_capability: str | None = None  # minimum, such as '12.0'
    gpu_memory_gib: float | None = None  # minimum per GPU


class Preset(BaseModel):
    """A configuration to start from.

    `frame`: the words around the fields, such as flags of the container runtime or a script before the server.
    `inferred` and `required`: a reason by field or flag, for values chosen because the source states none, and for
    values that the user must enter.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str
    about: str = ""
    published: str | None = None  # the configuration of reference/ that this is
    frame: list[str] = Field(default_factory=list)
    config: Config
    needs: Needs = Field(default_factory=Needs)
    inferred: dict[str, str] = Field(default_factory=dict)
    required: dict[str, str] = Field(default_factory=dict)

    @field_validator("inferred", "required")
    @classmethod
    def _names_fields(cls, reasons: dict[str, str]) -> dict[str, str]:
        for name in reasons:
            if not name.startswith("--") and name.split(".")[0] not in Config.model_fields:
                raise ValueError(f"{name!r} is not a field of a configuration")
        return reasons

    @property
    def launchable(self) -> Config:
        """The configuration with the command that starts it."""
        framed = self.config.model_copy(update={"argv": tuple(self.frame)})
        return framed.model_copy(update={"argv": tuple(command_of(framed))})


class PresetCollection(NamedTuple):
    """The presets of some folders by file stem, and the problems of invalid files."""

    presets: dict[str, Preset]
    problems: list[str]


def read_preset(path: Path) -> Preset:
    """Read one file; raises PresetError with file, line and problem."""
    if path.exists() and not path.is_file():  # reading a pipe would block
        raise PresetError(f"{path}: it is not a regular file.")
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        repr(document)  # raises ValueError for a long hexadecimal integer, which no command or message can have
        return Preset.model_validate(document, strict=True)
    except OSError as error:
        raise PresetError(f"{path}: it cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise PresetError(f"{path}: it is not UTF-8 text.") from error
    except tomllib.TOMLDecodeError as error:
        match = _SYNTAX.match(str(error))
        position = f"{path}:{match['line']}" if match else str(path)
        raise PresetError(f"{position}: this is not TOML: {match['what'] if match else error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        location = [str(part) for part in first["loc"]]
        raise PresetError(f"{path}:{line_of(text, location)}: {_problem(first, location)}.") from error
    except (ValueError, RecursionError):  # an integer of thousands of digits, lists in lists in lists
        raise PresetError(f"{path}: this is not TOML: a number is too long, or values are nested too deeply.") from None


def _problem(error: Mapping[str, Any], location: Sequence[str]) -> str:
    key = ".".join(location)
    kind = error["type"]
    if kind == "missing":
        return f"the key {key} is missing"
    if kind == "extra_forbidden":
        return f"{key} is not a key of a preset"
    if kind in WRONG_TYPES:
        return f"{key} must be {WRONG_TYPES[kind]}, not {error['input']!r}"
    return f"{key}: {str(error['msg']).removeprefix('Value error, ')}"


def line_of(text: str, location: Sequence[str]) -> int:
    """Return the line of a key (from 1), else that of the nearest enclosing table, else 1."""
    target = list(location)
    table: list[str] = []
    best_length, best_line = 0, 1
    for number, line in enumerate(text.splitlines(), 1):
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            table = header[1].split(".")
        path = table if header else [*table, *_key_parts(key[1])] if key else []
        if len(path) > best_length and path == target[: len(path)]:
            best_length, best_line = len(path), number
    return best_line


def _key_parts(key: str) -> list[str]:
    return [key[1:-1]] if key[0] in "\"'" else key.split(".")


def read_presets(folders: Iterable[Path]) -> PresetCollection:
    """Read all presets of the folders; a file in a later folder replaces one with the same name."""
    collection = PresetCollection({}, [])
    for path in [path for folder in folders for path in sorted(folder.glob("*.toml"))]:
        try:
            collection.presets[path.stem] = read_preset(path)
        except PresetError as problem:
            collection.problems.append(str(problem))
    return collection


def preset_text(preset: Preset) -> str:
    """Return the preset as TOML, without unstated values."""
    fields = preset.model_dump(mode="json", exclude_defaults=True)
    return tomli_w.dumps({key: value for key, value in fields.items() if key == "config" or value})


def preset_of(name: str, config: Config) -> Preset:
    """Return a preset of a configuration and its words, with secrets masked."""
    config, _ = take_secrets(config)
    fields = config.model_dump(exclude_none=True, exclude={"argv"})
    return Preset(name=name, frame=list(config.argv), config=Config.model_validate(fields))


def save_preset(folder: Path, name: str, config: Config) -> Path:
    """Write a new preset; raises PresetError if the name is empty or taken, or the folder cannot be written."""
    stem = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if not stem:
        raise PresetError("A preset needs a name with letters or digits in it.")
    path = folder / f"{stem}.toml"
    partial = path.with_suffix(".partial")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial.write_text(preset_text(preset_of(name, config)), encoding="utf-8")
        path.hardlink_to(partial)  # atomic, and never replaces another file
    except FileExistsError as error:
        raise PresetError(f"A preset with this name already exists ({path}): choose another name.") from error
    except OSError as error:
        raise PresetError(f"The preset cannot be written: {error.strerror} ({path}).") from error
    finally:
        with suppress(OSError):
            partial.unlink()
    return path

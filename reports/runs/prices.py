"""Prices of a machine, as entered in prices.toml in the data folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.toml_text import parse_toml

LARGEST_BYTES = 1 << 16


class _MachinePrice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    per_hour: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    per_kwh: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")
    currency: str = Field(min_length=1, max_length=8)
    machine: dict[str, _MachinePrice] = Field(default_factory=dict)


class Prices(NamedTuple):
    """Prices of one machine; None: not entered. `problem`: why the file was not read, as a sentence."""

    currency: str = ""
    per_hour: float | None = None
    per_kwh: float | None = None
    problem: str | None = None


def prices_of(path: Path, machine_id: str) -> Prices:
    """Return the prices of a machine, else those under 'default'."""
    try:
        with open_regular(pin_path(path)) as file:
            content = _File.model_validate(parse_toml(file.read(LARGEST_BYTES).decode()))
    except FileNotFoundError:
        return Prices()
    except (OSError, RuntimeError, NotRegularError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return Prices(problem=f"{path.name} is not a readable TOML file.")
    except ValidationError as error:
        first = error.errors()[0]
        return Prices(problem=f"{path.name}: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}.")
    machine = content.machine.get(machine_id) or content.machine.get("default") or _MachinePrice()
    return Prices(content.currency, machine.per_hour, machine.per_kwh)

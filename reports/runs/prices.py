"""Prices of a machine, as entered on a run's page or in prices.toml in the data folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import NamedTuple

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from errors import PitwallError
from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.shared_file import file_lock
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


class PriceFileError(PitwallError):
    """A file of prices that cannot be read; the message is one sentence."""


def prices_of(path: Path, machine_id: str) -> Prices:
    """Return the prices of a machine, else those under 'default'."""
    try:
        content = _read(path)
    except PriceFileError as error:
        return Prices(problem=str(error))
    if content is None:
        return Prices()
    machine = content.machine.get(machine_id) or content.machine.get("default") or _MachinePrice()
    return Prices(content.currency, machine.per_hour, machine.per_kwh)


def save_prices(path: Path, machine_id: str, prices: Prices) -> None:
    """Enter the prices of a machine; those of other machines stay, comments in the file do not.

    Raises PriceFileError if the file cannot be read, so that nothing in it is lost, and OSError.
    """
    with file_lock(path):
        content = _read(path)
        machines = {
            name: price.model_dump(exclude_none=True) for name, price in (content.machine if content else {}).items()
        }
        entered = {"per_hour": prices.per_hour, "per_kwh": prices.per_kwh}
        machines[machine_id] = {name: price for name, price in entered.items() if price is not None}
        write_private(path, tomli_w.dumps({"currency": prices.currency, "machine": machines}).encode())


def _read(path: Path) -> _File | None:
    """Return the checked content; None without a file."""
    try:
        with open_regular(pin_path(path)) as file:
            return _File.model_validate(parse_toml(file.read(LARGEST_BYTES).decode()))
    except FileNotFoundError:
        return None
    except (OSError, RuntimeError, NotRegularError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        raise PriceFileError(f"{path.name} is not a readable TOML file.") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise PriceFileError(f"{path.name}: {place}: {first['msg'].lower()}.") from None

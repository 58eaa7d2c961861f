"""Where Pitwall keeps its things and where it listens, read once from the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, HttpUrl, ValidationError

from errors import PitwallError

VERSION = "0.1.0"
VARIABLES = {
    "data_dir": "PITWALL_DATA",
    "host": "PITWALL_HOST",
    "port": "PITWALL_PORT",
    "public_url": "PITWALL_PUBLIC_URL",
}


class Settings(BaseModel):
    """Validated settings; a wrong value is a clear error at start, never a surprise later."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    data_dir: Path
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65535)
    public_url: HttpUrl | None = None  # how others reach us, behind a reverse proxy

    def at(self, host: str | None, port: int) -> Settings:
        """The same settings for the address that the server really listens on."""
        return self.model_copy(update={"host": host or self.host, "port": port})

    @property
    def url(self) -> str:
        """What to open in a browser on this machine, or from elsewhere where PITWALL_PUBLIC_URL says how."""
        if self.public_url:
            return str(self.public_url).rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    def url_under(self, base_path: str) -> str:
        """`url` for what is served below '/base' or '': a public URL may say the base path already."""
        return self.url if self.public_url and self.url.endswith(base_path) else self.url + base_path

    @property
    def store_path(self) -> Path:
        """The owner's own file: locked while Pitwall runs."""
        return self.data_dir / "store.duckdb"

    @property
    def published_path(self) -> Path:
        """The read-only file for everybody else."""
        return self.data_dir / "monitor.duckdb"

    @property
    def runs_dir(self) -> Path:
        return self.data_dir / "runs"

    @property
    def parquet_dir(self) -> Path:
        return self.data_dir / "parquet"

    @property
    def presets_dir(self) -> Path:
        """The user's own presets."""
        return self.data_dir / "presets"

    @property
    def secret_path(self) -> Path:
        return self.data_dir / "signing.key"

    @property
    def api_token_path(self) -> Path:
        return self.data_dir / "api.token"

    @property
    def queries_dir(self) -> Path:
        return self.data_dir / "queries"


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """The user's data directory after the XDG base directory specification."""
    base = environ.get("XDG_DATA_HOME") or str(Path(environ.get("HOME", "~")).expanduser() / ".local/share")
    return Path(base) / "pitwall"


class SettingsError(PitwallError):
    """A variable of the environment, or a file of the data folder, that cannot be used, in one sentence."""


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Settings from the PITWALL_ variables; raises SettingsError that names the one which cannot be used."""
    env = os.environ if environ is None else environ
    given = {
        "data_dir": Path(env.get("PITWALL_DATA") or default_data_dir(env)).expanduser().absolute(),
        "host": env.get("PITWALL_HOST"),
        "port": env.get("PITWALL_PORT"),
        "public_url": env.get("PITWALL_PUBLIC_URL"),
    }
    try:
        return Settings.model_validate({k: v for k, v in given.items() if v})
    except ValidationError as error:
        first = error.errors()[0]
        name = VARIABLES[str(first["loc"][0])]
        raise SettingsError(f"{name} is {first['input']!r}: {first['msg'].lower()}.") from None

"""Where Pitwall keeps its things and where it listens, read once from the environment."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pydantic import Field, HttpUrl, ValidationError, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from errors import PitwallError

VERSION = "0.1.0"
PREFIX = "PITWALL_"
DATA_VARIABLE = f"{PREFIX}DATA"
ENVIRONMENT_NAMES = {"host": f"{PREFIX}HOST", "port": f"{PREFIX}PORT", "public_url": f"{PREFIX}PUBLIC_URL"}

PLAIN_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")


def default_data_dir() -> Path:
    """The user's data directory after the XDG base directory specification."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local/share") / "pitwall"


class Settings(BaseSettings):
    """Validated settings; a wrong value is a clear error at start, never a surprise later."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", populate_by_name=True
    )
    data_dir: Path = Field(default_factory=default_data_dir, validation_alias=DATA_VARIABLE)
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65535)
    public_url: HttpUrl | None = None  # how others reach us, behind a reverse proxy

    @field_validator("data_dir")
    @classmethod
    def _whole_path(cls, path: Path) -> Path:
        return path.expanduser().absolute()

    @field_validator("public_url")
    @classmethod
    def _plain_path(cls, url: HttpUrl | None) -> HttpUrl | None:
        """Links are made by adding to it, and its path is served: nothing may follow it, and it must not begin anew."""
        if url and (url.query or url.fragment or not PLAIN_PATH.fullmatch(url.path or "")):
            raise ValueError("it must end with a plain path or with none, such as https://gpu.example/pitwall")
        return url

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

    @property
    def published_url(self) -> str | None:
        """Under which other machines reach us, where that is set."""
        return self.url if self.public_url else None

    @property
    def base_path(self) -> str:
        """Below which path everything is served: that of the public URL, as '/pitwall'; '' for none."""
        return str((self.public_url and self.public_url.path) or "").rstrip("/")

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
    def loads_dir(self) -> Path:
        """Loads that the user kept under a name."""
        return self.data_dir / "loads"

    @property
    def prices_path(self) -> Path:
        """What an hour of a machine and a kWh cost, as its user entered it."""
        return self.data_dir / "prices.toml"

    @property
    def sign_in_path(self) -> Path:
        """The team's OpenID provider and who may come in as what; see web.access.sign_in_config."""
        return self.data_dir / "sign-in.toml"

    @property
    def lake_path(self) -> Path:
        """Where the lake is that this Pitwall ships to, with its keys; see storage.lake."""
        return self.data_dir / "lake.toml"

    @property
    def owner_path(self) -> Path:
        """The id of this data folder, under which it ships."""
        return self.data_dir / "pitwall.id"

    @property
    def agent_dir(self) -> Path:
        """What an agent on this machine has not sent yet, a file a run."""
        return self.data_dir / "agent"

    @property
    def secret_path(self) -> Path:
        return self.data_dir / "signing.key"

    @property
    def sessions_path(self) -> Path:
        """The browsers that are signed in."""
        return self.data_dir / "sessions.json"

    @property
    def asked_path(self) -> Path:
        """What the browsers that are signed in have asked on the SQL page."""
        return self.data_dir / "asked.json"

    @property
    def tokens_path(self) -> Path:
        """The tokens of programs, as hashes."""
        return self.data_dir / "tokens.json"

    @property
    def peers_path(self) -> Path:
        """Other Pitwalls whose live runs are watched here, with tokens of theirs; see web.live.elsewhere.peers."""
        return self.data_dir / "peers.json"

    @property
    def hosts_path(self) -> Path:
        """The machines on which servers may be started by ssh; see launcher.remote.hosts."""
        return self.data_dir / "hosts.json"

    @property
    def shims_dir(self) -> Path:
        """The runs of other Pitwalls whose servers were started on this machine, a folder each."""
        return self.data_dir / "shims"

    @property
    def api_token_path(self) -> Path:
        """Where an older Pitwall kept its one token, and its owner may keep one; see web.access.tokens."""
        return self.data_dir / "api.token"

    @property
    def own_names(self) -> tuple[str, ...]:
        """What Pitwall keeps in the data folder, by name; the folder may hold other things of its user's."""
        stores = [f"{path.name}{end}" for path in (self.store_path, self.published_path) for end in ("", ".wal")]
        folders = (
            self.runs_dir,
            self.parquet_dir,
            self.presets_dir,
            self.queries_dir,
            self.loads_dir,
            self.agent_dir,
            self.shims_dir,
        )
        files = (
            self.secret_path,
            self.api_token_path,
            self.tokens_path,
            self.tokens_path.with_suffix(".lock"),
            self.peers_path,
            self.peers_path.with_suffix(".lock"),
            self.hosts_path,
            self.hosts_path.with_suffix(".lock"),
            self.sessions_path,
            self.asked_path,
            self.prices_path,
            self.lake_path,
            self.sign_in_path,
            self.owner_path,
        )
        return (*stores, *(path.name for path in (*folders, *files)), "inbox", "demo")

    @property
    def queries_dir(self) -> Path:
        return self.data_dir / "queries"


class SettingsError(PitwallError):
    """A variable of the environment, or a file of the data folder, that cannot be used, in one sentence."""


def load_settings() -> Settings:
    """Settings from the PITWALL_ variables; raises SettingsError that names the one which cannot be used."""
    try:
        return Settings()
    except ValidationError as error:
        first = error.errors()[0]
        name = ENVIRONMENT_NAMES.get(str(first["loc"][0]), str(first["loc"][0]))
        why = first["msg"].removeprefix("Value error, ").lower()
        raise SettingsError(f"{name} is {first['input']!r}: {why}.") from None

"""Pitwall's settings, read once from the environment: the data folder, its files and the address."""

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
    """Return the user's data directory by the XDG base directory specification."""
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local/share") / "pitwall"


class Settings(BaseSettings):
    """Validated settings; an invalid value is an error at startup."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", populate_by_name=True
    )
    data_dir: Path = Field(default_factory=default_data_dir, validation_alias=DATA_VARIABLE)
    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=1, le=65535)
    public_url: HttpUrl | None = None  # address for others, behind a reverse proxy

    @field_validator("data_dir")
    @classmethod
    def _absolute_path(cls, path: Path) -> Path:
        return path.expanduser().absolute()

    @field_validator("public_url")
    @classmethod
    def _plain_path(cls, url: HttpUrl | None) -> HttpUrl | None:
        """Refuse a query, a fragment or an unusual path: links append to the URL and its path is served."""
        if url and (url.query or url.fragment or not PLAIN_PATH.fullmatch(url.path or "")):
            raise ValueError("it must end with a plain path or with none, such as https://gpu.example/pitwall")
        return url

    def with_address(self, host: str | None, port: int) -> Settings:
        """Return the same settings with the address on which the server really listens."""
        return self.model_copy(update={"host": host or self.host, "port": port})

    @property
    def url(self) -> str:
        """Address to open in a browser: PITWALL_PUBLIC_URL if set, else the address on this machine."""
        if self.public_url:
            return str(self.public_url).rstrip("/")
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def published_url(self) -> str | None:
        """Address at which other machines reach this Pitwall, if set."""
        return self.url if self.public_url else None

    @property
    def base_path(self) -> str:
        """Path prefix of everything served: that of the public URL, such as '/pitwall'; '' for none."""
        return str((self.public_url and self.public_url.path) or "").rstrip("/")

    @property
    def store_path(self) -> Path:
        """Pitwall's own database file, locked while Pitwall runs."""
        return self.data_dir / "store.duckdb"

    @property
    def claim_path(self) -> Path:
        """Locked by a Pitwall that starts or runs; see storage.claim."""
        return self.data_dir / "store.claim"

    @property
    def published_path(self) -> Path:
        """The database file that other programs read."""
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
    def shapes_dir(self) -> Path:
        """Shapes of agent sessions, which the load 'agent-replay' sends."""
        return self.data_dir / "shapes"

    @property
    def loads_dir(self) -> Path:
        """Loads that the user saved under a name."""
        return self.data_dir / "loads"

    @property
    def prices_path(self) -> Path:
        """Prices of a machine hour and a kWh, as the user entered them."""
        return self.data_dir / "prices.toml"

    @property
    def sign_in_path(self) -> Path:
        """The team's OpenID provider and the roles of its users; see web.access.sign_in_config."""
        return self.data_dir / "sign-in.toml"

    @property
    def lake_path(self) -> Path:
        """Address and keys of the lake that this Pitwall ships to; see storage.lake."""
        return self.data_dir / "lake.toml"

    @property
    def owner_path(self) -> Path:
        """The id of this data folder, which labels the data that it ships."""
        return self.data_dir / "pitwall.id"

    @property
    def agent_dir(self) -> Path:
        """Batches that an agent on this machine has not sent yet, one file per run."""
        return self.data_dir / "agent"

    @property
    def secret_path(self) -> Path:
        return self.data_dir / "signing.key"

    @property
    def sessions_path(self) -> Path:
        """Signed-in browsers."""
        return self.data_dir / "sessions.json"

    @property
    def query_history_path(self) -> Path:
        """SQL page history of signed-in browsers."""
        return self.data_dir / "asked.json"

    @property
    def tokens_path(self) -> Path:
        """Hashes of the API tokens."""
        return self.data_dir / "tokens.json"

    @property
    def peers_path(self) -> Path:
        """Other Pitwalls whose live runs are watched here, with their tokens; see web.live.peers.peers."""
        return self.data_dir / "peers.json"

    @property
    def proposals_path(self) -> Path:
        """Loads and studies that programs propose to the operator; see service.proposals."""
        return self.data_dir / "proposals.json"

    @property
    def notify_path(self) -> Path:
        """Channels of notifications, with their addresses; see service.notifications.channels."""
        return self.data_dir / "notify.json"

    @property
    def notifications_dir(self) -> Path:
        """Notifications that wait for their channels."""
        return self.data_dir / "notifications"

    @property
    def hosts_path(self) -> Path:
        """Machines on which servers may be started by ssh; see launcher.remote.hosts."""
        return self.data_dir / "hosts.json"

    @property
    def shims_dir(self) -> Path:
        """Runs of other Pitwalls whose servers were started on this machine, one folder each."""
        return self.data_dir / "shims"

    @property
    def api_token_path(self) -> Path:
        """The documented place of a token for programs, written by the owner; Pitwall only closes it to others."""
        return self.data_dir / "api.token"

    @property
    def data_file_names(self) -> tuple[str, ...]:
        """Names of Pitwall's files in the data folder, which may hold other files of the user."""
        stores = [f"{path.name}{end}" for path in (self.store_path, self.published_path) for end in ("", ".wal")]
        folders = (
            self.runs_dir,
            self.parquet_dir,
            self.presets_dir,
            self.queries_dir,
            self.loads_dir,
            self.agent_dir,
            self.shims_dir,
            self.notifications_dir,
        )
        files = (
            self.claim_path,
            self.secret_path,
            self.api_token_path,
            self.tokens_path,
            self.tokens_path.with_suffix(".lock"),
            self.peers_path,
            self.peers_path.with_suffix(".lock"),
            self.proposals_path,
            self.proposals_path.with_suffix(".lock"),
            self.notify_path,
            self.notify_path.with_suffix(".lock"),
            self.hosts_path,
            self.hosts_path.with_suffix(".lock"),
            self.prices_path.with_suffix(".lock"),
            self.sessions_path,
            self.query_history_path,
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
    """An environment variable, or a file of the data folder, cannot be used; its text is one sentence."""


def load_settings() -> Settings:
    """Read settings from the PITWALL_ variables; raises SettingsError that names an unusable variable."""
    try:
        return Settings()
    except ValidationError as error:
        first_error = error.errors()[0]
        name = ENVIRONMENT_NAMES.get(str(first_error["loc"][0]), str(first_error["loc"][0]))
        message = first_error["msg"].removeprefix("Value error, ").lower()
        raise SettingsError(f"{name} is {first_error['input']!r}: {message}.") from None

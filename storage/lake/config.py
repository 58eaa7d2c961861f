"""The lake's address and credentials: lake.toml in the data folder, readable by its owner only."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict, FilePath, ValidationInfo, field_validator

from machine.secret_file import FOLDER, read_secrets
from settings import Settings
from storage.database import StoreError

EXAMPLE = """catalogue = "host=db.example.org dbname=pitwall user=pitwall password=..."
data_path = "s3://bucket/pitwall/"

[s3]
endpoint = "s3.example.org"
key_id = "..."
secret = "..."
"""
PASSWORD = re.compile(r"password\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S+))")
HIDDEN = "<secret>"
KEYWORD = re.compile(r"\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)+))\s*")
NO_KEYWORDS = "The reader's catalogue in lake.toml is no libpq connection string of keywords with one host."
NO_READER = (
    "SQL on the lake needs a read-only role and key: add [reader] with catalogue, key_id and secret to lake.toml "
    "(docs/fleet.md)."
)


class LakeError(StoreError):
    """A lake operation failed; the message is one sentence without secrets."""


class S3(BaseModel):
    """An S3-compatible store and its key."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    endpoint: str
    key_id: str
    secret: str
    region: str = "us-east-1"
    use_ssl: bool = True
    ca_file: FilePath | None = None  # PEM; certificate authorities instead of the system's

    @field_validator("ca_file", mode="before")
    @classmethod
    def _from_the_file(cls, value: object, info: ValidationInfo) -> object:
        """Resolve a relative path against the folder of the file, not the working directory."""
        return str(info.context[FOLDER] / value) if info.context and isinstance(value, str) else value


class ReaderAccess(BaseModel):
    """A read-only catalogue role and S3 key, used for SQL on the lake."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    catalogue: str
    key_id: str = ""
    secret: str = ""


class LakeConfig(BaseModel):
    """`catalogue`: a libpq keyword connection string; `data_path`: an s3:// address or a shared folder."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    catalogue: str
    data_path: str
    s3: S3 | None = None
    reader: ReaderAccess | None = None

    def read_only_config(self) -> LakeConfig:
        """The same lake with the read-only role and key; raises LakeError if there is none."""
        if self.reader is None or (self.s3 and not (self.reader.key_id and self.reader.secret)):
            raise LakeError(NO_READER)
        key = {"key_id": self.reader.key_id, "secret": self.reader.secret}
        s3 = self.s3.model_copy(update=key) if self.s3 else None
        return LakeConfig(catalogue=self.reader.catalogue, data_path=self.data_path, s3=s3)

    def hide(self, text: str) -> str:
        """The text without the lake's secrets."""
        reader = self.reader
        secrets = [*_secrets_of(self.catalogue), *(_secrets_of(reader.catalogue) if reader else ())]
        keys: tuple[S3 | ReaderAccess | None, ...] = (self.s3, reader)
        for key in keys:
            secrets += [key.secret, key.key_id] if key else []
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    @property
    def address(self) -> str:
        """The catalogue without its password."""
        return PASSWORD.sub(f"password={HIDDEN}", self.catalogue)


def keywords(dsn: str) -> dict[str, str]:
    """Return the values of a libpq connection string by keyword; raises LakeError that does not quote it."""
    values, position = {}, 0
    while position < len(dsn):
        match = KEYWORD.match(dsn, position)
        if match is None:
            raise LakeError(NO_KEYWORDS)
        name, quoted, plain = match.groups()
        values[name] = re.sub(r"\\(.)", r"\1", plain if quoted is None else quoted)
        position = match.end()
    if not values.get("hostaddr") and (not values.get("host") or "," in values["host"]):
        raise LakeError(NO_KEYWORDS)
    return values


def host_of(s3: S3) -> str:
    """The endpoint without its port."""
    return s3.endpoint.rpartition(":")[0] or s3.endpoint


def _secrets_of(dsn: str) -> list[str]:
    """A connection string, and its password as written and unescaped."""
    match = PASSWORD.search(dsn)
    passwords = [password for password in match.groups() if password] if match else []
    return [dsn, *passwords, *(re.sub(r"\\(.)", r"\1", password) for password in passwords)]


def read_config(settings: Settings) -> LakeConfig | None:
    """Return the lake's configuration, or None; raises LakeError for an invalid file or one that others may read."""
    return read_secrets(settings.lake_path, LakeConfig, LakeError)


def required_config(settings: Settings) -> LakeConfig:
    """Return the lake's configuration; raises LakeError if there is none."""
    config = read_config(settings)
    if config is None:
        raise LakeError(f"No lake is configured: write {settings.lake_path} with mode 0600, for example:\n{EXAMPLE}")
    return config

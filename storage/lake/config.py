"""Where the lake is and what opens it: lake.toml of the data folder, which nobody else may read."""

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
WORD = re.compile(r"\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)+))\s*")
NO_KEYWORDS = "The reader's catalogue in lake.toml is no libpq connection string of keywords with one host."
NO_READER = (
    "SQL is asked of the lake with a role and a key that may only read: add [reader] with catalogue, key_id and secret "
    "to lake.toml (docs/fleet.md)."
)


class LakeError(StoreError):
    """The lake cannot do what was asked; the message is one sentence without a secret."""


class S3(BaseModel):
    """An S3-compatible store and a key of it."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    endpoint: str
    key_id: str
    secret: str
    region: str = "us-east-1"
    use_ssl: bool = True
    ca_file: FilePath | None = None  # PEM, in place of the system's authorities: who may have signed its certificate

    @field_validator("ca_file", mode="before")
    @classmethod
    def _from_the_file(cls, value: object, info: ValidationInfo) -> object:
        """A relative path is meant from the file that says it, wherever Pitwall was started."""
        return str(info.context[FOLDER] / value) if info.context and isinstance(value, str) else value


class Reader(BaseModel):
    """A role of the catalogue and a key of the S3 store that may only read: with these the lake answers SQL."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    catalogue: str
    key_id: str = ""
    secret: str = ""


class LakeConfig(BaseModel):
    """`catalogue`: a libpq connection string of keywords; `data_path`: an s3:// address, or a folder that all mount."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    catalogue: str
    data_path: str
    s3: S3 | None = None
    reader: Reader | None = None

    def to_read(self) -> LakeConfig:
        """The same lake for who may only read it; raises LakeError where no such role and key are given."""
        if self.reader is None or (self.s3 and not (self.reader.key_id and self.reader.secret)):
            raise LakeError(NO_READER)
        key = {"key_id": self.reader.key_id, "secret": self.reader.secret}
        s3 = self.s3.model_copy(update=key) if self.s3 else None
        return LakeConfig(catalogue=self.reader.catalogue, data_path=self.data_path, s3=s3)

    def hide(self, text: str) -> str:
        """The text without what opens the lake."""
        reader = self.reader
        known = [*_secrets_of(self.catalogue), *(_secrets_of(reader.catalogue) if reader else ())]
        keys: tuple[S3 | Reader | None, ...] = (self.s3, reader)
        for key in keys:
            known += [key.secret, key.key_id] if key else []
        for secret in sorted(filter(None, known), key=len, reverse=True):
            text = text.replace(secret, HIDDEN)
        return text

    @property
    def address(self) -> str:
        """The catalogue without its password."""
        return PASSWORD.sub(f"password={HIDDEN}", self.catalogue)


def keywords(dsn: str) -> dict[str, str]:
    """The words of a libpq connection string; raises LakeError, without a word of it."""
    found, place = {}, 0
    while place < len(dsn):
        word = WORD.match(dsn, place)
        if word is None:
            raise LakeError(NO_KEYWORDS)
        name, quoted, plain = word.groups()
        found[name] = re.sub(r"\\(.)", r"\1", plain if quoted is None else quoted)
        place = word.end()
    if not found.get("hostaddr") and (not found.get("host") or "," in found["host"]):
        raise LakeError(NO_KEYWORDS)
    return found


def host_of(s3: S3) -> str:
    """The endpoint without its port."""
    return s3.endpoint.rpartition(":")[0] or s3.endpoint


def _secrets_of(dsn: str) -> list[str]:
    """A connection string whole, and its password as it is written there and as it is."""
    found = PASSWORD.search(dsn)
    written = [one for one in found.groups() if one] if found else []
    return [dsn, *written, *(re.sub(r"\\(.)", r"\1", one) for one in written)]


def read_config(settings: Settings) -> LakeConfig | None:
    """The lake's configuration, None without one; raises LakeError for a file that others may read or that is wrong."""
    return read_secrets(settings.lake_path, LakeConfig, LakeError)


def needed_config(settings: Settings) -> LakeConfig:
    """Raises LakeError where there is none."""
    config = read_config(settings)
    if config is None:
        raise LakeError(f"There is no lake: write {settings.lake_path} with mode 0600, for example:\n{EXAMPLE}")
    return config

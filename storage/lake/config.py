"""Where the lake is and what opens it: lake.toml of the data folder, which nobody else may read."""

from __future__ import annotations

import re

from pydantic import BaseModel, ConfigDict

from machine.secret_file import read_secrets
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


class LakeConfig(BaseModel):
    """`catalogue`: a libpq connection string of keywords; `data_path`: an s3:// address, or a folder that all mount."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    catalogue: str
    data_path: str
    s3: S3 | None = None

    def hide(self, text: str) -> str:
        """The text without what opens the lake."""
        found = PASSWORD.search(self.catalogue)
        known = [
            self.catalogue,
            *(found.groups() if found else ()),
            *((self.s3.secret, self.s3.key_id) if self.s3 else ()),
        ]
        for secret in filter(None, known):
            text = text.replace(secret, HIDDEN)
        return text

    @property
    def address(self) -> str:
        """The catalogue without its password."""
        return PASSWORD.sub(f"password={HIDDEN}", self.catalogue)


def read_config(settings: Settings) -> LakeConfig | None:
    """The lake's configuration, None without one; raises LakeError for a file that others may read or that is wrong."""
    return read_secrets(settings.lake_path, LakeConfig, LakeError)


def needed_config(settings: Settings) -> LakeConfig:
    """Raises LakeError where there is none."""
    config = read_config(settings)
    if config is None:
        raise LakeError(f"There is no lake: write {settings.lake_path} with mode 0600, for example:\n{EXAMPLE}")
    return config

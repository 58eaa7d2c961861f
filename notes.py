"""Entries that people write: notes on runs, gotchas, saved views.

Each entry is one version: a new version replaces all of it, and no version is changed.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Rating = Annotated[int, Field(ge=1, le=5)] | None  # 1 poor, 5 excellent; None: not rated


Tag = Annotated[str, Field(min_length=1, max_length=40)]


class RunNote(BaseModel):
    """One version of the note on a run."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    run_id: str
    version: int = 0  # 0: nothing written yet
    written_at: datetime | None = None
    role: str | None = None
    name: str | None = Field(default=None, min_length=1, max_length=120)  # new name of the run; None: unchanged
    text: str = Field(default="", max_length=20_000)  # Markdown
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)
    is_starred: bool = False
    is_archived: bool = False
    agentic_feel: Rating = None
    coding: Rating = None
    language: Rating = None
    impression: str = Field(default="", max_length=300)  # the verdict in a sentence


class NoteEdit(BaseModel):
    """A command's change of a note; None leaves a field unchanged."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    text: str | None = Field(default=None, max_length=20_000)
    tags: tuple[Tag, ...] = Field(default=(), max_length=20)  # tags to add
    tags_taken_off: tuple[Tag, ...] = Field(default=(), max_length=100)
    is_starred: bool | None = None
    ratings: dict[Literal["agentic_feel", "coding", "language"], Rating] = {}  # null: withdraw the rating
    impression: str | None = Field(default=None, max_length=300)


class Gotcha(BaseModel):
    """A failure that somebody met with a configuration, and its workaround; versioned like `RunNote`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    version: int = 0
    written_at: datetime | None = None
    role: str | None = None
    engine: str
    cause: str | None = Field(default=None, max_length=2_000)  # of a failed run; numbers and paths in it may differ
    flag: str | None = Field(default=None, min_length=2, max_length=200)  # of the command, or NAME=value for a variable
    failure: str = Field(min_length=1, max_length=500)
    workaround: str = Field(min_length=1, max_length=4_000)  # Markdown
    link: str | None = Field(default=None, max_length=2_000, pattern=r"^https?://[^\s/]\S*$")
    run_id: str | None = None  # of the run at which it was written
    is_withdrawn: bool = False


class SavedView(BaseModel):
    """A page's URL query saved under a name; versioned like `RunNote`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    page: Literal["runs", "explore"]
    name: str = Field(min_length=1, max_length=60)
    version: int = 0
    written_at: datetime | None = None
    role: str | None = None
    query: str = Field(max_length=4_000)  # of the address, without the '?'
    is_removed: bool = False

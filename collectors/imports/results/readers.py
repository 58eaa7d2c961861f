"""The readers by file type: each recognises its files by their first bytes, and returns their loads or refuses them."""

from __future__ import annotations

from typing import Protocol

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose import document
from collectors.imports.results.source import Source
from collectors.imports.results.tools import (
    aiperf,
    benchy,
    benchy_progress,
    bfcl,
    evalscope,
    guidellm,
    lm_eval,
    serving,
)


class Reader(Protocol):
    """One tool's module."""

    def recognise(self, head: str) -> bool:
        """Whether a file that begins like this is one of the tool's."""
        ...

    def read(self, source: Source, ticket: Ticket) -> list[LoadBuilder]:
        """The loads of a file; raises ImportRefusedError for one that cannot be taken whole."""
        ...


READERS: tuple[Reader, ...] = (benchy_progress, benchy, serving, guidellm, aiperf, lm_eval, bfcl, evalscope)
TEXTS: Reader = document  # a log may hold a table too, so it is asked last


def reader_of(source: Source) -> Reader | None:
    """The reader of a file; None for one that no tool here writes."""
    return next((reader for reader in (*READERS, TEXTS) if reader.recognise(source.head)), None)

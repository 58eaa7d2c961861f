"""UTF-16 texts, as PowerShell writes what a program prints: known by their mark, read as UTF-8."""

from __future__ import annotations

import codecs
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from typing import BinaryIO

_CHUNK_BYTES = 1 << 20
_MARK_BYTES = 2


def utf16_by_mark(data: bytes) -> str | None:
    """Return UTF-16 in the byte order of its mark; None for other bytes."""
    return {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(data[:_MARK_BYTES])


def utf8_chunks(stream: BinaryIO, size: int = _CHUNK_BYTES) -> Iterator[bytes]:
    """Yield a stream's bytes, of UTF-16 as UTF-8 without its mark; what is no text of it is replaced."""
    chunks = iter(lambda: stream.read(size), b"")
    first = next(chunks, b"")
    encoding = utf16_by_mark(first)
    if encoding is None:
        yield from chain((first,), chunks)
        return
    for text in codecs.iterdecode(chain((first[_MARK_BYTES:],), chunks), encoding, "replace"):
        yield text.encode()


@contextmanager
def as_utf8(file: BinaryIO) -> Iterator[BinaryIO]:
    """Return the file itself, or a copy in UTF-8 of a file in UTF-16; positioned at its beginning."""
    encoding = utf16_by_mark(file.read(_MARK_BYTES))
    file.seek(0)
    if encoding is None:
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        copy.writelines(utf8_chunks(file))
        copy.seek(0)
        yield copy

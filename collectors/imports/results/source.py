"""A result file, read within limits: its bytes, its hash, its lines, its JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.packed import opened_plain

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 64 << 10
MOST_BYTES = 256 << 20
MOST_WHOLE_BYTES = 128 << 20  # of a file that is one JSON value, or one table: it is held in memory several times over
MOST_LINE_BYTES = 64 << 20
MOST_LINES = 2_000_000


@dataclass(frozen=True)
class Source:
    """One file; `name` is what it is called, wherever its bytes lie now."""

    path: Path
    name: str
    is_cut: bool = False  # its writer was ended before it was through: what it began to write is left out

    @contextmanager
    def opened(self) -> Iterator[BinaryIO]:
        """Its bytes, unpacked where they are packed; reading too many of those raises ImportRefusedError."""
        with opened_plain(self.path, self.name, MOST_BYTES) as file:
            yield file

    @cached_property
    def sha256(self) -> str:
        """The hash of all its bytes, unpacked, so that a packed copy is the same file.

        Raises ImportRefusedError for a file larger than any of these tools writes.
        """
        digest, size = hashlib.sha256(), 0
        with self.opened() as file:
            while data := file.read(CHUNK_BYTES):
                digest.update(data)
                size += len(data)
                if size > MOST_BYTES:
                    raise ImportRefusedError(f"{self.name} is larger than {MOST_BYTES >> 20} MiB: no result file is.")
        return digest.hexdigest()

    @cached_property
    def head(self) -> str:
        """Its beginning, by which it is recognised; bytes that are no UTF-8 are replaced.

        Raises ImportRefusedError where it is packed and damaged.
        """
        with self.opened() as file:
            return file.read(HEAD_BYTES).decode("utf-8", "replace").removeprefix("\ufeff")

    def text(self) -> str:
        """All of it; raises ImportRefusedError where it is too large or no UTF-8."""
        with self.opened() as file:
            data = file.read(MOST_WHOLE_BYTES + 1)
        if len(data) > MOST_WHOLE_BYTES:
            raise ImportRefusedError(f"{self.name} is larger than {MOST_WHOLE_BYTES >> 20} MiB: no result file is.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ImportRefusedError(f"{self.name}, line {line}: these bytes are no UTF-8 text.") from error

    def json(self) -> Any:
        """Its one JSON value; raises ImportRefusedError with the line."""
        return decoded(self.text(), self.name, 1)

    def json_lines(self) -> Iterator[tuple[int, Any]]:
        """The number of each line that holds something, from 1, and its JSON value; raises ImportRefusedError."""
        for number, line in self.lines():
            if line.strip():
                yield number, decoded(line, self.name, number)

    def breaks_off(self) -> bool:
        """Whether it is the beginning of one JSON value and no more."""
        try:
            json.loads(self.text())
        except json.JSONDecodeError as error:
            return is_at_end(error)
        except (ImportRefusedError, RecursionError, ValueError):
            return False  # wrong in another way, which its reader says
        return False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Its lines with their numbers, from 1; raises ImportRefusedError for one that is too long or no UTF-8."""
        with self.opened() as file:
            for number in range(1, MOST_LINES + 1):
                line = file.readline(MOST_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > MOST_LINE_BYTES:
                    raise self.refusal(number, f"the line is longer than {MOST_LINE_BYTES >> 20} MiB")
                if self.is_cut and not line.endswith(b"\n"):
                    return
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise self.refusal(number, "these bytes are no UTF-8 text") from error
        raise ImportRefusedError(f"{self.name} has more than {MOST_LINES:,} lines.")

    def refusal(self, line: int, why: str) -> ImportRefusedError:
        """What is wrong with a line, as one sentence."""
        return ImportRefusedError(f"{self.name}, line {line}: {why}.")


def decoded(text: str, name: str, first_line: int) -> Any:
    """A JSON value; bare NaN and Infinity come as their names, which are no numbers to anybody.

    Raises ImportRefusedError with the line where it breaks off.
    """
    try:
        return json.loads(text, parse_constant=str)
    except json.JSONDecodeError as error:
        where = f"{name}, line {first_line + error.lineno - 1}"
        what = "it is cut off here" if is_at_end(error) else f"this is no JSON ({error.msg}, column {error.colno})"
        raise ImportRefusedError(f"{where}: {what}.") from error
    except RecursionError as error:
        raise ImportRefusedError(f"{name}, line {first_line}: it is nested deeper than any result is.") from error
    except ValueError as error:  # a whole number of thousands of digits
        raise ImportRefusedError(f"{name}, line {first_line}: it holds a number that cannot be.") from error


def is_at_end(error: json.JSONDecodeError) -> bool:
    """Whether a text is no JSON because it ends too early."""
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")

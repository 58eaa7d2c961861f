"""Reads a result file within limits: its bytes, hash, lines and JSON."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.compression import open_unpacked
from machine.text_encoding import utf16_by_mark

CHUNK_BYTES = 1 << 20
HEAD_BYTES = 64 << 10
MAX_BYTES = 256 << 20
MAX_WHOLE_BYTES = 128 << 20  # of a single JSON value or table, which needs several times this memory
MAX_LINE_BYTES = 64 << 20
MAX_LINES = 2_000_000
ESCAPE = "\x1b"
TERMINAL_MARKS = re.compile(  # escape sequences, and the wheels that turn while a program waits
    r"\x1b(?:\[[0-9;?]{0,40}[ -/]{0,4}[@-~]|[()][0-9A-B]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\)|[=>78])|[\u2800-\u28ff] ?"
)


@dataclass(frozen=True)
class ResultFile:
    """A result file; `name`: its original name, wherever the bytes are now."""

    path: Path
    name: str
    is_cut: bool = False  # its writer was stopped before it finished: a partial last line is left out

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file's bytes, unpacked if packed; reading too many raises ImportRefusedError."""
        with open_unpacked(self.path, self.name, MAX_BYTES) as file:
            yield file

    @cached_property
    def sha256(self) -> str:
        """Hash of the unpacked bytes, so that a packed copy counts as the same file.

        Raises ImportRefusedError for a file above `MAX_BYTES`.
        """
        digest, size = hashlib.sha256(), 0
        with self.open() as file:
            while data := file.read(CHUNK_BYTES):
                digest.update(data)
                size += len(data)
                if size > MAX_BYTES:
                    raise ImportRefusedError(
                        f"{self.name} is larger than the {MAX_BYTES >> 20} MiB limit for result files."
                    )
        return digest.hexdigest()

    @cached_property
    def head(self) -> str:
        """First characters, by which the file is recognised; bytes that are not UTF-8 are replaced.

        Raises ImportRefusedError if it is packed and damaged.
        """
        return self.beginning(HEAD_BYTES)

    def beginning(self, max_bytes: int) -> str:
        """Return the first characters; bytes that are not UTF-8 are replaced. Raises as `head` does."""
        with self.open() as file:
            data = file.read(max_bytes)
        return without_terminal_marks(data.decode(utf16_by_mark(data) or "utf-8", "replace").removeprefix("\ufeff"))

    @cached_property
    def tail(self) -> str:
        """Last characters of a longer file, where a tool prints its summary; empty if it is short or packed."""
        with self.open() as file:
            if not file.seekable() or file.seek(0, os.SEEK_END) <= HEAD_BYTES:
                return ""
            file.seek(0)
            encoding = utf16_by_mark(file.read(2))
            file.seek(-HEAD_BYTES, os.SEEK_END)
            return without_terminal_marks(file.read(HEAD_BYTES).decode(encoding or "utf-8", "replace"))

    def text(self) -> str:
        """Return the complete text; raises ImportRefusedError if it is too large or not UTF-8."""
        with self.open() as file:
            data = file.read(MAX_WHOLE_BYTES + 1)
        if len(data) > MAX_WHOLE_BYTES:
            raise ImportRefusedError(
                f"{self.name} is larger than the {MAX_WHOLE_BYTES >> 20} MiB limit for result files."
            )
        try:
            return without_terminal_marks(data.decode(utf16_by_mark(data) or "utf-8-sig").removeprefix("\ufeff"))
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise ImportRefusedError(f"{self.name}, line {line}: these bytes are not UTF-8 text.") from error

    def json(self) -> Any:
        """Return the file's single JSON value; raises ImportRefusedError with the line."""
        return parse_json(self.text(), self.name, 1)

    def json_lines(self) -> Iterator[tuple[int, Any]]:
        """Yield number (from 1) and JSON value of each non-empty line; raises ImportRefusedError."""
        for number, line in self.lines():
            if line.strip():
                yield number, parse_json(line, self.name, number)

    def is_truncated_json(self) -> bool:
        """Return whether the file is a truncated JSON value."""
        try:
            json.loads(self.text())
        except json.JSONDecodeError as error:
            return is_at_end(error)
        except (ImportRefusedError, RecursionError, ValueError):
            return False  # invalid in another way, which its reader reports
        return False

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines with their numbers, from 1; raises ImportRefusedError if one is too long or not UTF-8."""
        with self.open() as file:
            for number in range(1, MAX_LINES + 1):
                line = file.readline(MAX_LINE_BYTES + 1)
                if not line:
                    return
                if len(line) > MAX_LINE_BYTES:
                    raise self.refusal(number, f"the line is longer than {MAX_LINE_BYTES >> 20} MiB")
                if self.is_cut and not line.endswith(b"\n"):
                    return
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    raise self.refusal(number, "these bytes are not UTF-8 text") from error
        raise ImportRefusedError(f"{self.name} has more than {MAX_LINES:,} lines.")

    def passage(self, text: str) -> ResultPassage:
        """Return a text within the file as a file of its own."""
        return ResultPassage(self.path, self.name, content=text.encode())

    @contextmanager
    def refusing_bad_csv(self) -> Iterator[None]:
        """Raise ImportRefusedError where the `with` block meets something that is not CSV, such as an endless cell."""
        try:
            yield
        except csv.Error as error:
            raise ImportRefusedError(f"{self.name} is not CSV throughout ({error}).") from error

    def refusal(self, line: int, reason: str) -> ImportRefusedError:
        """Return the error for a line, as one sentence."""
        return ImportRefusedError(f"{self.name}, line {line}: {reason}.")


@dataclass(frozen=True)
class ResultPassage(ResultFile):
    """A passage of a text that is itself what a tool or a script wrote."""

    content: bytes = b""

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the passage's bytes."""
        yield BytesIO(self.content)


def without_terminal_marks(text: str) -> str:
    """Return what a recorded console shows of a text: without what moves its cursor and colours its words."""
    return TERMINAL_MARKS.sub("", text) if ESCAPE in text else text


def parse_json(text: str, name: str, first_line: int) -> Any:
    """Parse a JSON value; bare NaN and Infinity become strings.

    Raises ImportRefusedError with the line of the error.
    """
    try:
        return json.loads(text, parse_constant=str)
    except json.JSONDecodeError as error:
        location = f"{name}, line {first_line + error.lineno - 1}"
        problem = "it is cut off here" if is_at_end(error) else f"this is not JSON ({error.msg}, column {error.colno})"
        raise ImportRefusedError(f"{location}: {problem}.") from error
    except RecursionError as error:
        raise ImportRefusedError(f"{name}, line {first_line}: it is nested too deeply.") from error
    except ValueError as error:  # an integer of thousands of digits
        raise ImportRefusedError(f"{name}, line {first_line}: it contains an impossible number.") from error


def is_at_end(error: json.JSONDecodeError) -> bool:
    """Return whether the JSON is invalid because it ends too early."""
    return error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated")

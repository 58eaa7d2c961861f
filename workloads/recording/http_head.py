"""The head of a request or an answer, as bytes."""

from __future__ import annotations

from collections.abc import Mapping

from errors import PitwallError

MAX_HEAD_BYTES = 32 << 10  # of what clients and servers send


class HeaderLineError(PitwallError):
    """A header that would end its line."""


def http_head(first_line: str, headers: Mapping[str, str]) -> bytes:
    """Return the lines of a head, as RFC 9112 writes them; raises HeaderLineError."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    if not lines.count("\r") == lines.count("\n") == len(headers) or "\0" in lines:
        raise HeaderLineError("A header has a line break.")
    return f"{first_line}\r\n{lines}\r\n".encode(errors="surrogateescape")

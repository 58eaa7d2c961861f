"""The protocol over one ssh connection: one order as a line of JSON, answered by frames.

A frame is a line of JSON; `{"log": n}` is followed by n bytes of the server's log. A greeting comes
before the first frame; whatever a shell's start-up files print before it is skipped. Both sides limit what they read,
because neither trusts the other.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from errors import PitwallError

GREETING = b"pitwall-shim 1\n"
NOISE_BYTES = 64 << 10  # of a shell's start-up files, before the greeting
LINE_BYTES = 1 << 20
MOST_LEVELS = 50  # of objects and lists within one another
LOG_CHUNK_BYTES = 64 << 10
ORDER_BYTES = 4 << 20
MOST_SAID = 2_000  # characters of a refusal: it is shown on a page
BEAT_S = 2.0  # the far side says something at least this often while it follows a server
SILENCE_S = 20.0  # after so long without a word the connection counts as cut
GONE = "Its run folder on the other machine is gone, and with it what became of the server."


class WireError(PitwallError):
    """What came is none of ours, in words."""


class Frame(NamedTuple):
    """One frame: its fields by name, and of a log the bytes."""

    fields: dict[str, Any]
    log: bytes = b""


class Frames:
    """Reads frames from bytes as they come."""

    def __init__(self) -> None:
        self._held, self._read = bytearray(), 0  # of what is held
        self._is_greeted = False
        self._awaited: int | None = None  # bytes of log

    @property
    def is_greeted(self) -> bool:
        return self._is_greeted

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that are whole by now; raises WireError."""
        self._held += data
        if not self._is_greeted and not self._greet():
            return []
        found = []
        while frame := self._next():
            found.append(frame)
        del self._held[: self._read]
        self._read = 0
        return found

    def _greet(self) -> bool:
        noise, greeting, rest = bytes(self._held).partition(GREETING)
        if not greeting:
            if len(noise) > NOISE_BYTES:
                raise WireError("what answers there is no Pitwall")
            return False
        self._held, self._is_greeted = bytearray(rest), True
        return True

    def _next(self) -> Frame | None:
        if self._awaited is None:
            end = self._held.find(b"\n", self._read)
            if (len(self._held) if end < 0 else end) - self._read > LINE_BYTES:
                raise WireError("a line of its answer is too long")
            if end < 0:
                return None
            fields = _object(bytes(self._held[self._read : end]))
            self._read = end + 1
            if "log" not in fields:
                return Frame(fields)
            self._awaited = _log_size(fields["log"])
        if len(self._held) - self._read < self._awaited:
            return None
        log = bytes(self._held[self._read : self._read + self._awaited])
        self._read, self._awaited = self._read + self._awaited, None
        return Frame({}, log)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = _DECODER.decode(line.decode())
        json.dumps(value, ensure_ascii=False).encode()  # halves of a character are in no text
    except (ValueError, RecursionError):
        raise WireError("its answer is no JSON") from None
    if not isinstance(value, dict):
        raise WireError("its answer is no JSON object")
    if _is_deeper(value, MOST_LEVELS):
        raise WireError("its answer is nested too deeply")
    return value


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(one, levels - 1) for one in inner)


def _refuse(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse(text)


def _whole(text: str) -> int:
    return value if abs(value := int(text)) < 1 << 63 else int(_refuse(text))


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_whole)


def as_sentence(refusal: object) -> str:
    """What the other side says of itself, as far as it can be shown."""
    return str(refusal)[:MOST_SAID]


def _log_size(value: object) -> int:
    if type(value) is not int or not 0 < value <= LOG_CHUNK_BYTES:
        raise WireError("its answer names no size of a log")
    return value


def line_of(fields: dict[str, Any]) -> bytes:
    """One frame, or the order, as it is sent; a byte of a name that is no character goes as a question mark."""
    return json.dumps(fields, default=str, ensure_ascii=False).encode(errors="replace") + b"\n"

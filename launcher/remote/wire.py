"""Protocol over one ssh connection: one order as a line of JSON, answered by frames.

A frame is a line of JSON; `{"log": n}` is followed by n bytes of the server's log. A greeting precedes the first frame;
output of a shell's start-up files before it is skipped. Both sides limit what they read, because neither trusts the
other.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

from errors import PitwallError

GREETING = b"pitwall-shim 1\n"
NOISE_BYTES = 64 << 10  # output of a shell's start-up files, before the greeting
LINE_BYTES = 1 << 20
MOST_LEVELS = 50  # of nested objects and lists
LOG_CHUNK_BYTES = 64 << 10
ORDER_BYTES = 4 << 20
MOST_REFUSAL_CHARS = 2_000  # of a refusal, which is shown on a page
BEAT_S = 2.0  # the remote side sends something at least this often while it follows a server
SILENCE_S = 20.0  # a connection that is silent for so long counts as broken
RUN_FOLDER_GONE = "Its run folder on the other machine is gone, so the server's end is unknown."


class WireError(PitwallError):
    """Received bytes violate the protocol; the message is a phrase."""


class Frame(NamedTuple):
    """One frame: its fields by name, and the bytes of a log frame."""

    fields: dict[str, Any]
    log: bytes = b""


class Frames:
    """Parses frames from bytes as they arrive."""

    def __init__(self) -> None:
        self._buffer, self._offset = bytearray(), 0  # received bytes, and the parsed part of them
        self._is_greeted = False
        self._log_bytes: int | None = None  # size of the log that follows

    @property
    def is_greeted(self) -> bool:
        return self._is_greeted

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that are complete now; raises WireError."""
        self._buffer += data
        if not self._is_greeted and not self._greet():
            return []
        frames = []
        while frame := self._next():
            frames.append(frame)
        del self._buffer[: self._offset]
        self._offset = 0
        return frames

    def _greet(self) -> bool:
        noise, greeting, remainder = bytes(self._buffer).partition(GREETING)
        if not greeting:
            if len(noise) > NOISE_BYTES:
                raise WireError("the answer is not from a Pitwall")
            return False
        self._buffer, self._is_greeted = bytearray(remainder), True
        return True

    def _next(self) -> Frame | None:
        if self._log_bytes is None:
            end = self._buffer.find(b"\n", self._offset)
            if (len(self._buffer) if end < 0 else end) - self._offset > LINE_BYTES:
                raise WireError("a line of its answer is too long")
            if end < 0:
                return None
            fields = _parse_object(bytes(self._buffer[self._offset : end]))
            self._offset = end + 1
            if "log" not in fields:
                return Frame(fields)
            self._log_bytes = _log_size(fields["log"])
        if len(self._buffer) - self._offset < self._log_bytes:
            return None
        log = bytes(self._buffer[self._offset : self._offset + self._log_bytes])
        self._offset, self._log_bytes = self._offset + self._log_bytes, None
        return Frame({}, log)


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        value = _DECODER.decode(line.decode())
        json.dumps(value, ensure_ascii=False).encode()  # rejects lone surrogates
    except (ValueError, RecursionError):
        raise WireError("its answer is not JSON") from None
    if not isinstance(value, dict):
        raise WireError("its answer is not a JSON object")
    if _is_deeper(value, MOST_LEVELS):
        raise WireError("its answer is nested too deeply")
    return value


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels == 0 or any(_is_deeper(item, levels - 1) for item in inner)


def _refuse(text: str) -> float:
    raise ValueError(text)


def _finite(text: str) -> float:
    return value if math.isfinite(value := float(text)) else _refuse(text)


def _integer(text: str) -> int:
    return value if abs(value := int(text)) < 1 << 63 else int(_refuse(text))


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_finite, parse_int=_integer)


def truncate_refusal(refusal: object) -> str:
    """Return the other side's message, cut to the displayed length."""
    return str(refusal)[:MOST_REFUSAL_CHARS]


def _log_size(value: object) -> int:
    if type(value) is not int or not 0 < value <= LOG_CHUNK_BYTES:
        raise WireError("its answer has an invalid log size")
    return value


def encode_line(fields: dict[str, Any]) -> bytes:
    """Encode one frame or order; undecodable bytes of a file name become question marks."""
    return json.dumps(fields, default=str, ensure_ascii=False).encode(errors="replace") + b"\n"

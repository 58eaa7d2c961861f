"""What a load generator and its further processes say to each other over a pipe that nobody else has: pickles."""

from __future__ import annotations

import asyncio
import pickle
import struct
from dataclasses import dataclass

from load_records import RequestRecord
from workloads.plan import PlannedRequest
from workloads.requests.client import Place, Target

HEAD = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Ask:
    """Send this request, and measure it."""

    number: int
    request: PlannedRequest
    place: Place
    preface: str


@dataclass(frozen=True, slots=True)
class Begin:
    """Where all requests go."""

    target: Target


@dataclass(frozen=True, slots=True)
class Cancel:
    """End all that is under way."""


@dataclass(frozen=True, slots=True)
class Done:
    """What became of a request."""

    number: int
    record: RequestRecord


@dataclass(frozen=True, slots=True)
class Used:
    """CPU seconds that the process has used so far, and the streams in it that loop, each since this word."""

    cpu_s: float
    onsets: tuple[int, ...]


Frame = Ask | Begin | Cancel | Done | Used


def packed(frame: Frame) -> bytes:
    """The frame with its length before it, as `next_frame` reads it."""
    body = pickle.dumps(frame)
    return HEAD.pack(len(body)) + body


async def next_frame(reader: asyncio.StreamReader) -> Frame | None:
    """None where the other side has ended."""
    try:
        (size,) = HEAD.unpack(await reader.readexactly(HEAD.size))
        frame: Frame = pickle.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return frame

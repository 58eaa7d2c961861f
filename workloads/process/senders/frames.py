"""Messages between a load generator and its additional processes: pickles over a private pipe."""

from __future__ import annotations

import asyncio
import pickle
import struct
from dataclasses import dataclass

from load_records import RequestRecord
from workloads.plan import PlannedRequest
from workloads.requests.client import RequestPosition, RequestTarget

LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class SendRequest:
    """Order to send and measure a request."""

    number: int
    request: PlannedRequest
    position: RequestPosition
    preface: str


@dataclass(frozen=True, slots=True)
class Configure:
    """First message: the target of all requests."""

    target: RequestTarget


@dataclass(frozen=True, slots=True)
class CancelAll:
    """Order to cancel all requests in flight."""


@dataclass(frozen=True, slots=True)
class RequestResult:
    """Record of a request."""

    number: int
    record: RequestRecord


@dataclass(frozen=True, slots=True)
class ResourceUsage:
    """CPU seconds used by the process so far, and the first looped word of each looping stream."""

    cpu_s: float
    onsets: tuple[int, ...]


Frame = SendRequest | Configure | CancelAll | RequestResult | ResourceUsage


def encode_frame(frame: Frame) -> bytes:
    """Return the frame prefixed with its length, as `read_frame` reads it."""
    body = pickle.dumps(frame)
    return LENGTH.pack(len(body)) + body


async def read_frame(reader: asyncio.StreamReader) -> Frame | None:
    """Read the next frame; None if the other side has ended."""
    try:
        (size,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
        frame: Frame = pickle.loads(await reader.readexactly(size))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return frame

"""Lists the live runs of another Pitwall and rates its connection."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Annotated
from urllib.parse import quote

from pydantic import BaseModel, Field, ValidationError

from errors import PitwallError
from machine.bounded_http import BoundedHttp, ReadLimits
from web.live.peers.peers import Peer

LIMITS = ReadLimits(body_bytes=256 << 10, total_s=5.0)
SLOW_S = 1.0  # a response over a local network takes a few milliseconds
MOST_RUNS = 200  # of one peer
STRANGE = "it sends data that this Pitwall does not understand"


class RefusedByPeerError(PitwallError):
    """The peer responds, but not with what was requested; the message says why in a few words."""


class PeerRun(BaseModel):
    """A live run as its peer lists it."""

    id: Annotated[str, Field(pattern=r"^[\w-]{1,64}$")]
    name: Annotated[str, Field(max_length=300)]
    state: Annotated[str, Field(max_length=20)]
    peer: str = ""
    url: str = ""  # of its page on the peer


class _RunListing(BaseModel):
    runs: Annotated[list[PeerRun], Field(max_length=MOST_RUNS)]


class PeerStatus(StrEnum):
    """The state of the connection with a peer."""

    CONNECTED = "connected"
    SLOW = "slow"
    ABSENT = "absent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PeerState:
    """The result of the last request to a peer."""

    status: PeerStatus
    asked_at: datetime
    took_s: float
    why: str | None = None  # set if it is absent or refuses


def peer_state(asked_at: datetime, took_s: float, trouble: Exception | None = None) -> PeerState:
    """Return the state after a response, or after the error that came instead."""
    if trouble is None:
        return PeerState(PeerStatus.SLOW if took_s > SLOW_S else PeerStatus.CONNECTED, asked_at, took_s)
    refuses = isinstance(trouble, RefusedByPeerError)
    return PeerState(PeerStatus.REFUSED if refuses else PeerStatus.ABSENT, asked_at, took_s, str(trouble))


def read_live_runs(peer: Peer) -> list[PeerRun]:
    """Return the live runs that a peer lists. Raises RefusedByPeerError, PitwallError, OSError."""
    tls = ssl.create_default_context(cafile=peer.trusted) if peer.trusted else None
    http = BoundedHttp(peer.url, {"Authorization": f"Bearer {peer.token}"}, connect_s=2.0, silence_s=5.0, tls=tls)
    try:
        answer = http.get("/api/live", LIMITS)
    finally:
        http.close()
    if not answer.is_ok:
        raise RefusedByPeerError(f"it responded with status {answer.status_code}")
    try:
        runs = _RunListing.model_validate_json(answer.content).runs
    except ValidationError:
        raise RefusedByPeerError(STRANGE) from None
    return [run.model_copy(update={"peer": peer.name, "url": f"{peer.url}/run?run={quote(run.id)}"}) for run in runs]

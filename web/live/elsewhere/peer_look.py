"""What another Pitwall says when it is asked which runs are live there, and how it stands with it."""

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
from web.live.elsewhere.peers import Peer

LIMITS = ReadLimits(body_bytes=256 << 10, total_s=5.0)
SLOW_S = 1.0  # an answer on one's own network takes some milliseconds
MOST_RUNS = 200  # of one peer
STRANGE = "it sends what this Pitwall does not understand"


class RefusedByPeerError(PitwallError):
    """It answers, and not what was asked for; in a few words."""


class RemoteRun(BaseModel):
    """A live run of a peer, as that names it."""

    id: Annotated[str, Field(pattern=r"^[\w-]{1,64}$")]
    name: Annotated[str, Field(max_length=300)]
    state: Annotated[str, Field(max_length=20)]
    peer: str = ""
    url: str = ""  # of its page there


class _Listed(BaseModel):
    runs: Annotated[list[RemoteRun], Field(max_length=MOST_RUNS)]


class Standing(StrEnum):
    """How it stands with a peer."""

    CONNECTED = "connected"
    SLOW = "slow"
    ABSENT = "absent"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class PeerState:
    """What came of asking a peer last."""

    standing: Standing
    asked_at: datetime
    took_s: float
    why: str | None = None  # it is absent or refuses


def state_of(asked_at: datetime, took_s: float, trouble: Exception | None = None) -> PeerState:
    """After an answer, or after what came in its place."""
    if trouble is None:
        return PeerState(Standing.SLOW if took_s > SLOW_S else Standing.CONNECTED, asked_at, took_s)
    refuses = isinstance(trouble, RefusedByPeerError)
    return PeerState(Standing.REFUSED if refuses else Standing.ABSENT, asked_at, took_s, str(trouble))


def runs_of(peer: Peer) -> list[RemoteRun]:
    """What a peer says is live there. Raises RefusedByPeerError, PitwallError, OSError."""
    tls = ssl.create_default_context(cafile=peer.trusted) if peer.trusted else None
    http = BoundedHttp(peer.url, {"Authorization": f"Bearer {peer.token}"}, connect_s=2.0, silence_s=5.0, tls=tls)
    try:
        answer = http.get("/api/live", LIMITS)
    finally:
        http.close()
    if not answer.is_ok:
        raise RefusedByPeerError(f"it answers {answer.status_code}")
    try:
        runs = _Listed.model_validate_json(answer.content).runs
    except ValidationError:
        raise RefusedByPeerError(STRANGE) from None
    return [run.model_copy(update={"peer": peer.name, "url": f"{peer.url}/run?run={quote(run.id)}"}) for run in runs]

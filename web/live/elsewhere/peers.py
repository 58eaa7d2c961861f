"""Other Pitwalls whose live runs may be watched here: each was confirmed by a person who had its address and a token.

An address that is learnt from elsewhere (a machine of the lake, a link) is never asked. A token goes to the address
that it was confirmed with, and to no other.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from collectors.nodes.link import checked_address
from errors import PitwallError
from machine.named_list import Kind, NamedList

MOST_PEERS = 20


class PeerError(PitwallError):
    """A peer that cannot be confirmed or found, in one sentence."""


class Peer(BaseModel):
    """One other Pitwall."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[\w.-]{1,40}$")
    url: str
    token: str = Field(repr=False)  # of live:read, made there
    trusted: str | None = None  # a file of certificates in place of the usual ones
    confirmed_by: str
    confirmed_at: datetime


_KIND = Kind(
    Peer,
    key="peers",
    name="name",
    most=MOST_PEERS,
    refusal=PeerError,
    none_known="No other Pitwall is watched",
    no_list="{} is no list of Pitwalls.",
    too_many="{} other Pitwalls are watched already.",
)


class PeerBook:
    """The peers in the data folder's peers.json, which holds tokens as lake.toml holds keys."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[Peer]:
        """None where the file is none, which is logged."""
        return self._list.all()

    def confirm(self, peer: Peer) -> None:
        """Keep a peer, in place of one of its name. Raises PeerError, AddressError, OSError."""
        self._list.keep(peer.model_copy(update={"url": checked_address(peer.url)}))

    def forget(self, name: str) -> Peer:
        """Watch it no longer. Raises PeerError for a name that none has."""
        return self._list.drop(name, f"There is no other Pitwall {name}.")

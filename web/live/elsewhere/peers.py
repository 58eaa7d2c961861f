"""Other Pitwalls whose live runs may be watched here: each was confirmed by a person who had its address and a token.

An address that is learnt from elsewhere (a machine of the lake, a link) is never asked. A token goes to the address
that it was confirmed with, and to no other.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from collectors.nodes.link import checked_address
from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.named_list import Kind, NamedList, Record

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

    def confirm(self, peer: Peer, in_shell: bool = False) -> None:
        """Keep a peer, in place of one of its name; from a shell the audit learns it from the file.

        Raises PeerError, AddressError, OSError.
        """
        kept = peer.model_copy(update={"url": checked_address(peer.url)})
        self._list.keep(kept, _entry("confirm peer", kept, kept.confirmed_by) if in_shell else None)

    def forget(self, name: str, by: str | None = None) -> Peer:
        """Watch it no longer; `by`: who does so in a shell, for the audit. Raises PeerError for an unknown name."""
        audit = partial(_entry, "remove peer", by=by) if by else None
        return self._list.drop(name, f"There is no other Pitwall {name}.", audit)

    def record_audit(self, record: Record) -> None:
        """Give the store's audit what was done in a shell; raises PitwallError, OSError."""
        self._list.record_audit(record)


def in_words(peer: Peer) -> str:
    """What the audit says of it."""
    return f"{peer.name} at {peer.url}"


def _entry(action: str, peer: Peer, by: str) -> AuditEntry:
    return AuditEntry(utc_now(), by, action, None, in_words(peer))

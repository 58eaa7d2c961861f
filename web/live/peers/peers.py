"""The other Pitwalls whose live runs may be watched here: each was confirmed by a person with its address and a token.

Pitwall never contacts an address from another source (a machine of the lake, a link). A token goes only to the address
with which it was confirmed.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from collectors.agents.link import checked_address
from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.named_list import EntryListKind, NamedList, Record

MOST_PEERS = 20


class PeerError(PitwallError):
    """A peer that cannot be confirmed or found, in one sentence."""


class Peer(BaseModel):
    """One other Pitwall."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    name: str = Field(pattern=r"^[\w.-]{1,40}$")
    url: str
    token: str = Field(repr=False)  # created there with the right live:read
    trusted: str | None = None  # path of a certificate file that replaces the system's
    confirmed_by: str
    confirmed_at: datetime


_KIND = EntryListKind(
    Peer,
    key="peers",
    name="name",
    max_entries=MOST_PEERS,
    refusal=PeerError,
    unreadable_message="No other Pitwall is being watched",
    invalid_message="{} is not a list of Pitwalls.",
    too_many="{} other Pitwalls are already watched.",
)


class PeerBook:
    """The peers in the data folder's peers.json, which contains tokens just as lake.toml contains keys."""

    def __init__(self, path: Path) -> None:
        self._list = NamedList(path, _KIND)

    def all(self) -> list[Peer]:
        """Return all peers; none, with a log entry, if the file is not a valid list."""
        return self._list.all()

    def confirm(self, peer: Peer, in_shell: bool = False) -> None:
        """Store a peer, replacing one of the same name; from a shell, the file carries the audit entry.

        Raises PeerError, AddressError, OSError.
        """
        stored = peer.model_copy(update={"url": checked_address(peer.url)})
        self._list.keep(stored, _entry("confirm peer", stored, stored.confirmed_by) if in_shell else None)

    def forget(self, name: str, by: str | None = None) -> Peer:
        """Stop watching a peer; `by`: the user in a shell, for the audit. Raises PeerError for an unknown name."""
        audit = partial(_entry, "remove peer", by=by) if by else None
        return self._list.drop(name, f"No watched Pitwall is named {name}.", audit)

    def record_audit(self, record: Record) -> None:
        """Copy the audit entries made in a shell into the store; raises PitwallError, OSError."""
        self._list.record_audit(record)


def describe(peer: Peer) -> str:
    """Return the peer's description in the audit."""
    return f"{peer.name} at {peer.url}"


def _entry(action: str, peer: Peer, by: str) -> AuditEntry:
    return AuditEntry(utc_now(), by, action, None, describe(peer))

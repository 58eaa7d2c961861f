"""The rules of the access check: its secrets, Pitwall's host names and the cookies' names."""

from __future__ import annotations

import hashlib
import secrets
import socket
from dataclasses import dataclass, field

from settings import Settings
from web.access.addresses import origin_of

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True)
class Access:
    """The configuration of the access check: the token of this start, the signing secret and Pitwall's host names."""

    secret: bytes = field(repr=False)
    cookie_name: str
    hosts: frozenset[str]
    any_address: bool = False  # listens on every interface: any IP literal may be its address
    public_origin: str | None = None
    base_path: str = ""
    url: str = ""  # Pitwall's address, for links
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    def cookie(self, kind: str, is_https: bool) -> str:
        """Return the name of the cookie of a sign-in ('') or a share; over TLS it is bound to this exact host name."""
        return ("__Host-" if is_https else "") + self.cookie_name + kind


def access_for(settings: Settings, secret: bytes) -> Access:
    """Return the access rules for these settings, with a new operator token."""
    public = settings.public_url
    wildcard = settings.host in {"0.0.0.0", "::"}
    hosts = {*LOOPBACK_NAMES, settings.host.lower()}
    if wildcard:
        hosts |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    if public and public.host:
        hosts.add(public.host.strip("[]").lower())
    return Access(
        secret=secret,
        cookie_name=f"pitwall-{folder_id(secret)}",
        hosts=frozenset(hosts),
        any_address=wildcard,
        public_origin=origin_of(str(public)) if public else None,
        base_path=settings.base_path,
        url=settings.url,
    )


def folder_id(secret: bytes) -> str:
    """Return an id of this data folder, so that two Pitwalls under one host name use different cookies."""
    return hashlib.sha256(b"cookie " + secret).hexdigest()[:12]

"""Checks the Host and Origin headers of a request against Pitwall's own addresses, by their text alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Set
from urllib.parse import urlsplit

from starlette.datastructures import Headers


def is_own_host(host: str | None, names: Set[str], any_address: bool) -> bool:
    """Whether the Host header names Pitwall; DNS rebinding needs a name, so `any_address` allows every IP literal."""
    try:
        name = (urlsplit(f"//{host or ''}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return name in names or (any_address and _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_own_origin(headers: Headers, public_origin: str | None) -> bool:
    """Whether the request comes from Pitwall's own page; only programs, to which no cookies belong, send no Origin."""
    origin = headers.get("origin")
    if origin is None:
        return True
    if public_origin and origin_of(origin) == public_origin:
        return True
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def origin_of(url: str) -> str:
    """Return scheme and host of a URL, with the port only if it is not the scheme's default."""
    parts = urlsplit(url)
    default_port = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(default_port)}" if default_port else url

"""Whether a request names us and comes from us: the Host and Origin headers, judged by their text alone."""

from __future__ import annotations

import ipaddress
from collections.abc import Set
from urllib.parse import urlsplit

from starlette.datastructures import Headers


def host_is_ours(host: str | None, names: Set[str], any_address: bool) -> bool:
    """Whether the Host header names us; rebinding needs a name, so with `any_address` every IP literal is us."""
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


def origin_is_ours(headers: Headers, public_origin: str | None) -> bool:
    """Whether the request comes from a page of ours; only programs, which lend nobody their cookies, send no Origin."""
    origin = headers.get("origin")
    if origin is None:
        return True
    if public_origin and origin_of(origin) == public_origin:
        return True
    return urlsplit(origin).netloc.lower() == headers.get("host", "").lower()


def origin_of(url: str) -> str:
    """Scheme and host of a URL, with the port only where it is not the scheme's own."""
    parts = urlsplit(url)
    usual = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return f"{parts.scheme}://{parts.netloc.lower().removesuffix(usual)}" if usual else url

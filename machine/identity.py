"""Which machine this is, and which of its boots."""

from __future__ import annotations

import hashlib
import socket
from ipaddress import ip_address
from pathlib import Path

import psutil

from machine.ports import dial_host, host_and_port

MACHINE_ID_PATH = Path("/etc/machine-id")
BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")
INTERNET = (socket.AF_INET, socket.AF_INET6)
REMOTE = "remote-"  # and the host: the id of a machine that is known by a URL alone


def machine_id(path: Path = MACHINE_ID_PATH, hostname: str | None = None) -> str:
    """12 hex digits that stay the same on this machine and do not give its machine-id away."""
    known = path.read_text().strip() if path.exists() else ""
    return hashlib.sha256(f"pitwall {known} {hostname or socket.gethostname()}".encode()).hexdigest()[:12]


def machine_at(base_url: str, here: str) -> str:
    """The id of the machine where a URL leads; `here` is the one of this machine."""
    host = host_and_port(base_url)[0]
    own = own_addresses()
    is_own = host.lower() == socket.gethostname().lower() or any(
        address in own or ip_address(address).is_loopback for address in _addresses(host)
    )
    return here if is_own else f"{REMOTE}{host}"


def own_addresses() -> set[str]:
    """The IP addresses of this machine's network cards."""
    cards = psutil.net_if_addrs().values()
    return {one.address.partition("%")[0] for card in cards for one in card if one.family in INTERNET}


def _addresses(host: str) -> set[str]:
    try:
        return {str(found[4][0]).partition("%")[0] for found in socket.getaddrinfo(dial_host(host), None)}
    except OSError:
        return set()


def boot_id(path: Path = BOOT_ID_PATH) -> str | None:
    """The kernel's id of this boot; None where the system has none."""
    return path.read_text().strip() if path.exists() else None

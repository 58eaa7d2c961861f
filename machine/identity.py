"""Ids of this machine and of its current boot."""

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
REMOTE = "remote-"  # prefix of the host name: the id of a machine known only by a URL


def machine_id(path: Path = MACHINE_ID_PATH, hostname: str | None = None) -> str:
    """Return 12 hex digits that are stable on this machine and do not reveal its machine-id."""
    system_id = path.read_text().strip() if path.exists() else ""
    return hashlib.sha256(f"pitwall {system_id} {hostname or socket.gethostname()}".encode()).hexdigest()[:12]


def machine_at(base_url: str, local_id: str) -> str:
    """Return the id of the machine that a URL points to; `local_id` is this machine's id."""
    host = host_and_port(base_url)[0]
    addresses = local_addresses()
    is_local = host.lower() == socket.gethostname().lower() or any(
        address in addresses or ip_address(address).is_loopback for address in _addresses(host)
    )
    return local_id if is_local else f"{REMOTE}{host}"


def local_addresses() -> set[str]:
    """Return the IP addresses of this machine's network interfaces."""
    cards = psutil.net_if_addrs().values()
    return {
        address_entry.address.partition("%")[0]
        for card in cards
        for address_entry in card
        if address_entry.family in INTERNET
    }


def _addresses(host: str) -> set[str]:
    try:
        return {str(address_info[4][0]).partition("%")[0] for address_info in socket.getaddrinfo(dial_host(host), None)}
    except OSError:
        return set()


def boot_id(path: Path = BOOT_ID_PATH) -> str | None:
    """Return the kernel's id of this boot; None if the system has none."""
    return path.read_text().strip() if path.exists() else None

"""Which machine this is, and which of its boots."""

from __future__ import annotations

import hashlib
import socket
from pathlib import Path

MACHINE_ID_PATH = Path("/etc/machine-id")
BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


def machine_id(path: Path = MACHINE_ID_PATH, hostname: str | None = None) -> str:
    """12 hex digits that stay the same on this machine and do not give its machine-id away."""
    known = path.read_text().strip() if path.exists() else ""
    return hashlib.sha256(f"pitwall {known} {hostname or socket.gethostname()}".encode()).hexdigest()[:12]


def boot_id(path: Path = BOOT_ID_PATH) -> str | None:
    """The kernel's id of this boot; None where the system has none."""
    return path.read_text().strip() if path.exists() else None

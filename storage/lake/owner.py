"""The id under which a data folder ships. Backups do not contain it, so a restored folder gets a new one."""

from __future__ import annotations

import secrets

from machine.private_files import write_private
from settings import Settings


def owner_id(settings: Settings) -> str:
    """Return the id of this data folder (16 hex digits), creating it if needed."""
    path = settings.owner_path
    if not path.exists():
        write_private(path, secrets.token_hex(8).encode())
    return path.read_text(encoding="ascii").strip()

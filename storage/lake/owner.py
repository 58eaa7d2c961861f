"""The id under which a data folder ships. A backup does not contain it, so a restored folder gets a new one."""

from __future__ import annotations

import secrets

from machine.private_files import write_private
from settings import Settings


def owner_id(settings: Settings) -> str:
    """The id of this data folder, made when there is none; 16 hex digits."""
    path = settings.owner_path
    if not path.exists():
        write_private(path, secrets.token_hex(8).encode())
    return path.read_text(encoding="ascii").strip()

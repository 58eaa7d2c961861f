"""The signing secret in the data folder: created once and readable only by its owner."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from machine.private_files import private_folder
from machine.regular_file import NotRegularError, open_regular, pin_path
from settings import SettingsError

KEY_BYTES = 32
RENEWAL_HINT = "delete it to have a new one created (everyone must sign in again)."


def load_secret(path: Path) -> bytes:
    """Return the signing secret at `path`, created if there is none; because it persists, sign-ins survive a restart.

    Raises SettingsError if the folder cannot be written or the file is not a signing key.
    """
    secret = _read_or_create(path, secrets.token_bytes(KEY_BYTES))
    if len(secret) < KEY_BYTES:
        raise SettingsError(f"{path} is not a signing key: {RENEWAL_HINT}")
    return secret


def _read_or_create(path: Path, fresh: bytes) -> bytes:
    """Return the file's content, after writing `fresh` to it if it does not exist."""
    try:
        if not path.exists():
            _create(path, fresh)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        with open_regular(pin_path(path)) as file:
            return file.read()
    except (RuntimeError, NotRegularError) as error:
        raise SettingsError(f"{error}: {RENEWAL_HINT}") from error
    except OSError as error:
        raise SettingsError(f"{path} can be neither read nor created: {error.strerror}.") from error


def _create(path: Path, fresh: bytes) -> None:
    """Write the complete key under a temporary name first, so that nobody can read half of it."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
            file.flush()
            os.fsync(file.fileno())
        # Link instead of rename: if two processes start at once, the first one's key stays.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()

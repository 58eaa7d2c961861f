"""The signing secret in the data folder: made once, kept, readable by its owner alone."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from machine.private_files import private_folder
from machine.regular_file import NotRegularError, opened, pinned
from settings import SettingsError

KEY_BYTES = 32
ANEW = "delete it to have a new one made (everybody signs in again)."


def load_secret(path: Path) -> bytes:
    """The signing secret at `path`, made when there is none; sign-ins outlive a restart because it does.

    Raises SettingsError when the folder cannot be written or the file is not such a secret.
    """
    secret = _kept(path, secrets.token_bytes(KEY_BYTES))
    if len(secret) < KEY_BYTES:
        raise SettingsError(f"{path} is not a signing key: {ANEW}")
    return secret


def _kept(path: Path, fresh: bytes) -> bytes:
    """What stands in the file; `fresh` where there is none yet."""
    try:
        if not path.exists():
            _make(path, fresh)
        if path.stat().st_mode & 0o077:
            path.chmod(0o600)
        with opened(pinned(path)) as file:
            return file.read()
    except (RuntimeError, NotRegularError) as error:
        raise SettingsError(f"{error}: {ANEW}") from error
    except OSError as error:
        raise SettingsError(f"{path} can be neither read nor made: {error.strerror}.") from error


def _make(path: Path, fresh: bytes) -> None:
    """Write the key whole and then give it its name, so that nobody ever reads half of one."""
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(fresh)
            file.flush()
            os.fsync(file.fileno())
        # A link, not a rename: of two that start at once, the first one's key stays.
        path.hardlink_to(draft)
    except FileExistsError:
        pass
    finally:
        draft.unlink()

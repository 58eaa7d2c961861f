"""The tokens of programs: each opens the routes of its scopes until it expires or is revoked.

Only a token's hash is stored, and its text is shown once, so neither the file nor a page reveals a usable token. This
process and `./pitwall token` both change the file, under a lock; it is read again whenever it has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from domain import AuditEntry, utc_now
from errors import PitwallError
from machine.private_files import write_private
from machine.regular_file import NotRegularError, open_regular, pin_path
from machine.shared_file import Signature, file_lock, signature
from web.access.sessions import MemberRole

PREFIX = "pwt_"  # redaction.py recognizes tokens by it
MOST_OPEN = 200
MOST_DAYS = 366
MOST_NOTE = 200
KEPT_AFTER_END = timedelta(days=90)
NOTE_USE_EVERY = timedelta(minutes=10)  # in the file; in memory the time is exact
LOOK_EVERY_S = 1.0
TOKEN_EXPIRED = "This token is no longer valid."
_log = logging.getLogger(__name__)


class Scope(StrEnum):
    """The rights of a token; each route needs one scope."""

    LIVE = "live:read"
    SQL = "sql:read"
    METRICS = "metrics:read"  # current numbers, for Prometheus
    LAKE = "lake:read"  # SQL over the runs of all machines
    PROPOSE = "actions:propose"  # a load or a study, which the operator accepts or rejects
    AGENT = "agent:write"  # for one run
    EDITOR = "sign-in:editor"  # for the person whom the note names
    VIEWER = "sign-in:viewer"


SIGN_IN_AS: Mapping[Scope, MemberRole] = {Scope.EDITOR: "editor", Scope.VIEWER: "viewer"}


class TokenError(PitwallError):
    """A token that cannot be created, found or read; the message is one sentence."""


class ApiToken(BaseModel):
    """One stored token: its scopes, its end and the hash of its text."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str  # for listing and revoking
    digest: str  # SHA-256 of its text
    scopes: tuple[Scope, ...]
    run_id: str | None = None  # only for agent:write
    note: str = ""
    made_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def why_expired(self, now: datetime) -> str | None:
        """Return why the token is no longer valid; None while it is."""
        if self.revoked_at:
            return "This token has been revoked."
        return "This token has expired." if now >= self.expires_at else None

    def describe(self) -> str:
        """Return the token's description in the audit."""
        run = f" of run {self.run_id}" if self.run_id else ""
        note = f" ({self.note})" if self.note else ""
        return f"token {self.id}{note}: {', '.join(self.scopes)}{run}, until {self.expires_at:%Y-%m-%d %H:%M} UTC"


class _TokenFile(BaseModel):
    """The content of the file."""

    model_config = ConfigDict(extra="forbid")
    tokens: list[ApiToken] = Field(default_factory=list)
    untold: list[AuditEntry] = Field(default_factory=list)  # audit entries that the store does not have yet


class TokenBook:
    """All tokens; usable from any thread, even while another process changes the file."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._file_signature: Signature | None = None
        self._book = _TokenFile()
        self._last_uses: dict[str, datetime] = {}
        self._noted_at = clock()

    def all(self) -> list[ApiToken]:
        """Return every stored token, including expired ones, the newest first."""
        with self._lock:
            return sorted(
                map(self._with_use, self._current_book().tokens), key=lambda token: token.created_at, reverse=True
            )

    def find(self, text: str) -> ApiToken | None:
        """Return the token of this text, valid or not; all hashes are compared, each in constant time."""
        digest = _digest_of(text)
        with self._lock:
            matches = [token for token in self._current_book().tokens if hmac.compare_digest(token.digest, digest)]
            for token in matches:
                self._last_uses[token.id] = self._clock()
            return matches[0] if matches else None

    def why_expired(self, token: ApiToken) -> str | None:
        """Return why a token is no longer valid; None while it is."""
        with self._lock:
            stored = next((entry for entry in self._current_book().tokens if entry.id == token.id), None)
        return stored.why_expired(self._clock()) if stored else TOKEN_EXPIRED

    def is_open(self, token_id: str) -> bool:
        """Whether the token of this id is valid now."""
        with self._lock:
            return any(
                token.id == token_id and token.why_expired(self._clock()) is None
                for token in self._current_book().tokens
            )

    def make(
        self, scopes: Sequence[Scope], run_id: str | None, lasts: timedelta, note: str, by: str
    ) -> tuple[ApiToken, str]:
        """Create a token and return it with its text, which is not stored. Raises TokenError, OSError."""
        _check(scopes, run_id, lasts, note)
        text = PREFIX + secrets.token_urlsafe(32)
        return self._add(text, tuple(dict.fromkeys(scopes)), run_id, lasts, note, by), text

    def revoke(self, token_id: str, by: str) -> ApiToken:
        """Revoke a token; its open connections end within about a second. Raises TokenError for an unknown id."""
        with self._changing() as book:
            token = next((entry for entry in book.tokens if entry.id == token_id), None)
            if token is None:
                raise TokenError(f"There is no token {token_id}.")
            if token.revoked_at is None:
                revoked = token.model_copy(update={"revoked_at": self._clock()})
                book.tokens = [revoked if entry.id == token_id else entry for entry in book.tokens]
                book.untold.append(self._entry(by, "revoke token", revoked))
        return token

    def record_audit(self, record: Callable[[Iterable[AuditEntry]], Future[None]]) -> None:
        """Copy new audit entries into the store, and note uses in the file; raises PitwallError, OSError."""
        with self._lock:
            unrecorded, is_due = list(self._current_book().untold), self._clock() - self._noted_at > NOTE_USE_EVERY
        if not unrecorded and not (is_due and self._last_uses):
            return
        if unrecorded:
            record(unrecorded).result()  # stored before the file drops them; without the lock, as it may be slow
        with self._changing() as book:
            book.untold = book.untold[len(unrecorded) :]
            book.tokens = list(map(self._with_use, book.tokens))
            self._noted_at = self._clock()

    async def wait_for_end(self, token: ApiToken) -> None:
        """Return once the token is no longer valid."""
        while self.why_expired(token) is None:
            await asyncio.sleep(LOOK_EVERY_S)

    def _add(
        self, text: str, scopes: tuple[Scope, ...], run_id: str | None, lasts: timedelta, note: str, by: str
    ) -> ApiToken:
        now = self._clock()
        token = ApiToken(
            id=secrets.token_hex(4),
            digest=_digest_of(text),
            scopes=scopes,
            run_id=run_id,
            note=note,
            made_by=by,
            created_at=now,
            expires_at=now + lasts,
        )
        with self._changing() as book:
            if sum(entry.why_expired(now) is None for entry in book.tokens) >= MOST_OPEN:
                raise TokenError(f"{MOST_OPEN} tokens are valid already: revoke some first.")
            book.tokens.append(token)
            book.untold.append(self._entry(by, "make token", token))
        return token

    def _entry(self, by: str, action: str, token: ApiToken) -> AuditEntry:
        return AuditEntry(self._clock(), by, action, token.run_id, token.describe())

    def _with_use(self, token: ApiToken) -> ApiToken:
        used_at = self._last_uses.get(token.id)
        return token.model_copy(update={"last_used_at": used_at}) if used_at else token

    def _current_book(self) -> _TokenFile:
        """Return the file's current content; an invalid file has no tokens."""
        current_signature = signature(self._path)
        if current_signature != self._file_signature:
            try:
                self._book = _read(self._path)
            except (OSError, TokenError) as error:
                _log.warning("All tokens are refused: %s", error)
                self._book = _TokenFile()
            self._file_signature = current_signature
        return self._book

    @contextmanager
    def _changing(self) -> Iterator[_TokenFile]:
        """Yield the content for an exclusive change, and write it afterwards.

        The readers' lock is not held: one reader is the event loop, which must not wait for another process.
        """
        with file_lock(self._path):
            book = _read(self._path)
            yield book
            long_ago = self._clock() - KEPT_AFTER_END
            book.tokens = [token for token in book.tokens if (token.revoked_at or token.expires_at) > long_ago]
            write_private(self._path, book.model_dump_json(indent=1).encode())


def _check(scopes: Sequence[Scope], run_id: str | None, lasts: timedelta, note: str) -> None:
    if not scopes:
        raise TokenError("A token needs a scope.")
    if (Scope.AGENT in scopes) != bool(run_id) or (run_id and len(set(scopes)) > 1):
        raise TokenError(
            f"{Scope.AGENT} cannot be combined with other scopes and needs one run; the other scopes take no run."
        )
    if SIGN_IN_AS.keys() & set(scopes) and (len(set(scopes)) > 1 or not note.strip()):
        raise TokenError("A sign-in token has exactly one scope, and its note names the person: --note NAME.")
    if len(note) > MOST_NOTE or not note.isprintable():
        raise TokenError(f"A note has at most {MOST_NOTE} printable characters, in UTF-8.")
    if not timedelta(0) < lasts <= timedelta(days=MOST_DAYS):
        raise TokenError(f"A token must be valid for more than 0 and at most {MOST_DAYS} days.")


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> _TokenFile:
    try:
        with open_regular(pin_path(path)) as file:
            return _TokenFile.model_validate_json(file.read())
    except FileNotFoundError:
        return _TokenFile()
    except (RuntimeError, NotRegularError, ValidationError):
        raise TokenError(f"{path} is not a list of tokens. Deleting it revokes all tokens.") from None

"""The tokens of programs: each opens the routes of its scopes until it ends or is revoked.

A token is known by its hash and shown once, so that neither the file nor a page could open anything. The file is
changed by this process and by `./pitwall token` beside it, under a lock, and read again whenever it has changed.
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
from machine.regular_file import NotRegularError, opened, pinned
from machine.shared_file import Signature, locked, signature
from web.access.sessions import MemberRole

PREFIX = "pwt_"  # by which redaction.py knows one
MOST_OPEN = 200
MOST_DAYS = 366
MOST_NOTE = 200
KEPT_AFTER_END = timedelta(days=90)
NOTE_USE_EVERY = timedelta(minutes=10)  # in the file; in memory it is exact
LOOK_EVERY_S = 1.0
OLD_FILE_DAYS = 90
OLD_FILE_NOTE = "api.token of an older Pitwall"
SHORTEST_OLD = 32
TOKEN_IS_OVER = "This token has ended."
_log = logging.getLogger(__name__)


class Scope(StrEnum):
    """What a token opens; each route needs one scope."""

    LIVE = "live:read"
    SQL = "sql:read"
    LAKE = "lake:read"  # the runs of all machines, by SQL
    AGENT = "agent:write"  # of one run
    EDITOR = "sign-in:editor"  # of a person, whom the note names
    VIEWER = "sign-in:viewer"


SIGN_IN_AS: Mapping[Scope, MemberRole] = {Scope.EDITOR: "editor", Scope.VIEWER: "viewer"}


class TokenError(PitwallError):
    """A token that cannot be made, found or read, in one sentence."""


class ApiToken(BaseModel):
    """One token as it is kept: what it opens and until when, and the hash of its text."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str  # by which it is listed and revoked
    digest: str  # SHA-256 of its text
    scopes: tuple[Scope, ...]
    run_id: str | None = None  # of agent:write
    note: str = ""
    made_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None

    def why_over(self, now: datetime) -> str | None:
        """Why it opens nothing any more; None while it does."""
        if self.revoked_at:
            return "This token has been revoked."
        return "This token is past its end." if now >= self.expires_at else None

    def in_words(self) -> str:
        """What the audit says of it."""
        run = f" of run {self.run_id}" if self.run_id else ""
        note = f" ({self.note})" if self.note else ""
        return f"token {self.id}{note}: {', '.join(self.scopes)}{run}, until {self.expires_at:%Y-%m-%d %H:%M} UTC"


class _Book(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid")
    tokens: list[ApiToken] = Field(default_factory=list)
    untold: list[AuditEntry] = Field(default_factory=list)  # changes that the store's audit does not have yet


class TokenBook:
    """All tokens; safe from any thread, and beside another process that changes the file."""

    def __init__(self, path: Path, clock: Callable[[], datetime] = utc_now) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: Signature | None = None
        self._book = _Book()
        self._used: dict[str, datetime] = {}
        self._noted_at = clock()

    def all(self) -> list[ApiToken]:
        """Every token that is kept, the newest first, those among them that have ended."""
        with self._lock:
            return sorted(map(self._with_use, self._now().tokens), key=lambda one: one.created_at, reverse=True)

    def find(self, text: str) -> ApiToken | None:
        """The token of this text, ended or not; each kept hash is compared, in a time that reveals nothing of them."""
        digest = _digest_of(text)
        with self._lock:
            found = [one for one in self._now().tokens if hmac.compare_digest(one.digest, digest)]
            for one in found:
                self._used[one.id] = self._clock()
            return found[0] if found else None

    def why_over(self, token: ApiToken) -> str | None:
        """Why a token that was found opens nothing now; None while it does."""
        with self._lock:
            kept = next((one for one in self._now().tokens if one.id == token.id), None)
        return kept.why_over(self._clock()) if kept else TOKEN_IS_OVER

    def is_open(self, token_id: str) -> bool:
        """Whether the token of this id opens something now."""
        with self._lock:
            return any(one.id == token_id and one.why_over(self._clock()) is None for one in self._now().tokens)

    def make(
        self, scopes: Sequence[Scope], run_id: str | None, lasts: timedelta, note: str, by: str
    ) -> tuple[ApiToken, str]:
        """A new token and its text, which is nowhere else. Raises TokenError, OSError."""
        _check(scopes, run_id, lasts, note)
        text = PREFIX + secrets.token_urlsafe(32)
        return self._add(text, tuple(dict.fromkeys(scopes)), run_id, lasts, note, by), text

    def revoke(self, token_id: str, by: str) -> ApiToken:
        """End a token now; what it has open ends within about a second. Raises TokenError for an unknown id."""
        with self._changing() as book:
            token = next((one for one in book.tokens if one.id == token_id), None)
            if token is None:
                raise TokenError(f"There is no token {token_id}.")
            if token.revoked_at is None:
                ended = token.model_copy(update={"revoked_at": self._clock()})
                book.tokens = [ended if one.id == token_id else one for one in book.tokens]
                book.untold.append(self._entry(by, "revoke token", ended))
        return token

    def take_over(self, old_file: Path) -> ApiToken | None:
        """Take an older Pitwall's one token as one that reads SQL, once: where there is no book yet. Raises OSError."""
        if self._path.exists() or not old_file.is_file():
            return None
        text = old_file.read_text().strip()
        if len(text) < SHORTEST_OLD:
            return None
        return self._add(text, (Scope.SQL,), None, timedelta(days=OLD_FILE_DAYS), OLD_FILE_NOTE, "pitwall")

    def record_audit(self, record: Callable[[Iterable[AuditEntry]], Future[None]]) -> None:
        """Give the store's audit what it lacks, and note uses in the file; raises PitwallError, OSError."""
        with self._lock:
            news, is_due = list(self._now().untold), self._clock() - self._noted_at > NOTE_USE_EVERY
        if not news and not (is_due and self._used):
            return
        if news:
            record(news).result()  # durable, before the file forgets it; without the lock, for it may take long
        with self._changing() as book:
            book.untold = book.untold[len(news) :]
            book.tokens = list(map(self._with_use, book.tokens))
            self._noted_at = self._clock()

    async def wait_for_end(self, token: ApiToken) -> None:
        """Return once the token opens nothing any more."""
        while self.why_over(token) is None:
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
            if sum(one.why_over(now) is None for one in book.tokens) >= MOST_OPEN:
                raise TokenError(f"{MOST_OPEN} tokens are open: revoke some first.")
            book.tokens.append(token)
            book.untold.append(self._entry(by, "make token", token))
        return token

    def _entry(self, by: str, action: str, token: ApiToken) -> AuditEntry:
        return AuditEntry(self._clock(), by, action, token.run_id, token.in_words())

    def _with_use(self, token: ApiToken) -> ApiToken:
        used = self._used.get(token.id)
        return token.model_copy(update={"last_used_at": used}) if used else token

    def _now(self) -> _Book:
        """What the file holds now; a file that is none opens nothing."""
        seen = signature(self._path)
        if seen != self._seen:
            try:
                self._book = _read(self._path)
            except (OSError, TokenError) as error:
                _log.warning("No token opens anything: %s", error)
                self._book = _Book()
            self._seen = seen
        return self._book

    @contextmanager
    def _changing(self) -> Iterator[_Book]:
        """The book to be changed, alone among threads and processes, and written when left.

        Without the lock of those who ask: one of them is the event loop, which must not wait for another process.
        """
        with locked(self._path):
            book = _read(self._path)
            yield book
            long_ago = self._clock() - KEPT_AFTER_END
            book.tokens = [one for one in book.tokens if (one.revoked_at or one.expires_at) > long_ago]
            write_private(self._path, book.model_dump_json(indent=1).encode())


def _check(scopes: Sequence[Scope], run_id: str | None, lasts: timedelta, note: str) -> None:
    if not scopes:
        raise TokenError("A token needs a scope.")
    if (Scope.AGENT in scopes) != bool(run_id) or (run_id and len(set(scopes)) > 1):
        raise TokenError(f"{Scope.AGENT} stands alone and names one run; the other scopes name none.")
    if SIGN_IN_AS.keys() & set(scopes) and (len(set(scopes)) > 1 or not note.strip()):
        raise TokenError("A token to sign in with stands alone, and its note names the person: --note NAME.")
    if len(note) > MOST_NOTE or not note.isprintable():
        raise TokenError(f"A note has at most {MOST_NOTE} printable characters, in UTF-8.")
    if not timedelta(0) < lasts <= timedelta(days=MOST_DAYS):
        raise TokenError(f"A token lasts for more than 0 and at most {MOST_DAYS} days.")


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _read(path: Path) -> _Book:
    try:
        with opened(pinned(path)) as file:
            return _Book.model_validate_json(file.read())
    except FileNotFoundError:
        return _Book()
    except (RuntimeError, NotRegularError, ValidationError):
        raise TokenError(f"{path} is no list of tokens: delete it, and all of them have ended.") from None

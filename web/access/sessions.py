"""The browsers that are signed in: kept over a restart, listed, ended one by one or all at once.

A session is known by the hash of its cookie's token, so that neither the file nor a page could sign anybody in.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal, get_args

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from domain import utc_now
from machine.private_files import write_private
from machine.regular_file import NotRegularError, opened, pinned

UNUSED_FOR = timedelta(days=7)
NOTE_USE_EVERY = timedelta(minutes=10)  # in the file; in memory it is exact
LOOK_EVERY_S = 1.0
SIGNED_OUT = "This browser has been signed out."
_BROWSERS = {"Edg/": "Edge", "OPR/": "Opera", "Firefox/": "Firefox", "Chrome/": "Chrome", "Safari/": "Safari"}
_SYSTEMS = {
    "Windows": "Windows",
    "iPhone": "iOS",
    "iPad": "iOS",
    "Android": "Android",
    "Mac OS": "macOS",
    "Linux": "Linux",
}
MemberRole = Literal["operator", "editor", "viewer"]
HIGHEST_FIRST: tuple[MemberRole, ...] = get_args(MemberRole)
_log = logging.getLogger(__name__)


def is_higher(role: MemberRole, other: MemberRole) -> bool:
    """Whether a role may do more than the other."""
    return HIGHEST_FIRST.index(role) < HIGHEST_FIRST.index(other)


class Session(BaseModel):
    """One browser that is signed in; `id` is the hash of its token."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    created_at: datetime
    last_used_at: datetime
    browser: str  # 'Firefox on Linux', as it names itself
    role: MemberRole = "operator"
    name: str = ""  # of the person, where the sign-in gave it
    until: datetime | None = None  # it ends then, used or not
    token_id: str | None = None  # of the token that signed in; it ends with it


_SESSIONS = TypeAdapter(list[Session])


class SessionBook:
    """All sessions, in memory because the access check asks at every request, and in a file because they outlive us."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], datetime] = utc_now,
        is_token_open: Callable[[str], bool] = lambda token_id: False,
    ) -> None:
        """`is_token_open`: whether the token of this id still signs in."""
        self._path = path
        self._clock = clock
        self._is_token_open = is_token_open
        self._lock = threading.Lock()
        self._sessions = {one.id: one for one in _read(path)}
        self._noted_at = clock()

    def all(self) -> list[Session]:
        """Every open session, the last used first."""
        sessions = filter(self._is_open, list(self._sessions.values()))
        return sorted(sessions, key=lambda one: one.last_used_at, reverse=True)

    def make(
        self,
        user_agent: str,
        role: MemberRole = "operator",
        name: str = "",
        until: datetime | None = None,
        token_id: str | None = None,
    ) -> str:
        """A new session's token, for the cookie alone."""
        token, now = secrets.token_urlsafe(32), self._clock()
        session = Session(
            id=_id_of(token),
            created_at=now,
            last_used_at=now,
            browser=browser_of(user_agent),
            role=role,
            name=name,
            until=until,
            token_id=token_id,
        )
        with self._lock:
            kept = filter(self._is_in_time, self._sessions.values())
            self._sessions = {one.id: one for one in (*kept, session)}
            self._write()
        return token

    def use(self, token: str) -> Session | None:
        """The open session of a token, its time begun anew; None where there is none."""
        return self._used(_id_of(token)) if token else None

    def is_open(self, session_id: str) -> bool:
        """Whether this session still signs in; to ask this is not to use it."""
        session = self._sessions.get(session_id)
        return session is not None and self._is_open(session)

    def end(self, session_id: str) -> None:
        """Sign one browser out; its open pages end within about a second."""
        self._keep_only(lambda one: one.id != session_id)

    def end_all(self) -> None:
        """Sign every browser out, this one too."""
        self._keep_only(lambda one: False)

    async def wait_for_end(self, session_id: str) -> None:
        """Return once the session is over; a page that is open uses it."""
        while self._used(session_id):
            await asyncio.sleep(LOOK_EVERY_S)

    def _is_open(self, session: Session) -> bool:
        """Asked without our lock: the tokens have one of their own."""
        return self._is_in_time(session) and (session.token_id is None or self._is_token_open(session.token_id))

    def _is_in_time(self, session: Session) -> bool:
        now = self._clock()
        return (session.until is None or now < session.until) and now - session.last_used_at < UNUSED_FOR

    def _used(self, session_id: str) -> Session | None:
        if not self.is_open(session_id):
            return None
        with self._lock:
            session, now = self._sessions.get(session_id), self._clock()
            if session is None:  # signed out meanwhile
                return None
            session = session.model_copy(update={"last_used_at": now})
            self._sessions[session_id] = session
            if abs(now - self._noted_at) > NOTE_USE_EVERY:
                self._write()
            return session

    def _keep_only(self, is_kept: Callable[[Session], bool]) -> None:
        with self._lock:
            self._sessions = {one.id: one for one in self._sessions.values() if is_kept(one)}
            if not self._write():
                self._path.unlink(missing_ok=True)  # a full disk: better all signed out at the next start than one in

    def _write(self) -> bool:
        self._noted_at = self._clock()
        try:
            write_private(self._path, _SESSIONS.dump_json(list(self._sessions.values()), indent=1))
        except OSError as error:
            _log.warning("The sign-ins cannot be written (%s): they end with this process.", error)
            return False
        return True


def _read(path: Path) -> list[Session]:
    """What the file holds; a file that is none signs everybody out."""
    try:
        with opened(pinned(path)) as file:
            return _SESSIONS.validate_json(file.read())
    except FileNotFoundError:
        return []
    except (OSError, RuntimeError, NotRegularError, ValidationError) as error:
        _log.warning("%s holds no sign-ins (%s): everybody signs in again.", path, type(error).__name__)
        return []


def _id_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def browser_of(user_agent: str) -> str:
    """A browser in words, as far as it says what it is."""
    name = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "")
    said = " on ".join(filter(None, (name, system)))
    return said or user_agent.partition(" ")[0][:40] or "unknown"

"""The sessions of signed-in browsers: they survive a restart and can be listed and ended, one by one or all at once.

A session is identified by the hash of its cookie's token, so neither the file nor a page reveals a usable token.
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
from machine.regular_file import NotRegularError, open_regular, pin_path

UNUSED_FOR = timedelta(days=7)
NOTE_USE_EVERY = timedelta(minutes=10)  # in the file; in memory the time is exact
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


def is_higher(role: MemberRole, reference: MemberRole) -> bool:
    """Whether a role may do more than the reference role."""
    return HIGHEST_FIRST.index(role) < HIGHEST_FIRST.index(reference)


class SignInSession(BaseModel):
    """One signed-in browser; `id` is the hash of its token."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    id: str
    created_at: datetime
    last_used_at: datetime
    browser: str  # such as 'Firefox on Linux', from its User-Agent
    role: MemberRole = "operator"
    name: str = ""  # of the person, if the sign-in gave it
    until: datetime | None = None  # the session ends then, used or not
    token_id: str | None = None  # the token that signed in, with which the session ends


_SESSIONS = TypeAdapter(list[SignInSession])


class SessionBook:
    """All sessions: in memory for the access check of every request, and in a file so that they survive a restart."""

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
        self._sessions = {session.id: session for session in _read(path)}
        self._noted_at = clock()

    def all(self) -> list[SignInSession]:
        """Return every open session, the last used first."""
        sessions = filter(self._is_open, list(self._sessions.values()))
        return sorted(sessions, key=lambda session: session.last_used_at, reverse=True)

    def make(
        self,
        user_agent: str,
        role: MemberRole = "operator",
        name: str = "",
        until: datetime | None = None,
        token_id: str | None = None,
    ) -> str:
        """Create a session and return its token, which only the cookie may hold."""
        token, now = secrets.token_urlsafe(32), self._clock()
        session = SignInSession(
            id=_id_of(token),
            created_at=now,
            last_used_at=now,
            browser=browser_name(user_agent),
            role=role,
            name=name,
            until=until,
            token_id=token_id,
        )
        with self._lock:
            current = filter(self._is_in_time, self._sessions.values())
            self._sessions = {entry.id: entry for entry in (*current, session)}
            self._write()
        return token

    def use(self, token: str) -> SignInSession | None:
        """Return the open session of a token and note its use now; None if there is none."""
        return self._touch(_id_of(token)) if token else None

    def is_open(self, session_id: str) -> bool:
        """Whether this session is still valid; this does not count as a use."""
        session = self._sessions.get(session_id)
        return session is not None and self._is_open(session)

    def end(self, session_id: str) -> None:
        """Sign one browser out; its open pages end within about a second."""
        self._keep_only(lambda session: session.id != session_id)

    def end_all(self) -> None:
        """Sign every browser out, including the caller's."""
        self._keep_only(lambda session: False)

    async def wait_for_end(self, session_id: str) -> None:
        """Return once the session has ended; waiting for an open page counts as its use."""
        while self._touch(session_id):
            await asyncio.sleep(LOOK_EVERY_S)

    def _is_open(self, session: SignInSession) -> bool:
        """Whether the session is valid; called without the lock, because the token book has its own."""
        return self._is_in_time(session) and (session.token_id is None or self._is_token_open(session.token_id))

    def _is_in_time(self, session: SignInSession) -> bool:
        now = self._clock()
        return (session.until is None or now < session.until) and now - session.last_used_at < UNUSED_FOR

    def _touch(self, session_id: str) -> SignInSession | None:
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

    def _keep_only(self, is_kept: Callable[[SignInSession], bool]) -> None:
        with self._lock:
            self._sessions = {session.id: session for session in self._sessions.values() if is_kept(session)}
            if not self._write():
                self._path.unlink(
                    missing_ok=True
                )  # a full disk: rather sign out all at the next start than keep one in

    def _write(self) -> bool:
        self._noted_at = self._clock()
        try:
            write_private(self._path, _SESSIONS.dump_json(list(self._sessions.values()), indent=1))
        except OSError as error:
            _log.warning("The sign-ins cannot be saved (%s): they end with this process.", error)
            return False
        return True


def _read(path: Path) -> list[SignInSession]:
    """Read the file; an invalid file signs everyone out."""
    try:
        with open_regular(pin_path(path)) as file:
            return _SESSIONS.validate_json(file.read())
    except FileNotFoundError:
        return []
    except (OSError, RuntimeError, NotRegularError, ValidationError) as error:
        _log.warning("%s is not a list of sign-ins (%s): everyone must sign in again.", path, type(error).__name__)
        return []


def _id_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def browser_name(user_agent: str) -> str:
    """Return a browser's name and system from its User-Agent, as far as known."""
    name = next((name for mark, name in _BROWSERS.items() if mark in user_agent), "")
    system = next((name for mark, name in _SYSTEMS.items() if mark in user_agent), "")
    label = " on ".join(filter(None, (name, system)))
    return label or user_agent.partition(" ")[0][:40] or "unknown"

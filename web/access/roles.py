"""The visitor of a request and their role: operator, editor, viewer, guest of a link, or program.

The operator may do everything. A viewer sees every run and changes nothing; an editor also writes notes, tags and
views, and runs loads on servers. A guest sees what one link shares. A program may use the routes of its token's scopes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, unquote

import streamlit as st
from starlette.types import Scope as Scope_

from domain import Share
from web.access.sessions import SignInSession
from web.access.tokens import ApiToken, Scope

Role = Literal["operator", "editor", "viewer", "guest", "program"]
ROLES: tuple[Role, ...] = get_args(Role)
MEMBERS: frozenset[Role | None] = frozenset({"operator", "editor", "viewer"})  # they see every run
EDITORS: frozenset[Role | None] = frozenset({"operator", "editor"})
ROLE_KEY = "pitwall.role"  # in the ASGI scope
SHARE_KEY = "pitwall.share"  # in the ASGI scope: the share of a guest
TOKEN_KEY = "pitwall.token"  # in the ASGI scope: the token of a program
NAME_KEY = "pitwall.name"  # in the ASGI scope: the name of a person whose sign-in gave one
ROLE_HEADER = "x-pitwall-role"  # tells a page script the role; only the access check can set it
SHARE_HEADER = "x-pitwall-share"
SESSION_HEADER = "x-pitwall-session"
NAME_HEADER = "x-pitwall-name"  # percent-encoded


@dataclass(frozen=True)
class Visitor:
    """The visitor of a request, as proven by cookies or a token."""

    role: Role
    share: Share | None = None  # set for every guest
    session: SignInSession | None = None  # set for every signed-in browser
    token: ApiToken | None = None  # set for every program


def current_role() -> Role | None:
    """Return the role of the browser behind the running page script; None if the access check did not admit it."""
    header = st.context.headers.get(ROLE_HEADER)
    return next((role for role in ROLES if role == header), None)


def current_person() -> str:
    """Return the visitor behind the running page script for the audit: the role, with the person's name if known."""
    return person_label(current_role(), current_name())


def current_name() -> str:
    """Return the name of the person behind the running page script, '' if the sign-in gave none."""
    return unquote(st.context.headers.get(NAME_HEADER) or "")


def person_label(role: Role | None, name: str) -> str:
    """Return a label such as 'Ann (editor)', or only the role if the name is unknown."""
    return f"{name} ({role or 'unknown'})" if name else role or "unknown"


def current_share_id() -> str | None:
    """Return the share of the browser behind the running page script; None for members."""
    return st.context.headers.get(SHARE_HEADER)


def current_session_id() -> str | None:
    """Return the session of the browser behind the running page script; None for a guest."""
    return st.context.headers.get(SESSION_HEADER)


def may_see(scope: Scope_, run_ids: Iterable[str]) -> bool:
    """Whether the visitor of this request, as the access check determined, may see all of these runs."""
    share: Share | None = scope[SHARE_KEY]
    token: ApiToken | None = scope[TOKEN_KEY]
    if token:
        return Scope.LIVE in token.scopes
    return scope[ROLE_KEY] in MEMBERS or (share is not None and set(run_ids) <= set(share.run_ids))


def with_visitor(scope: Scope_, visitor: Visitor | None) -> Scope_:
    """Return the scope with the role, name and share that the access check determined, without the client's own."""
    headers = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(b"x-pitwall-")]
    session = visitor.session if visitor else None
    visitor_headers = {
        ROLE_HEADER: visitor.role if visitor else None,
        SESSION_HEADER: session.id if session else None,
        NAME_HEADER: quote(session.name) if session and session.name else None,
        SHARE_HEADER: visitor.share.id if visitor and visitor.share else None,
    }
    headers += [(name.encode(), value.encode()) for name, value in visitor_headers.items() if value]
    return {
        **scope,
        "headers": headers,
        ROLE_KEY: visitor.role if visitor else None,
        SHARE_KEY: visitor.share if visitor else None,
        TOKEN_KEY: visitor.token if visitor else None,
        NAME_KEY: session.name if session else "",
    }

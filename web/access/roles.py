"""Who asks, in which role: the operator, an editor, a viewer, a guest of a link, or a program.

The operator may do everything. A viewer sees every run and changes nothing; an editor also writes notes, tags and
views, and puts loads on servers. A guest sees what one link shares. A program has the routes of its token's scopes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import quote, unquote

import streamlit as st
from starlette.types import Scope as Scope_

from domain import Share
from web.access.sessions import Session
from web.access.tokens import ApiToken, Scope

Role = Literal["operator", "editor", "viewer", "guest", "program"]
ROLES: tuple[Role, ...] = get_args(Role)
MEMBERS: frozenset[Role | None] = frozenset({"operator", "editor", "viewer"})  # they see every run
EDITORS: frozenset[Role | None] = frozenset({"operator", "editor"})
ROLE_KEY = "pitwall.role"  # in the ASGI scope
SHARE_KEY = "pitwall.share"  # in the ASGI scope: the share of a guest
TOKEN_KEY = "pitwall.token"  # in the ASGI scope: the token of a program
NAME_KEY = "pitwall.name"  # in the ASGI scope: the name of a person who signed in by one
ROLE_HEADER = "x-pitwall-role"  # how a page script learns it: only the access check can set it
SHARE_HEADER = "x-pitwall-share"
SESSION_HEADER = "x-pitwall-session"
NAME_HEADER = "x-pitwall-name"  # percent-encoded


@dataclass(frozen=True)
class Visitor:
    """Who asks, as the cookies prove it."""

    role: Role
    share: Share | None = None  # of a guest, always
    session: Session | None = None  # of a browser that is signed in
    token: ApiToken | None = None  # of a program, always


def current_role() -> Role | None:
    """The role of the browser behind the running page script; None when the access check did not let it in."""
    said = st.context.headers.get(ROLE_HEADER)
    return next((role for role in ROLES if role == said), None)


def current_person() -> str:
    """For the audit: the role behind the running page script, with the person's name where it is known."""
    return person(current_role(), current_name())


def current_name() -> str:
    """The name of the person behind the running page script; '' where the sign-in gave none."""
    return unquote(st.context.headers.get(NAME_HEADER) or "")


def person(role: Role | None, name: str) -> str:
    """'Ann (editor)'; 'operator' where nobody gave a name."""
    return f"{name} ({role or 'unknown'})" if name else role or "unknown"


def current_share_id() -> str | None:
    """The share that let the browser behind the running page script in; None for members."""
    return st.context.headers.get(SHARE_HEADER)


def current_session_id() -> str | None:
    """The session of the browser behind the running page script; None for a guest."""
    return st.context.headers.get(SESSION_HEADER)


def may_see(scope: Scope_, run_ids: Iterable[str]) -> bool:
    """Whether whoever sent this request, as the access check found, may see all of these runs."""
    share: Share | None = scope[SHARE_KEY]
    token: ApiToken | None = scope[TOKEN_KEY]
    if token:
        return Scope.LIVE in token.scopes
    return scope[ROLE_KEY] in MEMBERS or (share is not None and set(run_ids) <= set(share.run_ids))


def with_visitor(scope: Scope_, visitor: Visitor | None) -> Scope_:
    """The scope with the role, name and share that the access check found, and none that the client claimed."""
    ours = [(name, value) for name, value in scope["headers"] if not name.lower().startswith(b"x-pitwall-")]
    session = visitor.session if visitor else None
    of_visitor = {
        ROLE_HEADER: visitor.role if visitor else None,
        SESSION_HEADER: session.id if session else None,
        NAME_HEADER: quote(session.name) if session and session.name else None,
        SHARE_HEADER: visitor.share.id if visitor and visitor.share else None,
    }
    ours += [(name.encode(), value.encode()) for name, value in of_visitor.items() if value]
    return {
        **scope,
        "headers": ours,
        ROLE_KEY: visitor.role if visitor else None,
        SHARE_KEY: visitor.share if visitor else None,
        TOKEN_KEY: visitor.token if visitor else None,
        NAME_KEY: session.name if session else "",
    }

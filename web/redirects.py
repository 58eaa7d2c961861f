"""Redirects: the script of a page sends the browser to another address, such as to Live after a launch."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import streamlit as st

from web.assets import STATIC, assets_url
from web.url_presses import current_path, url_params

_PENDING = "pending-redirect"
_navigator = st.components.v2.component("pitwall_redirect", js=(STATIC / "component_loader.js").read_text())


@dataclass(frozen=True)
class Redirect:
    """A redirect that the browser may not have followed yet.

    id: unique, by which the browser knows that it has followed; otherwise a quick Back would be undone.
    from_path: the path of the page that asked for it; None if unknown.
    replaces: Back skips that page, which would only redirect again.
    """

    id: str
    from_path: str | None
    address: str
    replaces: bool

    def is_pending(self, path: str | None, query: Mapping[str, list[str]]) -> bool:
        """Whether a browser at this path and query is still to be sent on: it has neither arrived nor left."""
        return path == self.from_path and query != parse_qs(urlsplit(self.address).query)


def go_to(address: str, replaces: bool = False) -> None:
    """Send the browser to one of Pitwall's addresses, such as 'run?run=a'; Back returns to this page.

    replaces: Back skips this page, which would only redirect again. The script runs to its end first.
    """
    redirect = Redirect(secrets.token_hex(8), current_path(), address, replaces)
    st.session_state[_PENDING] = redirect
    _send(redirect, "unseen-go-to")


def resume_redirect() -> None:
    """Send the browser on again if the page's script has been rerun before the browser could follow.

    A rerun removes what the script before it put on the page, the redirect included.
    """
    redirect = st.session_state.get(_PENDING)
    if redirect is None:
        return
    if redirect.is_pending(current_path(), url_params()):
        _send(redirect, "unseen-go-on")
    else:
        del st.session_state[_PENDING]


def _send(redirect: Redirect, key: str) -> None:
    base = st.get_option("server.baseUrlPath").strip("/")
    module = {"assets": assets_url(f"/{base}" if base else ""), "module": "redirect.js"}
    data = {"id": redirect.id, "address": redirect.address, "replaces": redirect.replaces}
    with st.container(key=key):  # takes no room: web/static/pitwall.css
        _navigator(key=f"{key}-{redirect.address}", data=data | module)

"""Adds to every page its styles, the address of Streamlit's server and the scripts that are not Streamlit's."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from web.assets import assets_url
from web.page_paths import PATHS
from web.server.inserting import PageInserter, full_page_request

STYLES = ("fonts.css", "pitwall.css", "streamlit_dom.css")
TEXT_FONT = "fonts/inter.woff2"  # on every page; a font that only the styles name would be loaded after them
EARLY = ("known_base.js",)  # runs before Streamlit's scripts, which are deferred
DEFERRED = (  # need its root
    "whole.js",
    "ground.js",
    "as_left.js",
    "run_rows.js",
    "kept_scroll.js",
    "read_paste.js",
    "connection_notice.js",
    "drawer.js",
)


class PageStart:
    """ASGI middleware: a style sent by the page script would come late and move what is already drawn."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self._app = app
        self._paths = {f"{base_path}/{path}" for path in PATHS} | {base_path}
        self._html = start_of_page(assets_url(base_path)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].rstrip("/") not in self._paths:
            await self._app(scope, receive, send)
            return
        await self._app(full_page_request(scope), receive, PageInserter(send, self._html).send)


def start_of_page(assets: str) -> str:
    """Return the HTML for the body: there, a style rule overrides Streamlit's rules of equal weight in the head."""
    styles = (f'<link rel="stylesheet" href="{assets}/{name}">' for name in STYLES)
    early = (f'<script src="{assets}/{name}"></script>' for name in EARLY)
    deferred = (f'<script type="module" src="{assets}/{name}"></script>' for name in DEFERRED)
    font = f'<link rel="preload" href="{assets}/{TEXT_FONT}" as="font" type="font/woff2" crossorigin>'
    return "".join((font, *styles, *early, *deferred))

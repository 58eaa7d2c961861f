"""What every page begins with: its style, where Streamlit's server is, and the scripts that are not Streamlit's."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from web.places import PATHS
from web.server.assets import assets_url
from web.server.inserting import Inserting, asked_whole

STYLES = ("pitwall.css", "streamlit_dom.css")
AT_ONCE = ("known_base.js",)  # there before Streamlit's scripts, which are deferred
DEFERRED = ("whole.js", "ground.js", "as_left.js", "run_rows.js", "kept_scroll.js", "read_paste.js")  # find its root


class PageStart:
    """ASGI middleware: a style that came by a run of our script would come late, and move what is drawn by then."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self._app = app
        self._paths = {f"{base_path}/{path}" for path in PATHS} | {base_path}
        self._words = start_of_page(assets_url(base_path)).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].rstrip("/") not in self._paths:
            await self._app(scope, receive, send)
            return
        await self._app(asked_whole(scope), receive, Inserting(send, self._words).send)


def start_of_page(assets: str) -> str:
    """In the body: what weighs as much as a rule of Streamlit's, which stands in the head, decides."""
    styles = (f'<link rel="stylesheet" href="{assets}/{name}">' for name in STYLES)
    at_once = (f'<script src="{assets}/{name}"></script>' for name in AT_ONCE)
    deferred = (f'<script type="module" src="{assets}/{name}"></script>' for name in DEFERRED)
    return "".join((*styles, *at_once, *deferred))

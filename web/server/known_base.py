"""Every page tells Streamlit where its server is: else it looks below the page's own path first, and meets two 404."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from web.places import PATHS
from web.server.assets import assets_url
from web.server.inserting import Inserting, asked_whole


class KnownBase:
    """ASGI middleware; the script is there before those of Streamlit, which are deferred."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self._app = app
        self._paths = {f"{base_path}/{path}" for path in PATHS}
        self._words = f'<script src="{assets_url(base_path)}/known_base.js"></script>'.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET" or scope["path"].rstrip("/") not in self._paths:
            await self._app(scope, receive, send)
            return
        await self._app(asked_whole(scope), receive, Inserting(send, self._words).send)

"""Streamlit's own scripts and styles, compressed once: Streamlit sends them as they are, some 3 MB for a page."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from web.assets import FOREVER, gzip_file

KINDS = {".js": "text/javascript", ".css": "text/css"}
# A font of Streamlit's that its page requests first and that no text of Pitwall is in.
UNUSED_FONT = re.compile(rb"<link[^>]*SourceSansVF[^>]*>")


class CompressedCode:
    """ASGI middleware behind the access check: answers requests for Streamlit's code if the browser takes gzip."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self._app = app
        self._start = f"{base_path}/static/"
        folder = Path(get_static_dir()) / "static"
        self._paths = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.suffix in KINDS}
        self._compressed = dict[str, bytes]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = self._requested(scope)
        if path is None:
            await self._app(scope, receive, send)
            return
        response = Response(
            await self._content(path),
            media_type=KINDS[path.suffix],
            headers={**FOREVER, "content-encoding": "gzip"},
        )
        await response(scope, receive, send)

    def _requested(self, scope: Scope) -> Path | None:
        if scope["type"] != "http" or scope["method"] != "GET" or not scope["path"].startswith(self._start):
            return None
        headers = Headers(scope=scope)
        if "range" in headers or "gzip" not in headers.get("accept-encoding", ""):
            return None
        return self._paths.get(scope["path"].removeprefix(self._start))

    async def _content(self, path: Path) -> bytes:
        if path.name not in self._compressed:
            self._compressed[path.name] = await asyncio.to_thread(gzip_file, path)
        return self._compressed[path.name]

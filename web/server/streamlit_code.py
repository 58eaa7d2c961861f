"""Streamlit's own scripts and styles: compressed once, and requested with the page that needs them.

Streamlit sends them uncompressed, some 3 MB for a page, and requests the code of each kind of widget only when the
first one arrives, in several rounds.
"""

from __future__ import annotations

import asyncio
import functools
import re
from collections.abc import Sequence
from pathlib import Path

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from streamlit.file_util import get_static_dir

from web.assets import FOREVER, gzip_file

KINDS = {".js": "text/javascript", ".css": "text/css"}
# The code of what a page shows of Streamlit's widgets, by the names of its files without their checksums.
EVERYWHERE = ("BidiComponent", "Html", "Button")
WIDGETS = {
    "": (*EVERYWHERE, "PageLink", "Checkbox", "Selectbox", "TextInput", "Multiselect", "DataFrame"),
    "live": (*EVERYWHERE, "PageLink"),
    "compare": (*EVERYWHERE, "MenuButton", "Multiselect"),
    "run": (*EVERYWHERE, "MenuButton", "StreamlitSyntaxHighlighter"),
}
# A font of Streamlit's that its page requests first and that no text of Pitwall is in.
UNUSED_FONT = re.compile(rb"<link[^>]*SourceSansVF[^>]*>")
_IMPORT = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")
_IN_INDEX = re.compile(r"static/js/([\w.-]+\.js)")


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


@functools.cache
def widget_files(page: str) -> Sequence[str]:
    """Return the files that a page's widgets need beyond those that Streamlit's own page names."""
    folder, index = Path(get_static_dir()) / "static" / "js", Path(get_static_dir()) / "index.html"
    index_names = set(_IN_INDEX.findall(index.read_text()))
    roots = [path.name for name in WIDGETS.get(page, ()) for path in folder.glob(f"{name}.*.js")]
    return [name for name in with_imports(folder, roots) if name not in index_names]


def with_imports(folder: Path, roots: Sequence[str]) -> list[str]:
    """Return these modules of a folder and all that they import from it, except what they import only later."""
    waiting, names = list(roots), dict[str, None]()
    while waiting:
        name = waiting.pop(0)
        if name not in names:
            names[name] = None
            waiting += _IMPORT.findall((folder / name).read_text())
    return list(names)

"""Adds to every page its styles, the address of Streamlit's server and the scripts that are not Streamlit's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from web.assets import STATIC, assets_url
from web.page_paths import PATHS
from web.server.inserting import PageInserter, full_page_request
from web.server.streamlit_code import UNUSED_FONT

STYLES = ("fonts.css", "pitwall.css", "streamlit_dom.css")
TEXT_FONT = "fonts/inter.woff2"  # on every page; a font that only the styles name would be loaded after them
EARLY = ("base_url.js",)  # runs before Streamlit's scripts, which are deferred
DEFERRED = (  # need its root
    "reveal_page.js",
    "color_scheme.js",
    "page_links.js",
    "run_rows.js",
    "scroll_restoration.js",
    "slider_focus.js",
    "read_paste.js",
    "connection_notice.js",
    "drawer.js",
)
# Modules of web/static/live that a page's charts begin with; what these import is requested with them.
CHARTS = {"live": ("main.js",), "compare": ("run_charts.js",), "run": ("run_charts.js",)}
_IMPORT = re.compile(r"""(?:from|import)\s*["']\./([\w.-]+\.js)["']""")


class PageStart:
    """ASGI middleware: a style sent by the page script would come late and move what is already drawn."""

    def __init__(self, app: ASGIApp, base_path: str = "") -> None:
        self._app = app
        self._html = {
            f"{base_path}/{page}".rstrip("/"): start_of_page(assets_url(base_path), page).encode()
            for page in ("", *PATHS)
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        html = self._html.get(scope["path"].rstrip("/")) if scope["type"] == "http" else None
        if html is None or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        await self._app(full_page_request(scope), receive, PageInserter(send, html, removed=UNUSED_FONT).send)


def start_of_page(assets: str, page: str) -> str:
    """Return the HTML for the body: there, a style rule overrides Streamlit's rules of equal weight in the head."""
    styles = (f'<link rel="stylesheet" href="{assets}/{name}">' for name in STYLES)
    early = (f'<script src="{assets}/{name}"></script>' for name in EARLY)
    deferred = (f'<script type="module" src="{assets}/{name}"></script>' for name in DEFERRED)
    font = f'<link rel="preload" href="{assets}/{TEXT_FONT}" as="font" type="font/woff2" crossorigin>'
    return "".join((font, *styles, *early, *deferred, *_preloads(assets, page)))


def _preloads(assets: str, page: str) -> Iterator[str]:
    """Name the modules that the page will import: otherwise each round of them waits for the one before."""
    for name in with_imports(STATIC / "live", CHARTS.get(page, ())):
        yield f'<link rel="modulepreload" href="{assets}/live/{name}">'


def with_imports(folder: Path, roots: Sequence[str]) -> list[str]:
    """Return these modules of a folder and all that they import from it, except what they import only later."""
    waiting, names = list(roots), dict[str, None]()
    while waiting:
        name = waiting.pop(0)
        if name not in names:
            names[name] = None
            waiting += _IMPORT.findall((folder / name).read_text())
    return list(names)

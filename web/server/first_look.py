"""Puts the newest numbers of the address's runs into the page's HTML, visible before Streamlit has started.

Streamlit's page is empty until its scripts have been loaded and the page script has run once, a second or more. The
overlay shown until then (web/runs/table/run_cards.py) is removed by web/static/first_look.js. The first page shows the
welcome of an empty store or the newest runs the same way (web/runs/first_page.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from web import markup
from web.access.roles import MEMBERS, ROLE_KEY, may_see
from web.assets import assets_url
from web.server.inserting import PageInserter, full_page_request

_log = logging.getLogger(__name__)
RenderCards = Callable[[Sequence[str]], str]  # run ids -> HTML cards of the existing runs; called in a thread
RenderFirstPage = Callable[[], str]  # HTML of the first page's welcome or newest runs; called in a thread
LOADING = "Loading…"
READING = f"{LOADING} Long runs take some seconds when they are opened for the first time."
FIRST_PAGE_PATH = ""
# Selectors of elements that exist once the page is drawn; Streamlit's other responses pass unchanged.
DRAWN_SELECTORS = {
    FIRST_PAGE_PATH: ".pw-lead, .st-key-page-head",
    "live": ".lv-strip:not(:has(.lv-waiting))",
    "compare": ".pw-answer, h3",
    "run": ".pw-numbers",
}
MOST_RUNS = 8
# The browser needs a second or two for Streamlit's scripts, in which the numbers of long runs can be read further.
PATIENCE_S = 0.3


class FirstLook:
    """ASGI middleware behind the access check, which has determined the visitor's role."""

    def __init__(
        self, app: ASGIApp, render_cards: RenderCards, render_first_page: RenderFirstPage, base_path: str = ""
    ) -> None:
        self._app = app
        self._render_cards = render_cards
        self._render_first_page = render_first_page
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = self._page(scope)
        html = await self._first_html(page, scope) if page is not None else None
        if page is None or html is None:
            await self._app(scope, receive, send)
            return
        inserting = PageInserter(send, overlay(page, html, assets_url(self._base_path)).encode())
        await self._app(full_page_request(scope), receive, inserting.send)

    async def _first_html(self, page: str, scope: Scope) -> str | None:
        if page == FIRST_PAGE_PATH:
            return await self._render(self._render_first_page) if scope[ROLE_KEY] in MEMBERS else None
        run_ids = _visible_run_ids(scope)
        return await self._render(self._render_cards, run_ids) if run_ids else None

    async def _render(self, render: Callable[..., str], *args: Sequence[str]) -> str | None:
        """Return the HTML, '' if it is not ready yet, None if there is none: the page itself will say what is wrong.

        Rendering goes on after the answer, and the page waits for what it reads instead of reading it again.
        """
        try:
            return await asyncio.wait_for(asyncio.to_thread(render, *args), PATIENCE_S) or None
        except TimeoutError:
            return ""
        except Exception:
            _log.exception("no first look at %s", args)
            return None

    def _page(self, scope: Scope) -> str | None:
        """Return the requested page if it has a first look."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        page: str = scope["path"].removeprefix(f"{self._base_path}/")
        return page if page in DRAWN_SELECTORS else None


def _visible_run_ids(scope: Scope) -> list[str]:
    """Return the runs of the address that the visitor may see."""
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    run_ids = dict.fromkeys(value for name, value in query if name == "run")
    return [run_id for run_id in run_ids if may_see(scope, [run_id])][:MOST_RUNS]


def overlay(page: str, html: str, assets: str) -> str:
    """Return the HTML of the overlay (the runs at a glance, or the first page's) and of the script that removes it.

    html: '' if it is not ready yet.
    """
    muted = '<p class="pw-muted">'
    if page == FIRST_PAGE_PATH:
        content = f"{html}{muted}{LOADING}</p>"
    else:
        content = f"{muted}{LOADING} so far:</p>{html}" if html else f"{muted}{READING}</p>"
    selector = markup.text(DRAWN_SELECTORS[page])
    label = "First look" if page == FIRST_PAGE_PATH else "The runs at a glance"
    return (
        f'<link rel="stylesheet" href="{assets}/pitwall.css">'
        f'<section class="pw-first" data-drawn="{selector}" aria-label="{label}">{content}</section>'
        f'<script type="module" src="{assets}/first_look.js"></script>'
    )

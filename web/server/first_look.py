"""The newest numbers of the runs that an address names, in the page's own HTML: there before Streamlit has started.

Streamlit's page is empty until its scripts have been loaded and its first run of ours is through, a second or more.
What is laid over it until then (web/runs/table/run_cards.py) is taken away by web/static/first_look.js. The first page
of an empty store has its first words so (web/guided_demo/welcome.py).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from web import markup
from web.access.roles import MEMBERS, ROLE_KEY, may_see
from web.server.assets import STATIC, assets_url
from web.server.inserting import Inserting, asked_whole

_log = logging.getLogger(__name__)
Look = Callable[[Sequence[str]], str]  # the cards of those of these runs that exist, as HTML; called in a thread
Welcome = Callable[[], str]  # the first words of the first page, as HTML, where they are its own; likewise
LOADING = "Loading the page."
FIRST = ""  # the path of the first page
# What a page shows of its own when it is drawn; any other answer of Streamlit's passes untouched.
DRAWN = {
    FIRST: ".pw-title",
    "live": ".lv-strip:not(:has(.lv-waiting))",
    "compare": ".pw-answer, h3",
    "run": ".pw-title",
}
MOST_RUNS = 8
PATIENCE_S = 3.0  # a machine so busy that this passes draws its page far later; a store that hangs must not hold it


class FirstLook:
    """ASGI middleware behind the access check, which has found who asks."""

    def __init__(self, app: ASGIApp, look: Look, welcome: Welcome, base_path: str = "") -> None:
        self._app = app
        self._look = look
        self._welcome = welcome
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page = self._page(scope)
        words = await self._words(page, scope) if page is not None else ""
        if page is None or not words:
            await self._app(scope, receive, send)
            return
        inserting = Inserting(send, overlay(page, words, assets_url(self._base_path)).encode())
        await self._app(asked_whole(scope), receive, inserting.send)

    async def _words(self, page: str, scope: Scope) -> str:
        if page == FIRST:
            return await self._asked(self._welcome) if scope[ROLE_KEY] in MEMBERS else ""
        run_ids = _runs(scope)
        return await self._asked(self._look, run_ids) if run_ids else ""

    async def _asked(self, look: Callable[..., str], *about: Sequence[str]) -> str:
        """Nothing where the look takes too long or fails: the page will say what is wrong."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(look, *about), PATIENCE_S)
        except TimeoutError:
            return ""
        except Exception:
            _log.exception("no first look at %s", about)
            return ""

    def _page(self, scope: Scope) -> str | None:
        """Which page is asked for, of those that have a first look."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        page: str = scope["path"].removeprefix(f"{self._base_path}/")
        return page if page in DRAWN else None


def _runs(scope: Scope) -> list[str]:
    """Those of the runs of the address that may be seen."""
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    named = dict.fromkeys(value for name, value in query if name == "run")
    return [one for one in named if may_see(scope, [one])][:MOST_RUNS]


def overlay(page: str, words: str, assets: str) -> str:
    """The runs at a glance, or the first words, and the script that ends it."""
    muted = '<p class="pw-muted">'
    known = f"{words}{muted}{LOADING}</p>" if page == FIRST else f"{muted}{LOADING} What is known now:</p>{words}"
    label = "The first words" if page == FIRST else "The runs at a glance"
    modules = sorted((STATIC / "live").glob("*.js")) if page == "live" else []
    return (
        f'<link rel="stylesheet" href="{assets}/pitwall.css">'
        + "".join(f'<link rel="modulepreload" href="{assets}/live/{path.name}">' for path in modules)
        + f'<section class="pw-first" data-drawn="{markup.text(DRAWN[page])}" aria-label="{label}">{known}</section>'
        f'<script type="module" src="{assets}/first_look.js"></script>'
    )

"""The newest numbers of the runs that an address names, in the page's own HTML: there before Streamlit has started.

Streamlit's page is empty until its scripts have been loaded and its first run of ours is through, a second or more.
What is laid over it until then (web/runs/table/run_cards.py) is taken away by web/static/first_look.js.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from urllib.parse import parse_qsl

from starlette.types import ASGIApp, Receive, Scope, Send

from web import markup
from web.access.roles import may_see
from web.server.assets import STATIC, assets_url
from web.server.inserting import Inserting, asked_whole

_log = logging.getLogger(__name__)
Look = Callable[[Sequence[str]], str]  # the cards of those of these runs that exist, as HTML; called in a thread
# What a page shows of its own when it is drawn; any other answer of Streamlit's passes untouched.
DRAWN = {"live": ".lv-strip:not(:has(.lv-waiting))", "compare": ".pw-answer, h3", "run": ".pw-title"}
MOST_RUNS = 8
PATIENCE_S = 3.0  # a machine so busy that this passes draws its page far later; a store that hangs must not hold it


class FirstLook:
    """ASGI middleware behind the gate, which has found who asks."""

    def __init__(self, app: ASGIApp, look: Look, base_path: str = "") -> None:
        self._app = app
        self._look = look
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page, run_ids = self._asked(scope)
        cards = await self._cards(run_ids) if run_ids else ""
        if not cards:
            await self._app(scope, receive, send)
            return
        inserting = Inserting(send, overlay(page, cards, assets_url(self._base_path)).encode())
        await self._app(asked_whole(scope), receive, inserting.send)

    async def _cards(self, run_ids: Sequence[str]) -> str:
        """Nothing where the look takes too long or fails: the page will say what is wrong."""
        try:
            return await asyncio.wait_for(asyncio.to_thread(self._look, run_ids), PATIENCE_S)
        except TimeoutError:
            return ""
        except Exception:
            _log.exception("no first look at %s", run_ids)
            return ""

    def _asked(self, scope: Scope) -> tuple[str, list[str]]:
        """The page and those of its runs that may be seen; no run where this is not the page of a run."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return "", []
        page = scope["path"].removeprefix(f"{self._base_path}/")
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        named = dict.fromkeys(value for name, value in query if name == "run")
        return page, [one for one in named if page in DRAWN and may_see(scope, [one])][:MOST_RUNS]


def overlay(page: str, cards: str, assets: str) -> str:
    """The runs at a glance, and the script that ends it."""
    modules = sorted((STATIC / "live").glob("*.js")) if page == "live" else []
    return (
        f'<link rel="stylesheet" href="{assets}/pitwall.css">'
        + "".join(f'<link rel="modulepreload" href="{assets}/live/{path.name}">' for path in modules)
        + f'<section class="pw-first" data-drawn="{markup.text(DRAWN[page])}" aria-label="The runs at a glance">'
        f'<p class="pw-muted">Loading the page. What is known now:</p>{cards}</section>'
        f'<script type="module" src="{assets}/first_look.js"></script>'
    )

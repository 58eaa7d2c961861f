"""The newest numbers of the runs that an address names, in the page's own HTML: there before Streamlit has started.

Streamlit's page is empty until its scripts have been loaded and its first run of ours is through, a second or more.
What is laid over it until then is what the push hub would say; web/static/first_look.js takes it away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from urllib.parse import parse_qsl

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from web import markup
from web.assets import STATIC, assets_url
from web.auth import may_see
from web.live_protocol import LivePart
from web.theme import three_digits

Look = Callable[[Sequence[str]], Awaitable[Mapping[str, LivePart]]]
# What a page shows of its own when it is drawn; any other answer of Streamlit's passes untouched.
DRAWN = {"live": ".lv-lanes:not(:has(.lv-waiting))", "compare": "[data-testid=stHtml]", "run": "[data-testid=stHtml]"}
MOST_RUNS = 8
PATIENCE_S = 0.5  # the page itself must not wait for its first look
END_OF_PAGE = b"</body>"
MAKES_IT_ANOTHER_PAGE = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")


class FirstLook:
    """ASGI middleware behind the gate, which has found who asks."""

    def __init__(self, app: ASGIApp, look: Look, base_path: str = "") -> None:
        self._app = app
        self._look = look
        self._base_path = base_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        page, run_ids = self._asked(scope)
        parts: Mapping[str, LivePart] = {}
        if run_ids:
            with suppress(TimeoutError):
                parts = await asyncio.wait_for(self._look(run_ids), PATIENCE_S)
        if not parts:
            await self._app(scope, receive, send)
            return
        shown = [parts[run_id] for run_id in run_ids if run_id in parts]
        inserting = _Inserting(send, overlay(page, shown, assets_url(self._base_path)).encode())
        await self._app(_asked_whole(scope), receive, inserting.send)

    def _asked(self, scope: Scope) -> tuple[str, list[str]]:
        """The page and those of its runs that may be seen; no run where this is not the page of a run."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return "", []
        page = scope["path"].removeprefix(f"{self._base_path}/")
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        named = dict.fromkeys(value for name, value in query if name == "run")
        return page, [one for one in named if page in DRAWN and may_see(scope, [one])][:MOST_RUNS]


def overlay(page: str, parts: Sequence[LivePart], assets: str) -> str:
    """The runs at a glance, and the script that ends it."""
    cards = "".join(_card(part) for part in parts)
    modules = sorted((STATIC / "live").glob("*.js")) if page == "live" else []
    return (
        f'<link rel="stylesheet" href="{assets}/pitwall.css">'
        + "".join(f'<link rel="modulepreload" href="{assets}/live/{path.name}">' for path in modules)
        + f'<section class="pw-first" data-drawn="{markup.text(DRAWN[page])}" aria-label="The runs at a glance">'
        f'<p class="pw-muted">Loading the page. What is known now:</p><div class="pw-cards">{cards}</div></section>'
        f'<script type="module" src="{assets}/first_look.js"></script>'
    )


def _card(part: LivePart) -> str:
    meta, speed = part["meta"], part["now"].get("decode_tps")
    value, why = (speed["v"], speed["why"]) if speed else (None, meta["absent"].get("decode_tps"))
    if value is None:
        big, note = "", why or "no decode speed seen yet"
    else:
        big = f'<div class="pw-big">{markup.number(three_digits(value), "tok/s")}</div>'
        note = f"decode, {meta['tile_basis']}"
        note += f" ({datetime.fromtimestamp(speed['t'], UTC):%H:%M:%S} UTC)" if speed and "t" in speed else ""
    state = f"{meta['state']}: {meta['phase']}" if meta["phase"] else meta["state"]
    return (
        f'<div class="pw-card" style="--pw-run:{markup.run_css_color(meta["color"])}">'
        f'<div><span class="pw-name">{markup.text(meta["name"])}</span> '
        f'<span class="pw-muted">{markup.text(state)}</span></div>{big}'
        f'<div class="pw-muted">{markup.text(note)}</div><div>{markup.chips(meta["chips"])}</div></div>'
    )


def _asked_whole(scope: Scope) -> Scope:
    """The request without what would make the answer another than the whole plain page."""
    headers = [(name, value) for name, value in scope["headers"] if name.lower() not in MAKES_IT_ANOTHER_PAGE]
    return {**scope, "headers": headers, "extensions": {}}


class _Inserting:
    """Passes an answer on; where it is a page, holds it until it is whole and puts the words at its end."""

    def __init__(self, send: Send, words: bytes) -> None:
        self._send = send
        self._words = words
        self._start: Message | None = None
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._send_page(self._start)

    async def _send_page(self, start: Message) -> None:
        body = self._body.replace(END_OF_PAGE, self._words + END_OF_PAGE, 1)
        headers = MutableHeaders(raw=list(start["headers"]))
        headers["content-length"] = str(len(body))
        headers["cache-control"] = "no-store"  # the numbers are those of now
        del headers["etag"], headers["last-modified"]
        await self._send({**start, "headers": headers.raw})
        await self._send({"type": "http.response.body", "body": body})


def _is_page(start: Message) -> bool:
    kind = MutableHeaders(raw=list(start["headers"])).get("content-type", "")
    return start["status"] == 200 and kind.startswith("text/html")

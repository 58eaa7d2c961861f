"""The routes beside Streamlit's own: health, the browser's files, the live push."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from starlette.convertors import Convertor, register_url_convertor
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse
from starlette.routing import BaseRoute, Route, WebSocketRoute

from web.access.signin_page import SIGN_IN, signin_page
from web.live.hub import LiveHub
from web.places import ANSWER, PATHS, REPORT, SERIES
from web.server.assets import assets_route

STREAMLITS_OWN = ("static", "media", "component", "app", "auth", "oauth2callback")


class NoPage(Convertor[str]):
    """A path at which Streamlit would show its first page: its own files have dots, and its routes begin with '_'."""

    pages, others = "|".join(PATHS), "|".join((*STREAMLITS_OWN, REPORT, SERIES, ANSWER, SIGN_IN, "api"))
    regex = (
        rf"(?!(?:{pages})/?$)(?!(?:(?:{pages})/)?(?:{others})(?:/|$))"
        r"[^/._][^/.]*(?:/[^/._][^/.]*)*/?"
    )

    def convert(self, value: str) -> str:
        """The path as it stands in the address: the route only has to match it."""
        return value

    def to_string(self, value: str) -> str:
        """The path as it is, for Starlette wants the way back too."""
        return value


register_url_convertor("no_page", NoPage())


def build_routes(
    hub: LiveHub,
    count_live_runs: Callable[[], int],
    version: str,
    base_path: str = "",
    is_well: Callable[[], bool] = lambda: True,
    health: Callable[[], Mapping[str, Any]] = dict,
) -> list[BaseRoute]:
    """The routes for `st.App(routes=...)`; `base_path` is Streamlit's server.baseUrlPath as '/pitwall' or ''.

    `/healthz` is open to all: 503 while something is wrong with the store or it is behind, with ages and sizes, but not
    what is wrong, for that names paths.
    """

    async def healthz(request: Request) -> JSONResponse:
        ok = is_well()
        body = {"ok": ok, "version": version, "runs_live": count_live_runs(), **health()}
        return JSONResponse(body, status_code=200 if ok else 503)

    async def runs(request: Request) -> RedirectResponse:
        """Streamlit serves its first page at the bare address alone; what a link says of it goes along."""
        return RedirectResponse(f"{base_path}/{'?' * bool(request.url.query)}{request.url.query}")

    async def no_page(request: Request) -> HTMLResponse:
        words = "Pitwall has no page at this address: it may have been cut short or mistyped."
        return HTMLResponse(signin_page("No such page", words, form=None, home=f"{base_path}/"), status_code=404)

    return [
        Route(f"{base_path}/healthz", healthz),
        Route(f"{base_path}/runs", runs),
        assets_route(base_path),
        WebSocketRoute(f"{base_path}/ws/live", hub.serve),
        Route(f"{base_path}/{{path:no_page}}", no_page),  # the last: it takes what no other has taken
    ]

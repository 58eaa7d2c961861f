"""The first look, asked by a real HTTP client, and where it must not be."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import Share
from tests.web.conftest import Serve
from web.auth import ROLE_KEY, SHARE_KEY
from web.first_look import MOST_RUNS, FirstLook
from web.live_protocol import LiveMeta, LivePart, Tile

PAGE = "<html><body><div id='root'></div></body></html>"
AT = datetime(2026, 11, 21, 3, 4, 5, tzinfo=UTC)


def part(run_id: str, speed: Tile | None = None, state: str = "ready", **meta: object) -> LivePart:
    whole = LiveMeta(
        id=run_id, name=f"Run {run_id}", color=0, state=state, phase=None, kind="launched", engine_title="vLLM",
        chips=["MTP 4"], created_t=0.0, started_t=0.0, ready_t=0.0, ended_t=None, ceiling=None, cause=None,
        cause_line=None, tile_basis="now", absent={},
    )  # fmt: skip
    return LivePart(cursor="", meta={**whole, **meta}, now={"decode_tps": speed} if speed else {}, log=[])  # type: ignore[typeddict-item]


KNOWN = {
    "fast": part("fast", Tile(v=107.24, why=None, t=AT.timestamp())),
    "idle": part("idle", Tile(v=None, why="no token was generated", t=AT.timestamp())),
    "evil": part("evil", name="<script>alert(1)</script>"),
    "dead": part("dead", state="failed", absent={"decode_tps": "it never became ready"}),
    "loading": part("loading", state="starting", phase="loading weights 34 %"),
} | {f"r{n}": part(f"r{n}") for n in range(20)}


async def look(run_ids: Sequence[str]) -> Mapping[str, LivePart]:
    if "slow" in run_ids:
        await asyncio.sleep(30)
    return {run_id: KNOWN[run_id] for run_id in run_ids if run_id in KNOWN}


async def answer(request: Request) -> Response:
    if "range" in request.headers or "if-none-match" in request.headers:
        return Response(status_code=304)
    kind = request.query_params.get("as", "page")
    if kind == "json":
        return JSONResponse({"page": PAGE})
    if kind == "moved":
        return RedirectResponse("/elsewhere")
    if kind == "streamed":
        return StreamingResponse(iter([PAGE[:20], PAGE[20:]]), media_type="text/html")
    return HTMLResponse(PAGE, headers={"etag": '"as it is on disk"'})


class Let:
    """In the gate's place: whoever says 'viewer' has a share of one run."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            share = Share(
                id="s", run_ids=("fast",), page="live", created_at=AT, created_by="x", expires_at=AT + timedelta(1)
            )
            is_viewer = any(name == b"x-viewer" for name, _ in scope["headers"])
            scope |= {ROLE_KEY: "viewer" if is_viewer else "operator", SHARE_KEY: share if is_viewer else None}
        await self._app(scope, receive, send)


@pytest.fixture
def client(serve: Serve) -> Iterator[httpx.Client]:
    app = Starlette(
        routes=[Route("/{rest:path}", answer, methods=["GET", "HEAD"])],
        middleware=[Middleware(Let), Middleware(FirstLook, look=look, base_path="/pit")],
    )
    with serve(app) as address, httpx.Client(base_url=f"http://{address}/pit") as client:
        yield client


def test_the_numbers_stand_in_the_page_with_what_they_are(client: httpx.Client) -> None:
    page = client.get("/live?run=fast&run=idle&run=loading&run=dead&run=nobody").text
    assert page.startswith("<html><body><div id='root'></div>") and page.endswith("</body></html>")
    assert page.count('class="pw-card"') == 4
    assert '107 <small>tok/s</small></div><div class="pw-muted">decode, now (03:04:05 UTC)' in page
    assert "no token was generated" in page and "starting: loading weights 34 %" in page
    assert "it never became ready" in page
    assert page.count("pw-big") == 1, "what is unknown is no number"


def test_foreign_words_are_text(client: httpx.Client) -> None:
    page = client.get("/run?run=evil").text
    assert "&lt;script&gt;alert(1)" in page and "<script>alert" not in page


def test_a_viewer_sees_the_runs_of_the_share_alone(client: httpx.Client) -> None:
    page = client.get("/live?run=fast&run=idle", headers={"x-viewer": "1"}).text
    assert "Run fast" in page and "Run idle" not in page
    assert client.get("/live?run=idle", headers={"x-viewer": "1"}).text == PAGE


def test_it_is_made_anew_each_time_and_whole(client: httpx.Client) -> None:
    headers = {"if-none-match": '"as it is on disk"', "range": "bytes=0-3"}
    answers = [client.get("/compare?run=fast&run=fast", headers=headers), client.get("/compare?as=streamed&run=fast")]
    for one in answers:
        assert (one.status_code, one.headers["cache-control"]) == (200, "no-store")
        assert "etag" not in one.headers and one.text.count("107 <small>") == 1
    assert client.get("/live", params=[("run", f"r{n}") for n in range(20)]).text.count("pw-card") == MOST_RUNS + 1


@pytest.mark.parametrize("path", ["/live", "/live?run=nobody", "/live?run=slow", "/launch?run=fast", "/?run=fast"])
def test_a_page_without_it_is_as_it_was(client: httpx.Client, path: str) -> None:
    assert client.get(path).text == PAGE


def test_what_is_no_page_passes(client: httpx.Client) -> None:
    assert client.get("/live?as=json&run=fast").json() == {"page": PAGE}
    assert client.get("/live?as=moved&run=fast").headers["location"] == "/elsewhere"
    assert client.head("/live?run=fast").status_code == 200

"""The first look, asked by a real HTTP client, and where it must not be."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from domain import Config, Run, Share
from storage.store import Store
from tests.web.conftest import Serve
from web.access.roles import ROLE_KEY, SHARE_KEY, TOKEN_KEY
from web.guided_demo.welcome import welcome
from web.server.first_look import MOST_RUNS, READING, FirstLook

PAGE = "<html><body><div id='root'></div></body></html>"
WORDS = "<h1>what it is for</h1>"
AT = datetime(2026, 11, 21, 3, 4, 5, tzinfo=UTC)


def look(run_ids: Sequence[str]) -> str:
    if "slow" in run_ids:
        time.sleep(1)
    if "broken" in run_ids:
        raise OSError("the store is not there")
    return "".join(f"<b>{run_id}</b>" for run_id in run_ids if run_id != "nobody")


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
    """In the access check's place: whoever says 'viewer' has a share of one run."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            share = Share(
                id="s", run_ids=("fast",), page="live", created_at=AT, created_by="x", expires_at=AT + timedelta(1)
            )
            is_viewer = any(name == b"x-viewer" for name, _ in scope["headers"])
            scope |= {ROLE_KEY: "guest" if is_viewer else "operator", SHARE_KEY: share if is_viewer else None}
            scope |= {TOKEN_KEY: None}
        await self._app(scope, receive, send)


@pytest.fixture
def client(serve: Serve) -> Iterator[httpx.Client]:
    app = Starlette(
        routes=[Route("/{rest:path}", answer, methods=["GET", "HEAD"])],
        middleware=[
            Middleware(Let),
            Middleware(FirstLook, render_cards=look, render_first_page=lambda: WORDS, base_path="/pit"),
        ],
    )
    with serve(app) as address, httpx.Client(base_url=f"http://{address}/pit") as client:
        yield client


def test_the_runs_stand_in_the_page(client: httpx.Client) -> None:
    page = client.get("/live?run=fast&run=idle&run=nobody").text
    assert page.startswith("<html><body><div id='root'></div>") and page.endswith("</body></html>")
    assert "<b>fast</b><b>idle</b></section>" in page


def test_first_page_has_text_for_allowed_viewers(client: httpx.Client) -> None:
    page = client.get("/").text
    assert f"{WORDS}<p" in page and "What is known now" not in page
    assert client.get("/", headers={"x-viewer": "1"}).text == PAGE


def test_only_an_empty_store_is_welcomed_to(store: Store) -> None:
    assert "faster and why" in welcome(store)
    store.save_run(Run(id="r1", name="a", color=0, created_at=AT, config=Config(), machine_id="m"))
    assert welcome(store) == ""


def test_viewer_sees_only_the_shared_runs(client: httpx.Client) -> None:
    page = client.get("/live?run=fast&run=idle", headers={"x-viewer": "1"}).text
    assert "<b>fast</b></section>" in page
    assert client.get("/live?run=idle", headers={"x-viewer": "1"}).text == PAGE


def test_it_is_made_anew_each_time_and_whole(client: httpx.Client) -> None:
    headers = {"if-none-match": '"as it is on disk"', "range": "bytes=0-3"}
    answers = [client.get("/compare?run=fast&run=fast", headers=headers), client.get("/compare?as=streamed&run=fast")]
    for answer in answers:
        assert (answer.status_code, answer.headers["cache-control"]) == (200, "no-store")
        assert "etag" not in answer.headers and answer.text.count("<b>fast</b>") == 1
    assert client.get("/live", params=[("run", f"r{n}") for n in range(20)]).text.count("<b>") == MOST_RUNS


@pytest.mark.parametrize("path", ["/live", "/live?run=nobody", "/run?run=broken", "/launch?run=fast"])
def test_a_page_without_it_is_as_it_was(client: httpx.Client, path: str) -> None:
    assert client.get(path).text == PAGE


def test_page_does_not_wait_for_a_slow_first_look(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.server.first_look.PATIENCE_S", 0.1)
    page = client.get("/live?run=slow").text
    assert f'<p class="pw-muted">{READING}</p></section>' in page and "so far" not in page


def test_what_is_no_page_passes(client: httpx.Client) -> None:
    assert client.get("/live?as=json&run=fast").json() == {"page": PAGE}
    assert client.get("/live?as=moved&run=fast").headers["location"] == "/elsewhere"
    assert client.head("/live?run=fast").status_code == 200

"""What every page begins with stands in it from the start, asked by a real HTTP client."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.web.conftest import Serve
from web.assets import asset_paths, assets_route, assets_url
from web.server.page_start import DEFERRED, EARLY, STYLES, PageStart

PAGE = "<html><head></head><body><div id='root'></div></body></html>"


async def answer(request: Request) -> HTMLResponse:
    return HTMLResponse(PAGE)


@pytest.fixture(scope="module", params=["", "/pit"])
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(serve: Serve, base: str) -> Iterator[httpx.Client]:
    app = Starlette(
        routes=[assets_route(base), Route("/{rest:path}", answer)],
        middleware=[Middleware(PageStart, base_path=base)],
    )
    with serve(app) as address, httpx.Client(base_url=f"http://{address}{base}") as client:
        yield client


@pytest.mark.parametrize("path", ["/", "/live", "/compare?run=a&run=b", "/shared"])
def test_page_is_styled_before_its_script(client: httpx.Client, base: str, path: str) -> None:
    page = client.get(path).text
    for name in STYLES:
        assert f'<link rel="stylesheet" href="{assets_url(base)}/{name}">' in page
    for name in (*STYLES, *EARLY, *DEFERRED):
        assert name in asset_paths()
        assert page.count(f'="{assets_url(base)}/{name}"') == 1


def test_what_is_no_page_is_as_it_was(client: httpx.Client) -> None:
    assert client.get("/static/index.html").text == PAGE

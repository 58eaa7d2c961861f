"""The beginning of every page is in its first response, requested by a real HTTP client."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from tests.web.conftest import Serve
from web.assets import asset_paths, assets_route, assets_url
from web.server.page_start import CHARTS, DEFERRED, EARLY, STYLES, PageStart, with_imports

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


@pytest.mark.parametrize("page", CHARTS)
def test_modules_of_charts_requested_with_the_page(client: httpx.Client, base: str, page: str) -> None:
    text = client.get(f"/{page}").text
    for name in (*CHARTS[page], "board.js", "format.js"):
        assert f'<link rel="modulepreload" href="{assets_url(base)}/live/{name}">' in text
    assert "modulepreload" not in client.get("/launch").text


def test_imports_followed_to_their_end(tmp_path: Path) -> None:
    for name, text in {
        "a.js": 'import{x as b}from"./b.js";import"./c.js"',
        "b.js": 'import { y } from "./a.js"',
        "c.js": 'const later=()=>import("./d.js")',
    }.items():
        (tmp_path / name).write_text(text)
    assert with_imports(tmp_path, ["a.js"]) == ["a.js", "b.js", "c.js"]

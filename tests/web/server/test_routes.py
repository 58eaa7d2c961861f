"""Addresses that have a page: the others are told to have none, and Streamlit's own routes are left to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from tests.web.conftest import Serve
from web.access.auth import GUEST_PAGES
from web.assets import STATIC
from web.live.hub import LiveHub
from web.live.protocol import LivePart
from web.page_paths import PATHS
from web.server.routes import build_routes

PASSED_ON = "passed on"
README = Path(__file__).parents[3] / "README.md"
SHELL = STATIC.parent / "shell.py"
STREAMLITS = ["_stcore/health", "live/_stcore/host-config", "static/js/index.a1b2.js", "favicon.png", "index.html"]
STREAMLITS += ["live/media/a1b2", "media/a1b2.png", "component/x/y", "oauth2callback", "auth/login", "api/sql"]


class NoRuns:
    """A reader of an empty store."""

    def snapshots(self, run_ids: Sequence[str]) -> dict[str, LivePart]:
        return {}

    def since(self, cursors: Mapping[str, str]) -> dict[str, LivePart]:
        return {}


@pytest.fixture(params=["", "/pit"])
def home(request: pytest.FixtureRequest, serve: Serve) -> Iterator[str]:
    """Where our routes are, before one that takes everything as Streamlit's own does."""

    async def pass_on(request: Request) -> PlainTextResponse:
        return PlainTextResponse(PASSED_ON)

    routes = build_routes(LiveHub(NoRuns()), lambda: 0, "1", request.param)
    with serve(Starlette(routes=[*routes, Route("/{path:path}", pass_on)])) as address:
        yield f"http://{address}{request.param}/"


@pytest.mark.parametrize("path", ["nosuch", "nosuch/", "no_such", "foo/bar", "lively", "live_", "run/x", "live/live"])
def test_unknown_address_says_so_and_leads_home(home: str, path: str) -> None:
    answer = httpx.get(home + path)
    assert answer.status_code == 404
    assert f'href="{httpx.URL(home).path}"' in answer.text


@pytest.mark.parametrize("path", ["", *PATHS, "live/", *STREAMLITS])
@pytest.mark.wide
def test_pages_and_streamlit_routes_are_untouched(home: str, path: str) -> None:
    assert httpx.get(home + path).text == PASSED_ON


def test_every_page_is_known() -> None:
    url_paths = set(re.findall(r'url_path="(\w+)"', SHELL.read_text()))
    assert url_paths - {"runs"} == set(PATHS), "the first page is at the bare address"


def test_readme_names_every_page() -> None:
    titles = set(re.findall(r'title="(\w+)"', SHELL.read_text())) - {"Shared"}  # a guest's first page
    assert titles <= set(re.findall(r"\*\*(\w+)\*\*", README.read_text()))


def test_guests_may_open_the_pages_that_they_are_offered() -> None:
    offered = re.search(r"^GUEST_PAGES = \[\n(.*?)^\]", SHELL.read_text(), re.DOTALL | re.MULTILINE)
    assert offered
    shared_names = re.findall(r"^    (\w+),$", offered[1], re.MULTILINE)  # variables named like their URL path
    url_paths = {*shared_names, *re.findall(r'url_path="(\w+)"', offered[1])}
    assert len(url_paths) > 3 and url_paths - {"shared"} <= GUEST_PAGES


@pytest.mark.parametrize("query", ["", "?find=fp8&order=stream", "?find=%2F%2Fx%0D%0Ay"])
def test_run_list_is_at_the_bare_address(home: str, query: str) -> None:
    answer = httpx.get(f"{home}runs{query}")
    assert answer.is_redirect and answer.headers["location"] == httpx.URL(home).path + query

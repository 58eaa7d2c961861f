"""Streamlit's own code, compressed, asked by a real HTTP client."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from streamlit.file_util import get_static_dir

from tests.demo_engine import ROOT
from tests.web.conftest import Serve
from web.server.streamlit_code import UNUSED_FONT, CompressedCode

FOLDER = Path(get_static_dir())
CODE = next(f"/static/js/{path.name}" for path in (FOLDER / "static" / "js").glob("DataFrame.*.js"))


@pytest.fixture(scope="module", params=["", "/pit"])
def base(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(serve: Serve, base: str) -> Iterator[httpx.Client]:
    app = Starlette(
        routes=[Mount(base or "/", StaticFiles(directory=FOLDER))],
        middleware=[Middleware(CompressedCode, base_path=base)],
    )
    with serve(app) as address, httpx.Client(base_url=f"http://{address}{base}") as client:
        yield client


def test_code_sent_compressed_and_unchanged(client: httpx.Client) -> None:
    answer = client.get(CODE)
    assert answer.content == (FOLDER / CODE.removeprefix("/")).read_bytes()
    assert answer.headers["content-encoding"] == "gzip" and "immutable" in answer.headers["cache-control"]
    assert int(answer.headers["content-length"]) < len(answer.content) / 2
    assert client.get(CODE).content == answer.content


@pytest.mark.parametrize("headers", [{"accept-encoding": "identity"}, {"range": "bytes=0-9"}])
def test_other_requests_left_to_streamlit(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.get(CODE, headers=headers)
    assert answer.is_success and "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/static/js/no.js", "/static/js/../../../config.py", "/static/js/%2e%2e/index.html"])
def test_no_file_beyond_the_code(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_one_unused_font_in_streamlits_page() -> None:
    page = (FOLDER / "index.html").read_bytes()
    assert len(UNUSED_FONT.findall(page)) == 1 and len(re.findall(rb"<link", UNUSED_FONT.findall(page)[0])) == 1


def test_no_collection_after_each_script() -> None:
    """It took two thirds of the CPU of a page; an unknown option would be ignored in silence."""
    # In a process of its own: other tests set Streamlit's options in this one.
    script = "from streamlit import config; print(config.get_option('runner.postScriptGC'))"
    printed = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert printed.strip() == "False"

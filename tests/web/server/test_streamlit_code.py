"""Streamlit's own code, compressed and named in the page that needs it, asked by a real HTTP client."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
from streamlit import config
from streamlit.file_util import get_static_dir

from tests.web.conftest import Serve
from web.server.page_start import start_of_page
from web.server.streamlit_code import UNUSED_FONT, WIDGETS, CompressedCode, widget_files, with_imports

FOLDER = Path(get_static_dir())


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
    name = next(name for name in widget_files("") if name.startswith("DataFrame."))
    answer = client.get(f"/static/js/{name}")
    assert answer.content == (FOLDER / "static" / "js" / name).read_bytes()
    assert answer.headers["content-encoding"] == "gzip" and "immutable" in answer.headers["cache-control"]
    assert int(answer.headers["content-length"]) < len(answer.content) / 2
    assert client.get(f"/static/js/{name}").content == answer.content


@pytest.mark.parametrize("headers", [{"accept-encoding": "identity"}, {"range": "bytes=0-9"}])
def test_other_requests_left_to_streamlit(client: httpx.Client, headers: dict[str, str]) -> None:
    answer = client.get(f"/static/js/{widget_files('')[0]}", headers=headers)
    assert answer.is_success and "content-encoding" not in answer.headers


@pytest.mark.parametrize("path", ["/static/js/no.js", "/static/js/../../../config.py", "/static/js/%2e%2e/index.html"])
def test_no_file_beyond_the_code(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


@pytest.mark.parametrize("page", WIDGETS)
def test_widgets_named_are_files_of_streamlit(page: str) -> None:
    """A new Streamlit may have renamed them: the page would then wait for their code in several rounds."""
    files = widget_files(page)
    for name in WIDGETS[page]:
        assert sum(file.startswith(f"{name}.") for file in files) == 1, name
    assert f'href="/static/js/{files[0]}"' in start_of_page("/assets", page)


def test_imports_followed_to_their_end(tmp_path: Path) -> None:
    for name, text in {
        "a.js": 'import{x as b}from"./b.js";import"./c.js"',
        "b.js": 'import { y } from "./a.js"',
        "c.js": 'const later=()=>import("./d.js")',
    }.items():
        (tmp_path / name).write_text(text)
    assert with_imports(tmp_path, ["a.js"]) == ["a.js", "b.js", "c.js"]


def test_one_unused_font_in_streamlits_page() -> None:
    page = (FOLDER / "index.html").read_bytes()
    assert len(UNUSED_FONT.findall(page)) == 1 and len(re.findall(rb"<link", UNUSED_FONT.findall(page)[0])) == 1


def test_no_collection_after_each_script() -> None:
    """It took two thirds of the CPU of a page; an unknown option would be ignored in silence."""
    assert config.get_option("runner.postScriptGC") is False

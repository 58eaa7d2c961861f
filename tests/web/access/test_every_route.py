"""Every route of a whole Pitwall, ours and Streamlit's own, asked in every way by somebody without a token."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.e2e.pitwall_process import ROOT, Pitwall, running_pitwall

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
CLOSED = {401, 403}
# Streamlit has no public list of its routes.
LIST = """
import json, app
routes = app.app._build_starlette_app().routes
print(json.dumps([(type(route).__name__, getattr(route, "path", "")) for route in routes]))
"""
KNOWN = {
    ("Route", "/healthz"),
    ("Route", "/report"),
    ("Route", "/api/sql"),
    ("Route", "/_stcore/upload_file/{session_id}/{file_id}"),
    ("Route", "/_stcore/agent/mcp"),
    ("Route", "/media/{file_id:path}"),
    ("WebSocketRoute", "/ws/live"),
    ("WebSocketRoute", "/_stcore/stream"),
}


@pytest.fixture(scope="module")
def pitwall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pitwall]:
    with running_pitwall(tmp_path_factory.mktemp("closed") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """Kind and path of each, as the app itself puts them together."""
    environ = os.environ | {"PITWALL_DATA": str(tmp_path_factory.mktemp("listed"))}
    process = subprocess.run([sys.executable, "-c", LIST], cwd=ROOT, env=environ, capture_output=True, timeout=120)
    assert process.returncode == 0, process.stderr.decode()
    return {(kind, path) for kind, path in json.loads(process.stdout.splitlines()[-1])}


def asked_paths(routes: set[tuple[str, str]], kind: str) -> list[str]:
    """Paths that the routes of a kind take; what is mounted takes all."""
    return sorted({re.sub(r"\{[^}]*\}", "x", path) or "/x" for found, path in routes if found == kind})


def test_no_route_answers_whoever_brings_no_token(pitwall: Pitwall, routes: set[tuple[str, str]]) -> None:
    assert routes >= KNOWN
    plain = asked_paths(routes, "Route")
    mounted = ["/", "/index.html", "/static/index.html", "/live", "/launch", "/favicon.png", "/x/healthz", "/healthz/"]
    let_in = []
    with httpx.Client(base_url=pitwall.url, timeout=60) as client:
        for path in [*plain, *asked_paths(routes, "Mount"), *mounted]:
            for method in METHODS:
                answer = client.request(method, path)
                assert not answer.cookies, (method, path)
                if answer.status_code not in CLOSED:
                    let_in.append((method, path))
        assert let_in == [(method, "/healthz") for method in METHODS]
        health = client.get("/healthz")
        assert health.status_code == 200 and str(Path(pitwall.data)) not in health.text
        assert client.get("/", headers={"accept": "text/html"}).text.count("<form") == 1, "it is the page to sign in"
        assert client.get("/", params={"token": pitwall.token}, follow_redirects=True).status_code == 200
        assert client.get("/_stcore/health").status_code == 200, "who has signed in is let in"


def test_no_socket_opens_without_a_token(pitwall: Pitwall, routes: set[tuple[str, str]]) -> None:
    paths = asked_paths(routes, "WebSocketRoute")
    assert len(paths) >= 3
    for path in paths:
        with pytest.raises(InvalidStatus) as refused, connect(f"ws://127.0.0.1:{pitwall.port}{path}", open_timeout=60):
            pytest.fail(f"{path} is open")
        assert refused.value.response.status_code in CLOSED, path

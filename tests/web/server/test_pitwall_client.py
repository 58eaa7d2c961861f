"""`pitwall_client.py` against the real routes, access check and sandbox; its document's example is run as it stands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from cli.results.compare import ComparisonWords, read_comparison
from domain import Speculation
from machine.run_with_timeout import run_bounded
from pitwall_client import PitwallClient, PitwallRequestError
from storage.sandbox.client import Sandbox
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import PacedServer
from tests.known_truth.played_run import PlayedArm
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import Scope, TokenBook
from web.server.api.compare_api import MOST_RUNS, ComparisonRequest, compare_route
from web.server.api.sql_api import sql_route

ROOT = Path(__file__).resolve().parents[3]
SECRET = b"x" * 32
SHORT: dict[str, Any] = {"tokens": 16, "repeats": 1, "rungs": [1]}
FORCED = Speculation(method="mtp", num_tokens=3, options={"rejection_sample_method": "synthetic"})

pytestmark = pytest.mark.publishes


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PlayedStore]:
    opened = PlayedStore(tmp_path_factory.mktemp("client"), 20261128)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def ids(played: PlayedStore) -> list[str]:
    """Two starts of a plain arm, then two of one with forced acceptance."""
    arm = PlayedArm("a", params=SHORT)
    faster = replace(PacedServer(), step_s=0.01)
    run_ids = played.play([arm, PlayedArm("b", faster, params=SHORT, config={"speculative": FORCED})], 2)
    played.store.publish()
    return run_ids


@pytest.fixture
def url(serve: Any, played: PlayedStore) -> Iterator[str]:
    settings = played.settings

    def compare(request: ComparisonRequest) -> dict[str, Any]:
        return read_comparison(settings, ComparisonWords(**dict(request))).as_json()

    rules = {
        "access": access_for(settings, SECRET),
        "shares": ShareBook(SECRET, ""),
        "sessions": SessionBook(settings.sessions_path),
        "tokens": TokenBook(settings.tokens_path),
    }
    routes = [sql_route(Sandbox(settings, run_bounded).ask), compare_route(compare)]
    with serve(Starlette(routes=routes, middleware=[Middleware(AuthMiddleware, **rules)])) as address:
        yield f"http://{address}"


def client_of(url: str, played: PlayedStore, scope: Scope = Scope.SQL) -> PitwallClient:
    book = TokenBook(played.settings.tokens_path)
    return PitwallClient(url, book.make([scope], None, timedelta(days=1), "", "test")[1])


def test_forced_acceptance_comes_back_refused(url: str, played: PlayedStore, ids: list[str]) -> None:
    with client_of(url, played) as pitwall:
        comparison = pitwall.compare(ids, objective="decode_tps")
        (arm,) = comparison.answers
        assert (arm.answer, arm.ratio, arm.is_ranked) == ("not_comparable", None, False)
        assert "Forced acceptance" in arm.refusals and "is not ranked against" in arm.sentence
        with pytest.raises(PitwallRequestError, match=r"There is no run no\.") as unknown:
            pitwall.compare(["no"])
        with pytest.raises(PitwallRequestError, match="runs"):
            pitwall.compare(ids * MOST_RUNS)
    assert unknown.value.status == 422 and comparison.objective == "decode_tps"


@pytest.mark.wide
def test_tables_are_typed(url: str, played: PlayedStore, ids: list[str]) -> None:
    with client_of(url, played) as pitwall:
        assert {run.run_id for run in pitwall.runs("B #")} == set(ids[2:])
        assert pitwall.runs("o'clock") == [] and pitwall.metrics("o'clock") == []
        assert pitwall.runs(limit=1)[0].started_at is not None
        assert str(pitwall.frame("SELECT created_at FROM runs").created_at.dtype).startswith("datetime64")
        with pytest.raises(PitwallRequestError, match="SELECT"):
            pitwall.rows("DROP TABLE runs")


def test_a_token_of_another_scope_is_refused(url: str, played: PlayedStore, ids: list[str]) -> None:
    with client_of(url, played, Scope.METRICS) as pitwall, pytest.raises(PitwallRequestError, match="sql:read"):
        pitwall.compare(ids)


def test_no_token_crosses_the_network_in_clear() -> None:
    with pytest.raises(ValueError, match="https"):
        PitwallClient("http://gpu.example:8501", "pwt_x")


def test_it_needs_nothing_of_pitwall() -> None:
    nodes = list(ast.walk(ast.parse((ROOT / "pitwall_client.py").read_text())))
    names = {node.module.split(".")[0] for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    names |= {alias.name.split(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert names <= {*sys.stdlib_module_names, "httpx", "pyarrow", "pandas"}


@pytest.mark.wide
def test_the_documents_example_runs(url: str, played: PlayedStore, ids: list[str]) -> None:
    (code,) = re.findall(
        r"```python\n(from pitwall_client.*?)```", (ROOT / "docs/python-client.md").read_text(), re.DOTALL
    )
    token = TokenBook(played.settings.tokens_path).make([Scope.SQL], None, timedelta(days=1), "", "test")[1]
    played.settings.api_token_path.write_text(token)
    environ = {"PITWALL_DATA": str(played.settings.data_dir), "PYTHONPATH": str(ROOT)}
    code = code.replace("http://127.0.0.1:8501", url).replace("RUN-A", ids[0]).replace("RUN-B", ids[2])
    process = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True)
    assert process.returncode == 0 and "not ranked" in process.stdout, process.stderr

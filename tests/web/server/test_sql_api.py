"""POST /api/sql through the real access check and the real sandbox; its document is run word for word."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from domain import Config, Run
from machine.run_with_timeout import run_bounded
from samples import Batch, Event
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.job import Fault, SandboxLimits, SqlRefusedError
from storage.store import Store
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TokenBook
from web.server.api.sql_api import sql_route

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[3]
PATH = "/api/sql"
SECRET = b"x" * 32
DOCUMENT = (ROOT / "docs" / "http-sql.md").read_text()


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(data_dir=tmp_path_factory.mktemp("sql") / "data")
    store = Store.open(settings)
    store.save_run(Run(id="r1", name="one", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW))
    store.write(Batch((Event("r1", NOW, "state", 'said "a, b"'), Event("r1", NOW, "state", "")))).result()
    store.close()
    return settings


@pytest.fixture(scope="module")
def token(settings: Settings) -> str:
    """Made as docs/http-sql.md says, and kept where its recipes read it."""
    argv = [str(ROOT / "pitwall"), "token", "make", "sql:read"]
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    text = subprocess.run(argv, env=environ, capture_output=True, text=True, check=True).stdout
    settings.api_token_path.write_text(text)
    return text.strip()


@pytest.fixture
def url(serve, settings: Settings) -> Iterator[str]:
    access = access_for(settings, SECRET)
    sessions = SessionBook(settings.sessions_path)
    sandbox = Sandbox(settings, run_bounded, SandboxLimits(seconds=5.0))
    app = Starlette(
        routes=[sql_route(sandbox.ask)],
        middleware=[
            Middleware(
                AuthMiddleware,
                access=access,
                shares=ShareBook(SECRET, ""),
                sessions=sessions,
                tokens=TokenBook(settings.tokens_path),
            )
        ],
    )
    with serve(app) as address:
        yield f"http://{address}/api/sql"


@pytest.fixture
def client(url: str, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=url.removesuffix(PATH), headers={"authorization": f"Bearer {token}"}, timeout=60
    ) as client:
        yield client


def ask(client: httpx.Client, sql: str, accept: str = "application/json") -> httpx.Response:
    return client.post(PATH, json={"sql": sql}, headers={"accept": accept})


def test_json_has_columns_rows_and_completeness(client: httpx.Client) -> None:
    document = ask(
        client, "SELECT run_id, created_at, 1.5::DECIMAL(4, 2) AS d, [1, 2] AS l, NULL AS n FROM runs"
    ).json()
    assert document["rows"] == [
        {"run_id": "r1", "created_at": "2026-11-20T12:00:00+00:00", "d": 1.5, "l": [1, 2], "n": None}
    ]
    assert [column["name"] for column in document["columns"]] == ["run_id", "created_at", "d", "l", "n"]
    assert (document["row_count"], document["truncated"]) == (1, False)


@pytest.mark.parametrize("accept", ["application/json", "text/csv"])
def test_a_date_out_of_range_is_a_sentence(client: httpx.Client, accept: str) -> None:
    answer = ask(client, "SELECT '290000-01-01'::TIMESTAMP AS t", accept)
    assert (answer.status_code, answer.json()["error"]) == (422, "A date is out of range: cast it to text.")


def test_csv_arrow_and_parquet_have_equal_rows(client: httpx.Client) -> None:
    sql = "SELECT text, {'a': [1]} AS s, INTERVAL 1 DAY AS i, NULL::INT AS n FROM events ORDER BY text"
    csv = ask(client, sql, "text/csv")
    assert csv.headers["content-type"].startswith("text/csv")
    assert csv.text.splitlines()[1:] == ['"","{""a"":[1]}","P0M1DT0S",', '"said ""a, b""","{""a"":[1]}","P0M1DT0S",']
    arrow = pa.ipc.open_stream(ask(client, sql, "application/vnd.apache.arrow.stream").content).read_all()
    assert arrow["text"].to_pylist() == ["", 'said "a, b"']
    parquet = pq.read_table(io.BytesIO(ask(client, sql, "application/vnd.apache.parquet").content))
    assert parquet["s"].to_pylist() == [{"a": [1]}, {"a": [1]}]


def test_plain_text_query_returns_any_json(client: httpx.Client) -> None:
    response = client.post(PATH, content=b"SELECT 1 AS one", headers={"content-type": "text/plain", "accept": "*/*"})
    assert response.json()["rows"] == [{"one": 1}]
    assert response.headers["pitwall-rows"] == "1"


def test_the_cap_is_told(client: httpx.Client) -> None:
    response = ask(client, "SELECT range FROM range(200000)", "text/csv")
    assert (response.headers["pitwall-rows"], response.headers["pitwall-truncated"]) == ("100000", "true")


@pytest.mark.parametrize(
    ("request_", "status", "words"),
    [
        ({"json": {"sql": "DROP VIEW runs"}}, 400, "Only a SELECT"),
        ({"json": {"sql": "SELECT nme FROM runs"}}, 400, 'Candidate bindings: "name"'),
        ({"json": {"sql": "SELECT repeat('a', 2000000000)"}}, 422, "memory limit"),
        ({"json": {"query": "SELECT 1"}}, 400, "Send the statement"),
        ({"json": [1]}, 400, "Send the statement"),
        ({"content": b"\xff\xfe"}, 400, "Send the statement"),
        ({"content": b"x" * 300_000}, 413, "256 KiB"),
        ({"json": {"sql": "SELECT 1"}, "headers": {"accept": "image/png"}}, 406, "text/csv"),
    ],
)
def test_mistake_is_a_sentence_with_its_status(
    client: httpx.Client, request_: dict[str, object], status: int, words: str
) -> None:
    answer = client.post(PATH, **request_)  # type: ignore[arg-type]
    assert answer.status_code == status
    assert words in answer.json()["error"]


@pytest.mark.parametrize(("fault", "status"), [(Fault.BUSY, 429), (Fault.UNAVAILABLE, 503), (Fault.LIMIT, 422)])
def test_each_fault_has_its_status(serve, settings: Settings, token: str, fault: Fault, status: int) -> None:
    """A fake sandbox, for a busy one cannot be had on demand."""

    def refuse(sql: str):  # type: ignore[no-untyped-def]
        raise SqlRefusedError(fault, "no")

    app = Starlette(routes=[sql_route(refuse)])
    with serve(app) as address:
        answer = httpx.post(f"http://{address}/api/sql", json={"sql": "SELECT 1"})
    assert (answer.status_code, answer.json()) == (status, {"error": "no", "fault": str(fault)})


def test_without_the_token_nothing_is_answered(url: str, token: str) -> None:
    for headers in ({}, {"authorization": "Bearer"}, {"authorization": f"Bearer {token}x"}, {"authorization": token}):
        answer = httpx.post(url, json={"sql": "SELECT 1"}, headers=headers)
        assert answer.status_code == 401
        assert "pitwall token make" in answer.json()["error"]
    assert httpx.post(f"{url}?token={token}", json={"sql": "SELECT 1"}).status_code == 401


def test_the_api_token_opens_no_other_route(url: str, token: str) -> None:
    for path in ("/", "/sql", "/apix", "/_stcore/stream"):
        answer = httpx.get(url.replace("/api/sql", path), headers={"authorization": f"Bearer {token}"})
        assert answer.status_code == 401, path


def test_another_site_cannot_use_the_route(client: httpx.Client) -> None:
    assert client.post(PATH, json={"sql": "SELECT 1"}, headers={"origin": "https://evil.example"}).status_code == 403


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)


def placed(block: str, url: str) -> str:
    return block.replace("http://127.0.0.1:8501/api/sql", url)


@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
@pytest.mark.parametrize("number", range(len(blocks("bash"))))
def test_the_documented_curl_works(url: str, settings: Settings, token: str, number: int) -> None:
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    argv = ["bash", "-euo", "pipefail", "-c", placed(blocks("bash")[number], url)]
    process = subprocess.run(argv, env=environ, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "r1" in process.stdout or "token make" in blocks("bash")[number]


@pytest.mark.parametrize("number", range(len(blocks("python"))))
@pytest.mark.wide
def test_the_documented_python_works(url: str, settings: Settings, token: str, number: int, tmp_path: Path) -> None:
    """The notebook cell's last line is what a notebook would show."""
    *lines, last = placed(blocks("python")[number], url).strip().splitlines()
    code = "\n".join([*lines, f"print({last})" if not last.startswith((" ", "print")) else last])
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    process = subprocess.run([sys.executable, "-c", code], env=environ, cwd=tmp_path, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "one" in process.stdout


def test_the_document_has_all_three(settings: Settings) -> None:
    assert len(blocks("bash")) >= 2
    assert len(blocks("python")) == 2

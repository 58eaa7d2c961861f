"""GET /answer through the real access check and the real sandbox: a file for members, nothing for guests."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import httpx
import pyarrow.parquet as pq
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from domain import Config, Run
from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.sandbox.client import Sandbox
from storage.sandbox.job import Fault, SandboxLimits, SqlAnswer, SqlRefusedError
from storage.store import Store
from tests.web.conftest import ProvideServices
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.cookies import SHARE
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import TokenBook
from web.server.api.answer_api import answer_route

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
LONG = "SELECT range AS n, repeat('x', 30) AS words FROM range(60000)"  # 2 MB
Asks = Callable[..., httpx.Response]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("answer") / "data")
    store = Store.open(settings)
    store.save_run(Run(id="r1", name="one", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW))
    store.publish()
    yield store, settings
    store.close()


@pytest.fixture
def ask(serve, folder: tuple[Store, Settings], provide_services: ProvideServices) -> Iterator[Asks]:
    """GET /answer as somebody of a role: `ask(role, sql=...)`."""
    store, settings = folder
    access = access_for(settings, b"x" * 32)
    sessions, shares = SessionBook(settings.sessions_path), ShareBook(access.secret, "")
    shares.load(store)
    sandbox = Sandbox(settings, run_bounded, SandboxLimits(seconds=5.0))
    provide_services(SimpleNamespace(sandbox=sandbox, lake_sandbox=OfLake()))
    tokens = TokenBook(settings.tokens_path)
    access_check = Middleware(AuthMiddleware, access=access, shares=shares, sessions=sessions, tokens=tokens)

    def cookies(role: str | None) -> dict[str, str]:
        if role == "guest":
            share = shares.make(["r1"], "live", timedelta(days=1), "operator")
            return {access.cookie(SHARE, False): shares.token(share)}
        return {access.cookie("", False): sessions.make("a browser", role)} if role else {}  # type: ignore[arg-type]

    with serve(Starlette(routes=[answer_route()], middleware=[access_check])) as address:
        yield lambda role, **query: httpx.get(
            f"http://{address}/answer", params=query, cookies=cookies(role), timeout=60
        )


class OfLake:
    """A stand-in for the sandbox of all machines, which needs a lake."""

    def ask(self, sql: str) -> SqlAnswer:
        raise SqlRefusedError(Fault.UNAVAILABLE, "the lake was asked")


@pytest.mark.parametrize("role", ["operator", "editor", "viewer"])
@pytest.mark.wide
def test_a_member_gets_a_long_answer_as_a_file(ask: Asks, role: str) -> None:
    sql_answer = ask(role, sql=LONG, name='my "query"\r\n')
    assert sql_answer.status_code == 200 and len(sql_answer.content) > 2_000_000
    head, *rows = sql_answer.text.splitlines()
    assert head == '"n","words"' and [int(row.split(",")[0]) for row in rows] == list(range(60_000))
    assert sql_answer.headers["content-type"].startswith("text/csv") and "content-length" not in sql_answer.headers
    assert sql_answer.headers["content-disposition"] == "attachment; filename*=UTF-8''my%20%22query%22%0D%0A.csv"
    parquet = ask(role, sql=LONG, **{"as": "parquet"})
    assert pq.read_table(io.BytesIO(parquet.content)).num_rows == 60_000


def test_a_guest_and_a_stranger_are_refused(ask: Asks) -> None:
    for role, status in (("guest", 403), (None, 401)):
        sql_answer = ask(role, sql="SELECT name FROM runs")
        assert (
            sql_answer.status_code == status
            and "one" not in sql_answer.text.split()
            and '"name"' not in sql_answer.text
        )


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"sql": "DROP VIEW runs"}, 400, "Only a SELECT"),
        ({"sql": "SELECT repeat('a', 2000000000)"}, 422, "memory limit"),
        ({"sql": "SELECT 'infinity'::DATE AS d"}, 422, "out of range"),
        ({"sql": "SELECT 1", "as": "exe"}, 400, "unknown file type"),
        ({}, 400, "contains no statement"),
    ],
)
def test_why_there_is_no_file_is_told(ask: Asks, query: dict[str, str], status: int, words: str) -> None:
    sql_answer = ask("operator", **query)
    assert (
        sql_answer.status_code == status
        and words in sql_answer.text
        and "content-disposition" not in sql_answer.headers
    )


def test_the_rows_are_as_many_as_on_the_page(ask: Asks) -> None:
    assert len(ask("viewer", sql="SELECT range FROM range(200000)").text.splitlines()) == 1 + SandboxLimits().most_rows


def test_only_operator_queries_all_machines(ask: Asks) -> None:
    sql_answers_by_role = {
        role: ask(role, sql="SELECT name FROM runs", machines="all") for role in ("operator", "editor")
    }
    assert (
        sql_answers_by_role["operator"].status_code == 503
        and "the lake was asked" in sql_answers_by_role["operator"].text
    )
    assert sql_answers_by_role["editor"].text == '"name"\n"one"\n'

"""A statement runs once, while several reruns of the page wait for it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pyarrow as pa
import pytest

from storage.sandbox.job import SqlAnswer
from tests.web.conftest import ProvideServices
from web.sql.history import QueryHistory
from web.sql.sql_request import SqlRequest


def test_reruns_wait_for_the_statement_that_runs(
    provide_services: ProvideServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.sql.sql_request.current_session_id", lambda: "")
    asked, goes_on = list[str](), threading.Event()

    def ask(sql: str) -> SqlAnswer:
        asked.append(sql)
        assert goes_on.wait(60)
        return SqlAnswer(pa.table({"one": [1]}), 1.0, False)

    history = QueryHistory()
    provide_services(SimpleNamespace(sandbox=SimpleNamespace(ask=ask), lake_sandbox=None, sql_history=history))
    request = SqlRequest("SELECT 1 AS one", "mine")
    with ThreadPoolExecutor(2) as pool:
        outcomes = [pool.submit(request.outcome) for _ in range(2)]
        goes_on.set()
    assert outcomes[0].result() is outcomes[1].result()
    assert asked == ["SELECT 1 AS one"] and [entry.outcome for entry in history.entries("")] == ["1 row in 1 ms"]

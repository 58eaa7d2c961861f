"""The route of a scraper at the real access check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import duckdb
import httpx
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware

from settings import Settings
from web.access.access_rules import access_for
from web.access.auth import AuthMiddleware
from web.access.sessions import SessionBook
from web.access.shares import ShareBook
from web.access.tokens import Scope, TokenBook
from web.openmetrics.export import Export, StoreExport
from web.server.api.metrics_api import metrics_route

SECRET = b"a secret of more than enough length"


class Readings:
    """What is read by a scrape, and how often."""

    def __init__(self) -> None:
        self.count = 0
        self.problem: Exception | None = None

    def read(self) -> Export:
        self.count += 1
        if self.problem:
            raise self.problem
        return Export("0.1.0", StoreExport(True, 0, 0.0, None, None, 0))


@pytest.fixture
def readings() -> Readings:
    return Readings()


@pytest.fixture
def book(settings: Settings) -> TokenBook:
    return TokenBook(settings.tokens_path)


@pytest.fixture
def url(
    serve: Callable[[Any], AbstractContextManager[str]], settings: Settings, book: TokenBook, readings: Readings
) -> Iterator[str]:
    access_check = Middleware(
        AuthMiddleware,
        access=access_for(settings, SECRET),
        shares=ShareBook(SECRET, ""),
        sessions=SessionBook(settings.sessions_path),
        tokens=book,
    )
    with serve(Starlette(routes=[metrics_route(readings.read)], middleware=[access_check])) as address:
        yield f"http://{address}/metrics"


def headers_of(book: TokenBook, scope: Scope) -> dict[str, str]:
    return {"authorization": f"Bearer {book.make([scope], None, timedelta(days=1), '', 'a test')[1]}"}


def test_only_a_metrics_token_scrapes(url: str, book: TokenBook, readings: Readings) -> None:
    assert httpx.get(url).status_code == 401
    assert httpx.get(url, headers=headers_of(book, Scope.SQL)).status_code == 403
    assert readings.count == 0
    answer = httpx.get(url, headers=headers_of(book, Scope.METRICS))
    assert answer.status_code == 200 and 'pitwall_build_info{version="0.1.0"} 1.0' in answer.text
    assert httpx.post(url, headers=headers_of(book, Scope.METRICS)).status_code == 405


def test_scraper_chooses_the_format(url: str, book: TokenBook, readings: Readings) -> None:
    headers = headers_of(book, Scope.METRICS)
    for accept, content_type in (
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0"),
        ("text/plain", "text/plain; version=0.0.4"),
    ):
        answer = httpx.get(url, headers=headers | {"accept": accept})
        assert answer.headers["content-type"].startswith(content_type)
        assert ("# EOF" in answer.text) == accept.startswith("application")
    assert readings.count == 1, "scrapes within a second share one read"


def test_unreadable_store_is_said_and_asked_again(url: str, book: TokenBook, readings: Readings) -> None:
    readings.problem = duckdb.IOException("/secret/path cannot be read")
    answer = httpx.get(url, headers=headers_of(book, Scope.METRICS))
    assert (answer.status_code, "secret" in answer.text) == (503, False)
    readings.problem = None
    assert httpx.get(url, headers=headers_of(book, Scope.METRICS)).status_code == 200

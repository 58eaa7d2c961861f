"""A redirect outlives a rerun of the page that asked for it, and ends once the browser has arrived or left."""

from __future__ import annotations

from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from web import redirects
from web.redirects import Redirect

SCRIPT = """
import streamlit as st
from web.redirects import go_to, resume_redirect
if st.button("Run the demo"):
    go_to("live?run=a&run=b")
resume_redirect()
"""


@pytest.fixture
def sent_addresses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Collect the addresses that the page's scripts sent to the browser."""
    addresses: list[str] = []

    def record(key: str, data: dict[str, Any]) -> None:
        addresses.append(data["address"])

    monkeypatch.setattr(redirects, "_navigator", record)
    return addresses


def test_rerun_before_the_browser_followed_sends_it_again(sent_addresses: list[str]) -> None:
    at = AppTest.from_string(SCRIPT).run()
    assert not sent_addresses
    at.button[0].click().run()
    assert set(sent_addresses) == {"live?run=a&run=b"} and not at.exception
    sent_addresses.clear()
    at.run()  # such as the rerun of a fragment that has seen the new runs
    assert sent_addresses == ["live?run=a&run=b"]


def test_every_redirect_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser follows each once: one to the same address later is another one."""
    ids: list[str] = []
    monkeypatch.setattr(redirects, "_navigator", lambda key, data: ids.append(data["id"]))
    at = AppTest.from_string(SCRIPT).run()
    at.button[0].click().run()
    first = set(ids)
    at.button[0].click().run()
    assert len(first) == 1 and len(set(ids)) == 2


def test_arrival_ends_it(sent_addresses: list[str]) -> None:
    at = AppTest.from_string(SCRIPT).run()
    at.button[0].click().run()
    sent_addresses.clear()
    at.query_params["run"] = ["a", "b"]
    at.run()
    at.query_params["run"] = ["c"]  # the viewer's own choice afterwards
    at.run()
    assert sent_addresses == []


@pytest.mark.parametrize(
    ("path", "query", "is_pending"),
    [
        ("/", {}, True),
        ("/", {"by": ["model"]}, True),
        ("/", {"run": ["a"]}, False),
        ("/live", {"run": ["a"]}, False),
        ("/explore", {}, False),
        (None, {}, False),
    ],
)
def test_it_is_pending_on_its_own_page_until_arrival(
    path: str | None, query: dict[str, list[str]], is_pending: bool
) -> None:
    assert Redirect("1", "/", "live?run=a", replaces=False).is_pending(path, query) == is_pending

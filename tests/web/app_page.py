"""A page run by itself at an address, which must not meet an exception."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page_at(path: str, **params: str | list[str]) -> AppTest:
    """The page of this file, with these parameters of its address."""
    at = AppTest.from_file(path, default_timeout=60)
    for name, value in params.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, at.exception
    return at

"""A page run by itself at an address, which must not meet an exception."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest


def page_at(path: str, **params: str | list[str]) -> AppTest:
    """The page of this file, with these parameters of its address."""
    return at_address(AppTest.from_file(path, default_timeout=60), **params)


def script_at(script: str, **params: str | list[str]) -> AppTest:
    """The same of a script that shows a part of a page."""
    return at_address(AppTest.from_string(script, default_timeout=60), **params)


def at_address(at: AppTest, **params: str | list[str]) -> AppTest:
    """Run it with these parameters of its address."""
    for name, value in params.items():
        at.query_params[name] = value
    at.run()
    assert not at.exception, at.exception
    return at


def still_charts(at: AppTest) -> list[dict[str, Any]]:
    """What the browser is told of each chart that stands still."""
    protos = (element.proto for element in at.get("bidi_component"))
    return [json.loads(one.json) for one in protos if one.component_name == "pitwall_still_chart"]

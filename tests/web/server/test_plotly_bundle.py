"""The plotly.js that Live loads is the version that the Python package draws with, and has all that Live draws."""

from __future__ import annotations

import re
from importlib.resources import files

from web.server.assets import STATIC

BUNDLE = STATIC / "plotly" / "plotly-basic.min.js"
OF_BASIC = {"scatter", "bar", "pie"}


def first_lines(text: str) -> str:
    return text[:200]


def test_both_are_one_version() -> None:
    whole = (files("plotly") / "package_data" / "plotly.min.js").read_text()
    ours, theirs = (re.search(r"v(\d+\.\d+\.\d+)", first_lines(text)) for text in (BUNDLE.read_text(), whole))
    assert ours and theirs and ours[1] == theirs[1], "fetch plotly.js-basic-dist-min of the Python package's version"


def test_live_draws_nothing_that_it_lacks() -> None:
    types = (STATIC.parent / "types" / "globals.d.ts").read_text()  # tsc holds the scripts to them
    found = re.search(r"interface Trace \{\s+type: (.+);", types)
    assert found and set(re.findall(r'"(\w+)"', found[1])) <= OF_BASIC


def test_its_licence_lies_beside_it() -> None:
    assert "MIT License" in (BUNDLE.parent / "LICENSE.txt").read_text()

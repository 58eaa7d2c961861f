"""The bundles of plotly.js are of the Python package's version, and each has all that is drawn with it."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

from web import charts
from web.assets import STATIC

BUNDLE = STATIC / "plotly" / "plotly-basic.min.js"
FULLER = STATIC / "plotly" / "plotly-cartesian.min.js"
OF_BASIC = {"scatter", "bar", "pie"}


def first_lines(text: str) -> str:
    return text[:200]


@pytest.mark.parametrize("bundle", [BUNDLE, FULLER])
def test_all_are_one_version(bundle: Path) -> None:
    whole = (files("plotly") / "package_data" / "plotly.min.js").read_text()
    match, theirs = (re.search(r"v(\d+\.\d+\.\d+)", first_lines(text)) for text in (bundle.read_text(), whole))
    assert match and theirs and match[1] == theirs[1], "fetch the dist-min package of the Python package's version"


def test_still_charts_fall_back_to_full_bundle() -> None:
    assert OF_BASIC >= charts.BASIC_TRACE_TYPES, "what is not there is drawn as points without a word"


def test_live_draws_nothing_that_it_lacks() -> None:
    types = (STATIC.parent / "types" / "globals.d.ts").read_text()  # tsc holds the scripts to them
    match = re.search(r"interface Trace \{\s+type: (.+);", types)
    assert match and set(re.findall(r'"(\w+)"', match[1])) <= OF_BASIC


def test_its_licence_lies_beside_it() -> None:
    assert "MIT License" in (BUNDLE.parent / "LICENSE.txt").read_text()

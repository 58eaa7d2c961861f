"""The version key of cached numbers follows the code that computes them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from reports.cache.codecs import EVIDENCE, REPORTS
from reports.runs.run_line import line_version
from reports.source_hash import ROOMS, ROOT, source_hash
from web.live.finished_charts import CHART_CODEC

MODULES = ("reports.runs.run_line",)
WINDOWS, RATES = "analysis/runs/windows.py", "storage/views/rates.sql"


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the rooms whose code computes numbers."""
    folder = tmp_path_factory.mktemp("house")
    for room in ROOMS:
        if (ROOT / room).is_dir():
            shutil.copytree(ROOT / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "static"))
        else:
            shutil.copy(ROOT / f"{room}.py", folder)
    return folder


@pytest.fixture
def edit(house: Path) -> Callable[[str, Callable[[str], str]], str]:
    """Edit one file of the copy and take the key; the file is as before afterwards."""

    def edited(name: str, change: Callable[[str], str]) -> str:
        path = house / name
        text = path.read_text()
        path.write_text(change(text))
        source_hash.cache_clear()
        try:
            return source_hash(*MODULES, root=house)
        finally:
            path.write_text(text)

    return edited


def test_a_copy_has_the_same_key(edit: Callable[[str, Callable[[str], str]], str]) -> None:
    assert edit(WINDOWS, str) == source_hash(*MODULES)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (WINDOWS, lambda text: text.replace('"""', '"""Another docstring. ', 1)),
        (WINDOWS, lambda text: "# a comment\n" + text.replace("\n\n\n", "\n\n# another\n\n\n", 1)),
        (RATES, lambda text: "-- a comment\n" + text + "\n  -- another\n"),
        ("storage/views/comments/comments_samples.sql", lambda text: text + "\nCOMMENT ON VIEW runs IS 'others';"),
    ],
)
@pytest.mark.wide
def test_comments_keep_the_key(
    edit: Callable[[str, Callable[[str], str]], str], name: str, change: Callable[[str], str]
) -> None:
    assert edit(name, change) == edit(name, str)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        (WINDOWS, lambda text: text + "\nNEW_FACTOR = 2.0\n"),
        (RATES, lambda text: text + "\nCREATE OR REPLACE MACRO new_rate(a) AS a;"),
        ("storage/queries/sql/measured/whole_run_data.sql", lambda text: text + " -- \nWHERE TRUE"),
        ("reasons.py", lambda text: text + "\nNEW = 1\n"),
    ],
)
def test_a_formula_changes_the_key(
    edit: Callable[[str, Callable[[str], str]], str], name: str, change: Callable[[str], str]
) -> None:
    assert edit(name, change) != edit(name, str)


@pytest.mark.wide
def test_a_new_module_is_found_by_its_import(edit: Callable[[str, Callable[[str], str]], str], house: Path) -> None:
    """Nobody lists the files: a formula in a new one counts as soon as it is imported, and whenever it changes."""
    before = edit(WINDOWS, str)
    formula = house / "analysis/runs/new_formula.py"
    keys = []
    for text in ("FACTOR = 1.0\n", "FACTOR = 2.0\n"):
        formula.write_text(text)
        keys.append(edit(WINDOWS, lambda text: text + "\nfrom analysis.runs.new_formula import FACTOR\n"))
    unused = edit(WINDOWS, str)
    formula.unlink()
    assert unused == before and len({before, *keys}) == 3


def test_each_cache_has_its_own_key() -> None:
    keys = [line_version(), REPORTS.version(), EVIDENCE.version(), CHART_CODEC.version()]
    assert [len(key) for key in keys] == [16] * 4
    assert len({line_version(), REPORTS.version(), CHART_CODEC.version()}) == 3

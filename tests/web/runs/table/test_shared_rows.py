"""The rows of the table of runs are made once for all viewers, and anew when one of them has changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pandas.io.formats.style import Styler
from pandas.io.formats.style_render import StylerRenderer
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.elements.lib.pandas_styler_utils import marshall_styler
from streamlit.proto.ArrowData_pb2 import ArrowData
from streamlit.testing.v1 import AppTest

from reports.cache.run_cache import ReportCache
from settings import Settings
from storage.queries.run_queries import RunFilter
from storage.store import Store
from tests.many_runs import many_runs
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.runs.table.run_listing import listing
from web.runs.table.run_table import _rows, _shared_rows
from web.theme import MUTED

PAGE = """
from storage.queries.run_queries import RunFilter
from web.context import services
from web.runs.table.run_listing import listing
from web.runs.table.run_table import run_table

found = listing(services().store, RunFilter(), 10)
run_table(found.runs, found.lines, COLUMNS, {}, "all")
"""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    many_runs(opened)
    provide_services(SimpleNamespace(store=opened, fleet=None, reports=ReportCache()))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    yield opened
    opened.close()


@pytest.fixture
def makings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Get an entry whenever rows are made."""
    made = list[str]()

    def counting_rows(*args: object) -> object:
        made.append("rows")
        return _rows(*args)  # type: ignore[arg-type]

    monkeypatch.setattr("web.runs.table.run_table._rows", counting_rows)
    return made


def table(*columns: str) -> AppTest:
    return script_at(PAGE.replace("COLUMNS", repr(list(columns))))


def names(at: AppTest) -> list[str]:
    return [unquote(address.partition("#")[2]) for address in at.dataframe[0].value["name"]]


def test_viewers_of_one_table_share_its_rows(store: Store, makings: list[str]) -> None:
    first, second = table("star", "stream"), table("star", "stream")
    assert first.dataframe[0].proto.arrow_data.data == second.dataframe[0].proto.arrow_data.data
    assert makings == ["rows"]
    assert list(table("stream").dataframe[0].value) == ["color", "name", "stream"] and len(makings) == 2


def test_renamed_or_starred_run_is_seen(store: Store, makings: list[str]) -> None:
    before = table("star")
    newest = listing(store, RunFilter(), 10).runs[0]
    store.save_run(newest.model_copy(update={"name": "renamed"}))
    store.notes.change([newest.id], "operator", lambda note: note.model_copy(update={"is_starred": True}))
    after = table("star")
    assert names(after) == ["renamed", *names(before)[1:]]
    assert after.dataframe[0].value["star"][0] == "\u2605" and not any(before.dataframe[0].value["star"])


def test_rows_of_an_older_list_are_not_those_of_a_newer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A viewer whose list is older than a change must not leave its rows to those who come after it."""
    monkeypatch.setattr("web.runs.table.run_table.ground", lambda: "light")
    older = listing(store, RunFilter(), 10)
    store.save_run(older.runs[0].model_copy(update={"name": "renamed"}))
    _shared_rows(older.runs, older.lines, ["name"], {})
    newer = listing(store, RunFilter(), 10)
    rows = _shared_rows(newer.runs, newer.lines, ["name"], {})
    assert isinstance(rows, pa.Table) and rows["name"][0].as_py().endswith("#renamed")


def test_styles_of_imported_numbers_are_translated_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.runs.table.run_table.ground", lambda: "light")
    newest = listing(store, RunFilter(), 10).runs[0]
    store.save_run(newest.model_copy(update={"kind": "imported"}))
    actual_listing = listing(store, RunFilter(), 10)
    first, second = (_shared_rows(actual_listing.runs, actual_listing.lines, ["name", "stream"], {}) for _ in range(2))
    assert isinstance(first, Styler) and first is second
    monkeypatch.setattr(StylerRenderer, "_translate", None)  # the real method
    sent = ArrowData()
    marshall_styler(sent, first, "default")
    assert re.findall(r"#T_runs_row\d+_col\d+", sent.styler.styles) == ["#T_runs_row0_col1"]
    assert MUTED["light"] in sent.styler.styles
    assert convert_arrow_bytes_to_pandas_df(sent.styler.display_values).shape == first.data.shape

"""The disk use of any run: paged, found by its name, and measured when the list is opened, not at each press."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from settings import Settings
from storage.files.disk_use import disk_use
from storage.store import Store
from tests.many_runs import many_runs
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.runs.table import disk_list

LIST = """
import streamlit as st
from web.runs.table.disk_list import show_disk_list, forget_disk_usage
show_disk_list() if st.toggle("open", value=True) else forget_disk_usage()
"""


@pytest.fixture
def measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> Iterator[list[Settings]]:
    """How often the folders were looked at; there are 20 runs, each larger than the one before."""
    settings, looks = Settings(data_dir=tmp_path / "data"), list[Settings]()
    store = Store.open(settings)
    many_runs(store)
    for number, run_id in enumerate(sorted(disk_use(store, settings)), 1):
        folder = settings.runs_dir / run_id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "server.log").write_bytes(b"x" * 1000 * number)

    def counting_disk_use(store: Store, settings: Settings) -> dict[str, int]:
        looks.append(settings)
        return disk_use(store, settings)

    monkeypatch.setattr("web.runs.table.disk_list.disk_use", counting_disk_use)
    monkeypatch.setattr("web.runs.table.disk_list.STEPS", (5, 15, 50))
    provide_services(SimpleNamespace(store=store, settings=settings))
    yield looks
    store.close()


def opened(**params: str) -> AppTest:
    return script_at(LIST, **params)


def listed(at: AppTest) -> list[str]:
    html = " ".join(str(element.proto.body) for element in at.get("html"))
    return [part.partition("</a>")[0].partition(">")[2] for part in html.split("<a ")[1:]]


def captions(at: AppTest) -> str:
    return " ".join(caption.value for caption in at.caption)


def test_runs_listed_by_size_without_measurement(measured: list[Settings]) -> None:
    at = opened()
    newest = listed(at)
    assert len(newest) == 5 and "20 runs take 205" in captions(at), captions(at)
    at.button(key="runs-more-disk_rows").click().run()
    assert listed(at)[:5] == newest and len(listed(at)) == 15
    at.button(key="runs-more-disk_rows").click().run()
    assert len(listed(at)) == 20 and at.query_params["disk_rows"] in ("50", ["50"])
    assert not [button for button in at.button if button.key == "runs-more-disk_rows"] and len(measured) == 1


def test_smallest_run_is_found_by_name(measured: list[Settings]) -> None:
    smallest = listed(opened(disk_rows="50"))[-1]
    at = opened()
    assert smallest not in listed(at)
    at.text_input[0].set_value(smallest.upper()).run()
    assert smallest in listed(at) and at.query_params["disk_find"] in (smallest.upper(), [smallest.upper()])
    assert "match and take" in captions(at) and len(measured) == 2, "once for each of the two pages"
    assert listed(opened(disk_find="no such run")) == []


def test_disk_is_measured_on_open_and_demand(measured: list[Settings]) -> None:
    at = opened()
    largest = next(iter(at.session_state[disk_list._MEASURED].bytes_by_run))
    (measured[0].runs_dir / largest / "server.log").write_bytes(b"")
    at.run()
    assert len(measured) == 1
    next(button for button in at.button if button.label == "Measure again").click().run()
    assert len(measured) == 2 and next(iter(at.session_state[disk_list._MEASURED].bytes_by_run)) != largest
    at.toggle[0].set_value(False).run()
    at.toggle[0].set_value(True).run()
    assert len(measured) == 3

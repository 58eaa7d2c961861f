"""The Runs page puts runs together, shows the columns that were chosen and keeps views; the address says it all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import WidgetList

from domain import Run
from reports.cache.run_cache import ReportCache
from settings import Settings
from storage.queries.note_queries import saved_views
from storage.store import Store
from tests.many_runs import HOSTILE, many_runs
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.runs.table.ticked_runs import TICKED

PAGE = """
import streamlit as st
from web.context import services
from web.runs.table.grouped_runs import choose_grouping, grouped_runs
from web.runs.table.run_filters import RunFilters, choose_order
from web.runs.table.run_listing import choices_of, listing
from web.runs.table.run_table import choose_columns, run_table, shown_columns
from web.runs.table.selection_bar import selection_bar
from web.saved_views import view_list

store = services().store
choices = choices_of(store)
wanted = choose_order(RunFilters(choices, {}).show())
by, speed = choose_grouping()
columns = choose_columns(choices)
view_list("runs")
found, lines, _ = listing(store, wanted, 1000)
columns = shown_columns(columns, choices, lines)
if by:
    grouped_runs(found, lines, by, speed, columns, {}, "")
else:
    run_table(found, lines, columns, {}, "all")
selection_bar(store, {run.id for run in found})
"""


@pytest.fixture(scope="module")
def grouped_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, list[Run]]]:
    store = Store.open(Settings(data_dir=tmp_path_factory.mktemp("groups") / "data"))
    yield store, many_runs(store)
    store.close()


@pytest.fixture
def store(
    grouped_store: tuple[Store, list[Run]], monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> Store:
    provide_services(SimpleNamespace(store=grouped_store[0], fleet=None, reports=ReportCache()))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # this stands here without the app's other pages
    return grouped_store[0]


def page(**params: str | list[str]) -> AppTest:
    return script_at(PAGE, **params)


def heads(at: AppTest) -> list[str]:
    return [button.label.replace("\\", "") for button in at.button if str(button.key).startswith("fold-")]


def numbers(at: AppTest) -> list[str]:
    return [body for element in at.get("html") if "pw-group" in (body := str(element.proto.body))]


def table_names(at: AppTest) -> list[list[str]]:
    return [list(dataframe.value["name"]) for dataframe in at.dataframe]


def test_arm_rows_have_interval_fastest_first(store: Store) -> None:
    at = page(group="arm")
    assert heads(at)[:3] == ["fp8 k=4", "fp8 k=2", "bf16 k=4"] and heads(at)[-1] == "did not start"
    assert "3 runs, 3 starts" in numbers(at)[0] and "pw-interval" in numbers(at)[0]
    assert at.dataframe == [] or not table_names(at), "nothing is folded out"


def test_single_start_has_no_interval(store: Store) -> None:
    at = page(group="arm")
    once = numbers(at)[heads(at).index(HOSTILE)]
    assert "one start: no interval" in once and "pw-interval" not in once
    unknown = numbers(at)[heads(at).index("did not start")]
    assert "not known for any start" in unknown and "<b>\u2013</b>" in unknown and "1 run, no value" in unknown


def test_field_groups_include_unstated_runs(store: Store) -> None:
    at = page(group="quantization")
    assert heads(at) == ["fp8", "not stated", "<i>q</i>"]
    assert "10 runs, 10 starts, 1 without a value" in numbers(at)[0]
    assert any("may contain several configurations" in caption.value for caption in at.caption)


def test_group_unfolds_by_address_and_click(store: Store) -> None:
    at = page(group="quantization", open="<i>q</i>")
    assert [[name.partition("#")[2] for name in names] for names in table_names(at)] == [[HOSTILE]]
    next(button for button in at.button if button.label == "not stated").click().run()
    assert at.query_params["open"] == ["<i>q</i>", "not stated"] and len(table_names(at)) == 2
    next(button for button in at.button if button.key == "fold-2").click().run()
    assert at.query_params["open"] in ("not stated", ["not stated"])


def test_groups_of_same_runs_unfold_together(store: Store) -> None:
    run_id = store.runs()[0].id
    store.notes.change([run_id], "operator", lambda note: note.model_copy(update={"tags": ("one", "two")}))
    assert len(table_names(page(group="tag", open=["one", "two"]))) == 2
    store.notes.change([run_id], "operator", lambda note: note.model_copy(update={"tags": ()}))


def test_group_boxes_tick_the_runs_of_groups(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[object]()

    def page_link(page: str, *, query_params: dict[str, object], **_: object) -> None:
        compared.extend([query_params["run"]] if page.endswith("compare.py") else [])

    monkeypatch.setattr("streamlit.page_link", page_link)
    at = page(group="arm", open=[])
    for box in (0, 1):
        at.checkbox[box].set_value(True).run()
    first_groups = {run.id for run in store.runs() if run.name.startswith(("fp8 k=4", "fp8 k=2"))}
    assert at.session_state[TICKED] == first_groups and set(compared[-1]) == first_groups
    assert [box.value for box in at.checkbox][:3] == [True, True, False]
    at.checkbox[0].set_value(False).run()
    assert at.session_state[TICKED] == {run.id for run in store.runs() if run.name.startswith("fp8 k=2")}


def test_table_shows_ticks_made_elsewhere(store: Store) -> None:
    at = page(group="quantization", open="<i>q</i>")
    (box,) = (box for box in at.checkbox if "<i>q" in box.label.replace("\\", ""))
    box.set_value(True).run()
    assert json.loads(at.dataframe[0].proto.selection_default)["selection"]["rows"] == [0]
    next(button for button in at.button if button.label == "Clear").click().run()
    assert json.loads(at.dataframe[0].proto.selection_default)["selection"]["rows"] == []
    assert not any(box.value for box in at.checkbox)


def test_columns_follow_the_address_order(store: Store) -> None:
    at = page(column=["acceptance", "state", "nonsense"])
    assert list(at.dataframe[0].proto.column_order) == ["color", "name", "acceptance", "state"]


def test_utc_start_is_an_optional_column(store: Store) -> None:
    assert "when_utc" not in page().dataframe[0].proto.column_order
    shown_in_utc = page(column=["when_utc"]).dataframe[0]
    assert list(shown_in_utc.proto.column_order) == ["color", "name", "when_utc"]
    assert '"timezone": "UTC"' in shown_in_utc.proto.columns and "Started (UTC)" in shown_in_utc.proto.columns


def test_empty_number_column_hides_unless_chosen(store: Store) -> None:
    proposed = list(page().dataframe[0].proto.column_order)
    none_known = list(page(state="failed").dataframe[0].proto.column_order)
    assert "stream" in proposed and "stream" not in none_known
    assert "stream" in page(state="failed", column=["stream", "when"]).dataframe[0].proto.column_order


def value_of(widgets: WidgetList[Any], label: str) -> object:
    """By its label: where the address was changed, its key is another."""
    return next(widget for widget in widgets if widget.label == label).value


def test_address_is_chosen_and_back_restores(store: Store) -> None:
    at = page(group="k", find="k=2")
    assert heads(at) == ["2"]
    at.selectbox(key="runs-group").set_value("quantization").run()
    assert at.query_params["group"] in ("quantization", ["quantization"]) and heads(at) == ["fp8", "not stated"]
    at.query_params["group"] = "k"  # as the browser's Back does
    at.run()
    assert value_of(at.selectbox, "Group by") == "k" and heads(at) == ["2"]
    del at.query_params["find"]
    at.run()
    assert value_of(at.text_input, "Find") == "" and len(heads(at)) > 3


def test_opening_a_page_keeps_the_address(store: Store) -> None:
    assert dict(page().query_params) == {}
    assert dict(page(group="nonsense").query_params) == {"group": "nonsense"}


def test_named_view_keeps_each_version(store: Store) -> None:
    at = page(group="k", find="fp8")
    at.session_state["runs-views"] = True  # as a press does
    at.run()
    for name in ("fast <b>ones", "fast <b>ones"):
        at.text_input[-1].set_value(name)
        next(button for button in at.button if button.label == "Save this view").click().run()
        assert not at.exception
    (view,) = saved_views(store, "runs")
    assert (view.name, view.version, view.query) == ("fast <b>ones", 2, "group=k&find=fp8")
    assert saved_views(store, "explore") == []
    next(button for button in at.button if button.label.startswith("Remove fast")).click().run()
    assert saved_views(store, "runs") == []
    versions = store.query("SELECT version, is_removed FROM saved_view_versions ORDER BY version").to_pylist()
    assert [tuple(row.values()) for row in versions] == [(1, False), (2, False), (3, True)]


def test_a_guest_neither_sees_nor_keeps_views(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    at = page()
    at.session_state["runs-views"] = True  # as a press does
    assert [one.label for one in at.run().button if one.label == "Save this view"] == []


def test_remote_runs_are_in_no_group_and_noted(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    away = {store.runs()[0].id}
    monkeypatch.setattr("web.runs.table.grouped_runs.away_ids", lambda runs: away)
    at = page(group="arm")
    assert "did not start" not in heads(at) and any("are in no group: 1." in caption.value for caption in at.caption)

"""Runs says of how many it shows a part, whatever is looked for, and shows more where somebody wants more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from analysis.metrics.registry import LIST_COLUMNS
from domain import WorkloadSpec
from reports.cache.run_cache import ReportCache
from settings import Settings
from storage.queries.run_queries import SORT_TEXTS, RunFilter, count_runs, find_runs
from storage.store import Store
from tests.many_runs import many_runs
from tests.web.app_page import script_at
from tests.web.conftest import ProvideServices
from web.runs.table.page_size import count_text, grouped_count_text
from web.runs.table.run_filters import ORDERS
from web.runs.table.run_listing import choices_of
from web.runs.table.run_table import COLUMNS, proposed_columns

PAGE = """
from web.context import services
from web.runs.table.grouped_runs import choose_grouping, grouped_runs
from web.runs.table.run_filters import RunFilters, choose_order
from web.runs.table.run_listing import choices_of, listing
from web.runs.table.run_table import OPTIONAL_COLUMNS, run_table
from web.runs.table.page_size import count_text, grouped_count_text, row_limit, show_more

store = services().store
choices = choices_of(store)
wanted = choose_order(RunFilters(choices, {}).show())
by, speed = choose_grouping()
found, lines, matching = listing(store, wanted, row_limit((5, 10)))
if by:
    grouped_runs(found, lines, by, speed, OPTIONAL_COLUMNS, {}, grouped_count_text(len(found), matching, wanted))
else:
    run_table(found, lines, OPTIONAL_COLUMNS, {}, count_text(len(found), matching, choices.runs, wanted))
show_more((5, 10), matching)
"""


@pytest.fixture(scope="module")
def stored_runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path_factory.mktemp("shown") / "data"))
    many_runs(store)
    yield store
    store.close()


@pytest.fixture
def store(stored_runs: Store, monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices) -> Store:
    provide_services(SimpleNamespace(store=stored_runs, fleet=None, reports=ReportCache()))
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")
    monkeypatch.setattr("streamlit.page_link", lambda *_, **__: None)  # this stands here without the app's other pages
    return stored_runs


def page(**params: str | list[str]) -> AppTest:
    return script_at(PAGE, **params)


def count_caption(at: AppTest) -> str:
    return next(
        caption.value for caption in at.caption if "runs that have ended" in caption.value or "groups" in caption.value
    )


def test_what_matches_is_counted_by_the_store(store: Store) -> None:
    run_filter = RunFilter(words=("fp8",), states=("finished",))
    assert count_runs(store, run_filter) == len(find_runs(store, run_filter, 100)) == 9
    assert count_runs(store, RunFilter(words=("it's $x {not} there",))) == 0


def test_partial_list_says_so_and_expands(store: Store) -> None:
    at = page(find="fp8", order="stream")
    assert len(at.dataframe[0].value) == 5
    assert (
        count_caption(at)
        == "the first 5 of 10 that match, of 20 runs that have ended (sorted by Stream, tok/s, descending)"
    )
    at.button(key="runs-more-rows").click().run()
    assert at.query_params["rows"] in ("10", ["10"]) and at.query_params["find"] in ("fp8", ["fp8"])
    assert len(at.dataframe[0].value) == 10 and count_caption(at) == "10 of 20 runs that have ended"
    assert [button for button in at.button if button.key == "runs-more-rows"] == []


def test_config_field_in_address_is_rarer_filter(store: Store) -> None:
    at = page(k=["2", "4"], quantization="fp8", rows="10")
    assert count_caption(at) == "6 of 20 runs that have ended"
    at.session_state["runs-more-filters"] = True  # as a press does
    at.run()
    assert at.multiselect(key="runs-k").value == ["2", "4"]
    assert "runs-model" not in {multiselect.key for multiselect in at.multiselect}, "all runs have the same"
    at.multiselect(key="runs-k").set_value(["8"]).run()
    assert at.query_params["k"] in ("8", ["8"]) and count_caption(at) == "1 of 20 runs that have ended"


def test_each_column_has_values_and_each_order_a_column(store: Store) -> None:
    assert set(page().dataframe[0].value) == set(COLUMNS)
    assert set(ORDERS) == {"newest", *LIST_COLUMNS, *SORT_TEXTS}
    assert set(ORDERS) - {"newest"} <= set(COLUMNS), "a press on a column's head sorts by it"


def test_a_table_gets_no_column_that_is_not_shown(store: Store) -> None:
    assert list(script_at(PAGE.replace("OPTIONAL_COLUMNS, {}", '["stream"], {}')).dataframe[0].value) == [
        "color",
        "name",
        "stream",
    ]


def test_reversed_order_keeps_unknown_last(store: Store) -> None:
    lowest = page(order="output", reversed="1", rows="10")
    output = list(lowest.dataframe[0].value["output"])
    assert output == sorted(output) and count_caption(lowest).endswith("(sorted by Output, tok/s, ascending)")
    lowest.toggle(key="runs-reversed").set_value(False).run()
    highest = list(lowest.dataframe[0].value["output"])
    assert highest == sorted(highest, reverse=True) and "reversed" not in lowest.query_params


def label_of(at: AppTest, column: str) -> str:
    return str(json.loads(at.dataframe[0].proto.columns)[column]["label"])


def test_head_of_the_order_shows_its_direction(store: Store) -> None:
    newest = page()
    assert (label_of(newest, "when"), label_of(newest, "stream")) == ("Started \u2193", "Stream, tok/s")
    assert label_of(page(order="stream", reversed="1"), "stream") == "Stream, tok/s \u2191"
    by_name = page(order="name")
    assert label_of(by_name, "name") == "Run \u2191" and by_name.toggle(key="runs-reversed").label == "Descending"
    assert newest.toggle(key="runs-reversed").label == "Ascending"


def test_cleared_filters_leave_order_and_groups(store: Store) -> None:
    script = "from web.runs.table.run_filters import show_no_match\nshow_no_match()"
    params = {"find": "x", "state": "failed", "k": "2", "started": "day", "order": "stream", "group": "arm"}
    at = script_at(script, **params)
    at.button(key="clear-filters").click().run()
    assert set(at.query_params) == {"order", "group"}


def test_leading_columns_are_what_runs_are_told_by(store: Store) -> None:
    leading = ["name", "star", "config", "stream", "output", "tokens_per_step"]
    assert list(COLUMNS)[1:7] == leading
    columns = list(COLUMNS)
    assert columns.index("acceptance") + 1 == columns.index("state") == columns.index("when") - 1
    assert columns.index("when") < min(columns.index(name) for name in ("printed", "stated", "typical"))


def test_configuration_begins_with_its_settings_and_ends_with_the_model(store: Store) -> None:
    texts = page(column=["config"]).dataframe[0].value["config"]
    assert "vLLM · fp8 · ngram k=8 · org" in set(texts)


def test_phone_shows_a_number_beside_the_name(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    choices = choices_of(store)
    assert proposed_columns(choices)[:3] == ["star", "config", "stream"]
    monkeypatch.setattr("web.runs.table.run_table.is_phone", lambda: True)
    columns = proposed_columns(choices)
    assert columns[0] == "stream" and sorted(columns[-2:]) == ["config", "star"]


def test_equal_configs_group_with_unknown_last(store: Store, tmp_path: Path) -> None:
    run_filter = RunFilter(states=("finished",), order_by="config")
    configs = [run.config for run in find_runs(store, run_filter, 100)]
    rows = [(config.quantization, config.speculative and config.speculative.num_tokens) for config in configs]
    bold, none = ("<i>q</i>", 1), (None, None)
    assert list(dict.fromkeys(rows)) == [none, bold, ("fp8", None), ("fp8", 2), ("fp8", 4), (None, 2), (None, 4)]
    with closing(Store.open(Settings(data_dir=tmp_path))) as other_connection:
        (ladder,) = find_runs(store, run_filter, 1)
        for run_id, workload in (("a", "agents"), ("none", None), ("z", "ladder")):
            spec = WorkloadSpec(name=workload) if workload else None
            other_connection.save_run(ladder.model_copy(update={"id": run_id, "workload": spec}))
        for is_reversed, ids in ((False, ["a", "z", "none"]), (True, ["z", "a", "none"])):
            by_workload = find_runs(other_connection, RunFilter(order_by="workload", is_reversed=is_reversed), 9)
            assert [run.id for run in by_workload] == ids


def test_a_pinned_column_stands_beside_the_name(store: Store) -> None:
    with_columns = PAGE.replace(
        "lines, OPTIONAL_COLUMNS, {}, count_text(", "lines, choose_columns(choices), {}, count_text("
    )
    at = AppTest.from_string(with_columns.replace("run_table\n", "choose_columns, run_table\n", 1), default_timeout=60)
    at.query_params["pin"] = ["output"]
    at.run()
    assert not at.exception, at.exception
    proto = at.dataframe[0].proto
    assert json.loads(proto.columns)["output"]["pinned"] is True
    assert list(proto.column_order)[:3] == ["color", "name", "output"]
    assert list(proto.column_order).count("output") == 1


def test_groups_of_a_part_say_of_which(store: Store) -> None:
    assert " groups of the first 5 of 20 (newest first). " in count_caption(page(group="k"))
    assert " groups of 10 runs. " in count_caption(page(group="k", find="fp8", rows="10"))


def test_the_words_for_a_whole_and_for_a_part() -> None:
    everything, some = RunFilter(), RunFilter(states=("failed",))
    assert count_text(200, 254, 254, everything) == "the first 200 of 254 runs that have ended (newest first)"
    assert count_text(3, 3, 254, some) == "3 of 254 runs that have ended"
    assert grouped_count_text(1000, 1000, some) == ""

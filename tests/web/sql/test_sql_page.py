"""The SQL page: what stands in its address is asked and drawn, what was asked is remembered, a plan is shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from streamlit.runtime.scriptrunner import StopException
from streamlit.testing.v1 import AppTest

from machine.run_with_timeout import run_bounded
from settings import Settings
from storage.published_query import Params
from storage.sandbox.client import Sandbox
from storage.sandbox.job import SqlAnswer
from storage.store import Store
from tests.e2e.pitwall_process import wait_until
from tests.many_runs import many_runs
from tests.web.app_page import page_at, still_charts
from tests.web.conftest import ProvideServices
from web.context import services
from web.sql.completion import completions
from web.sql.history import QueryHistory
from web.sql.questions import QUESTIONS
from web.sql.sql_page import linked_names

ROOT = Path(__file__).resolve().parents[3]
PAGE = str(ROOT / "pages" / "sql.py")
SQL = "SELECT name, speculative_num_tokens AS k, time_to_ready_s FROM runs ORDER BY run_id"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("sql") / "data")
    store = Store.open(settings)
    many_runs(store)
    store.publish()
    yield store, settings
    store.close()


@pytest.fixture(autouse=True)
def operator(
    folder: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> None:
    store, settings = folder
    provided = SimpleNamespace(
        store=store, settings=settings, sandbox=Sandbox(settings, run_bounded), fleet=None, lake_sandbox=None,
        sql_history=QueryHistory(),
    )  # fmt: skip
    provide_services(provided)
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "operator")


def page(**params: str | list[str]) -> AppTest:
    return page_at(PAGE, **params)


def press(at: AppTest, label: str) -> None:
    next(button for button in at.button if button.label == label).click().run()
    assert not at.exception, at.exception


def page_text(at: AppTest) -> str:
    return " ".join(str(element.value) for element in (*at.markdown, *at.caption, *at.error, *at.info))


def test_the_address_is_asked_and_its_chart_drawn(folder: tuple[Store, Settings]) -> None:
    at = page(sql=SQL, draw="point", x="k", y="time_to_ready_s", color="")
    assert "20 rows in" in page_text(at) and len(still_charts(at)) == 1
    assert "Not drawn: 6 points with a null value" in page_text(at)
    assert at.selectbox(key="sql-x").value == "k"


def test_editor_finds_view_columns_once(folder: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.sql.completion._macros", {})
    store, described = folder[0], []

    def counting_query(sql: str, params: Params | None = None) -> pa.Table:
        described.extend(["DESCRIBE"] * sql.startswith("DESCRIBE"))
        return store.query(sql, params)

    known_completions = completions(counting_query)
    assert (
        "decode_tps" in known_completions["run_windows"]
        and "name" in known_completions["runs"]
        and "name" in known_completions["runs_found"]
    )
    times = len(described)
    assert completions(counting_query) == known_completions and len(described) == times > 10
    monkeypatch.setattr("web.sql.completion.views_version", lambda query: "of another Pitwall")
    completions(counting_query)
    assert len(described) == 2 * times, "other views may have other columns"


def test_without_an_address_nothing_is_asked() -> None:
    at = page()
    assert "rows in" not in page_text(at) and dict(at.query_params) == {}


def test_a_statement_outlives_the_rerun_that_it_ran_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """A press ends the script at its next use of the session, in the middle of a statement too."""
    sandbox = services().sandbox
    monkeypatch.setattr(services(), "sandbox", SimpleNamespace(ask=ended_by_a_press))
    at = page(sql="SELECT 1 AS one")
    monkeypatch.setattr(services(), "sandbox", sandbox)
    assert "1 row in" in page_text(at.run())


def ended_by_a_press(_sql: str) -> SqlAnswer:
    raise StopException


def test_query_goes_to_address_and_keeps_chart() -> None:
    at = page(draw="bar")
    press(at, "Run")
    assert "SELECT name, state" in at.query_params["sql"] and at.query_params["draw"] in ("bar", ["bar"])
    assert "20 rows in" in page_text(at)


def test_back_asks_the_earlier_question_again() -> None:
    at = page(sql="SELECT 1 AS one")
    at.query_params["sql"] = SQL
    at.run()
    assert "20 rows in" in page_text(at)
    at.query_params["sql"] = "SELECT 1 AS one"
    at.run()
    assert "1 row in" in page_text(at)


def saved_query(settings: Settings, words: str) -> None:
    settings.queries_dir.mkdir(exist_ok=True)
    (settings.queries_dir / "kept.sql").write_text(f"-- shown: {words}\n{SQL}")


def test_open_panels_stay_on_another_query() -> None:
    at = page(fold="macros", view="requests")
    assert at.selectbox(key="sql-view").value == "requests"
    press(at, "Run")
    at.button(key="asked-0").click().run()
    assert "20 rows in" in page_text(at)
    assert (at.query_params["fold"], at.query_params["view"]) == ("macros", "requests")
    assert [expander.label for expander in at.expander if expander.proto.expanded] == ["Table macros"]


@pytest.mark.wide
def test_saved_query_returns_as_drawn(folder: tuple[Store, Settings]) -> None:
    at = page(sql=SQL, draw="point", x="k", y="time_to_ready_s", color="name")
    at.text_input(key="sql-name").set_value("as drawn").run()
    press(at, "Save")
    words = {name: at.query_params[name] for name in ("draw", "x", "color")}
    assert at.query_params["query"] in ("as drawn", ["as drawn"]), "and the address says how"
    assert [*words.values()] in (["point", "k", "name"], [["point"], ["k"], ["name"]])
    figure = still_charts(at)[0]["figure"]

    alone = page(query="as drawn")
    assert still_charts(alone)[0]["figure"] == figure and set(alone.query_params) == {"query"}
    alone.segmented_control(key="sql-draw").set_value("table").run()
    assert not still_charts(alone) and alone.query_params["draw"] in ("table", ["table"])
    opened = page(sql="SELECT 1 AS one")
    press(opened, "as drawn")
    assert still_charts(opened)[0]["figure"] == figure
    assert opened.query_params["draw"] in ("point", ["point"])
    opened.text_input(key="sql-name").set_value("").run()
    press(opened, "Run")
    assert "sql" in opened.query_params and still_charts(opened)[0]["figure"] == figure


def test_foreign_words_in_a_file_are_skipped(folder: tuple[Store, Settings]) -> None:
    saved_query(folder[1], "sql=DROP+VIEW+runs&query=x&share=y&draw=pie&machines=all&x=%3Cb%3E")
    at = page(query="kept")
    assert "20 rows in" in page_text(at) and not still_charts(at) and set(at.query_params) == {"query"}
    opened = page(sql="SELECT 1 AS one")
    press(opened, "kept")
    assert set(opened.query_params) == {"query", "draw", "x", "machines"} and "20 rows in" in page_text(opened)
    saved_query(folder[1], "draw=point&x=nonsense&y=name&y=k&color=" + "z" * 500)
    at = page(query="kept")
    assert len(still_charts(at)) == 1 and at.selectbox(key="sql-x").value == "k"


@pytest.mark.wide
def test_explain_shows_the_plan_without_doubling() -> None:
    at = page(sql=SQL)
    press(at, "Explain")
    assert at.query_params["sql"] == "EXPLAIN " + SQL and "PROJECTION" in plan(at)
    at = page(sql="EXPLAIN " + SQL)
    press(at, "Explain")
    assert "PROJECTION" in plan(at)


def plan(at: AppTest) -> str:
    return next(body for element in at.get("html") if "pw-pre" in (body := str(element.proto.body)))


@pytest.mark.wide
def test_what_was_asked_before_is_one_press_away() -> None:
    at = page(sql="SELECT 1 AS one")
    at.query_params["sql"] = SQL
    at.run()
    press(at, "SELECT 1 AS one")
    assert at.query_params["sql"] in ("SELECT 1 AS one", ["SELECT 1 AS one"]) and "1 row in" in page_text(at)


def test_what_was_asked_is_there_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sql_page", "sql_request"):
        monkeypatch.setattr(f"web.sql.{module}.current_session_id", lambda: "ann")
    kept_tmp_path = tmp_path / "asked.json"
    for label in ("", "SELECT 1 AS one"):
        monkeypatch.setattr(services(), "sql_history", QueryHistory(kept_tmp_path))
        at = page() if label else page(sql="SELECT 1 AS one")
        wait_until(kept_tmp_path.exists, 60)
    press(at, "SELECT 1 AS one")
    assert "1 row in" in page_text(at)


def test_refusal_is_a_sentence_and_is_remembered() -> None:
    at = page(sql="DROP VIEW runs")
    assert "Only a SELECT can be run here" in page_text(at)
    assert [entry.outcome for entry in services().sql_history.entries("")] == [
        "Only a SELECT can be run here: the store is read, never changed."
    ]


def test_a_guest_may_ask_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.actions.current_role", lambda: "guest")
    assert [one.value for one in page(sql=SQL).info] == [
        "A shared link shows only its own runs."
    ] and services().sql_history.entries("") == []


@pytest.mark.parametrize("across", ["'x'::BLOB", "'infinity'::TIMESTAMP", "'-infinity'::DATE", "'101'::BIT"])
def test_what_no_axis_has_leaves_the_page_whole(across: str) -> None:
    at = page(sql=f"SELECT {across} AS a, 1 AS n", draw="line", x="a")
    assert len(still_charts(at)) == 1 and ("Not drawn: 1 point" in page_text(at)) == ("infinity" in across)


class FakeLake:
    """A FAKE lake: every statement is answered with one row, by which it is known that it was asked."""

    def ask(self, sql: str) -> SqlAnswer:
        return SqlAnswer(pa.table({"machine_id": ["of-another-box"]}), 7.0, False)


@pytest.fixture
def with_a_lake(operator: None, monkeypatch: pytest.MonkeyPatch) -> None:
    provided = services()
    monkeypatch.setattr(provided, "fleet", SimpleNamespace(is_configured=True), raising=False)
    monkeypatch.setattr(provided, "lake_sandbox", FakeLake())


@pytest.mark.usefixtures("with_a_lake")
def test_operator_queries_all_kept_in_address() -> None:
    at = page(sql="SELECT 1 AS one", machines="all")
    assert at.dataframe[0].value.to_dict("list") == {"machine_id": ["of-another-box"]}
    assert "all machines\\: 1 row in 7 ms" in page_text(at)
    at = page(sql="SELECT 1 AS one")
    assert at.dataframe[0].value.to_dict("list") == {"one": [1]}
    next(
        segmented_control for segmented_control in at.segmented_control if segmented_control.label == "Runs of"
    ).set_value("all").run()
    press(at, "Run")
    assert at.query_params["machines"] in ("all", ["all"])
    assert at.dataframe[0].value.to_dict("list") == {"machine_id": ["of-another-box"]}


@pytest.mark.usefixtures("with_a_lake")
def test_saved_query_keeps_its_run_scope(folder: tuple[Store, Settings]) -> None:
    at = page(sql=SQL, machines="all")
    at.text_input(key="sql-name").set_value("of all").run()
    press(at, "Save")
    assert at.query_params["machines"] in ("all", ["all"])
    assert page(query="of all").dataframe[0].value.to_dict("list") == {"machine_id": ["of-another-box"]}
    of_mine = page(query="of all", machines="mine")
    assert of_mine.dataframe[0].value.columns[0] == "name", "what the address says counts"


@pytest.mark.usefixtures("with_a_lake")
def test_nobody_else_asks_all_machines(folder: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("web.actions", "web.access.roles"):
        monkeypatch.setattr(f"{room}.current_role", lambda: "viewer")
    saved_query(folder[1], "machines=all")
    for at in (page(query="kept"), page(query="kept", machines="all")):
        assert at.dataframe[0].value.columns[0] == "name"
    at = page(sql="SELECT 1 AS one", machines="all")
    assert at.dataframe[0].value.to_dict("list") == {"one": [1]}
    assert not [segmented_control for segmented_control in at.segmented_control if segmented_control.label == "Runs of"]


def test_a_long_answer_is_not_sent_with_the_page() -> None:
    long = "SELECT range AS n, repeat('x', 30) AS words FROM range(60000)"
    at = page(sql=long)
    (links,) = (element.proto.body for element in at.get("html") if "Download as" in element.proto.body)
    address = f"answer?{urlencode({'sql': long, 'as': 'csv', 'name': 'query'})}"
    assert f'<a href="{escape(address)}" target="_self">CSV</a>' in links and not at.get("download_button")
    assert len(page(sql="SELECT 1 AS one").get("download_button")) == 2
    at = page(sql=f"{long} -- {'x' * 20_000}")
    assert "too long for a URL" in page_text(at) and not any(
        "Download" in element.proto.body for element in at.get("html")
    )


def test_readme_questions_stand_there_and_run() -> None:
    readme = re.findall(r"```sql\n-- (.+?)\n(.+?)\n```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert [(question.title, question.sql) for question in QUESTIONS] == readme
    at = page()
    press(at, QUESTIONS[0].title)
    assert at.query_params["sql"] in (QUESTIONS[0].sql, [QUESTIONS[0].sql])
    assert "20 rows in" in page_text(at)


def test_name_beside_run_id_links_to_the_run() -> None:
    table = pa.table({"name": ["a #1", None], "run_id": ["r&1", "r2"], "k": [1, 2]})
    assert linked_names(table)["name"].to_pylist() == ["run?run=r%261#a #1", None]
    assert linked_names(table.drop_columns("run_id"))["name"].to_pylist() == ["a #1", None], "of whom is not known"

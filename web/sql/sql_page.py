"""The parts of the SQL page: the editor, the result, the history, the saved queries and the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import streamlit as st

from storage.sandbox.job import SqlAnswer
from storage.user_sql.saved_queries import SavedQueries
from storage.user_sql.schema import read_macros, read_views
from web import audit, markup
from web.access.roles import current_session_id
from web.actions import Once, is_editor, require_editor, require_member
from web.context import services
from web.fleet import ALL, SCOPE, SCOPES
from web.markup import markdown_text
from web.sql.completion import completions
from web.sql.data_source import choose_scope, current_scope
from web.sql.display_options import PANEL_PARAMS, VIEW, current_params, known_params, take_saved
from web.sql.downloads import show_downloads
from web.sql.editor import current_text, put_text, show_sql_editor
from web.sql.questions import QUESTIONS
from web.sql.sql_chart import TABLE, choose_kind, show_chart
from web.sql.sql_request import SqlRequest, describe_result
from web.times import SECONDS, format_time, utc_help
from web.url_state import address_button, choose_one, set_address, url_expander

EXAMPLE = (
    "SELECT name, state, engine, model, speculative_method, time_to_ready_s\nFROM runs ORDER BY run_id DESC LIMIT 20"
)
LONGEST_LABEL = 60
VIEW_PX = 460  # a view may have sixty columns: they scroll beside the result
MOST_SHOWN = 5_000  # rows sent to the browser; downloads contain all of them
ADDRESS, NAME = "sql-address", "sql-name"
REQUEST = "sql-request"  # session state: the statement whose rows are shown
UNSAVED = "sql-unsaved"  # session state: why the statement was not saved
CHOICES = ("sql-draw", "sql-x", "sql-y", "sql-color", "sql-machines")  # widget keys, reset from the address
PLAN = ["explain_key", "explain_value"]  # the result columns of EXPLAIN
EXPLAIN = "EXPLAIN "
RUN_ID, RUN_NAME = "run_id", "name"  # result columns that name a run


def load_address() -> None:
    """Take over the address's `?query=<saved name>` or `?sql=<statement>`; without either, show an example."""
    name, sql = st.query_params.get("query"), st.query_params.get("sql")
    if st.session_state.get(ADDRESS) == (name, sql):
        return
    saved_query = _saved().read(name) if name else None
    st.session_state[NAME] = name or ""
    for key in (REQUEST, *CHOICES):
        st.session_state.pop(key, None)
    take_saved(saved_query.display if saved_query else {})
    statement = saved_query.sql if saved_query else sql
    put_text(statement or EXAMPLE)
    if name and saved_query is None:
        st.warning(f"No query is saved as {markdown_text(name)}.")
    elif statement:
        st.session_state[REQUEST] = SqlRequest(statement, current_scope())
    st.session_state[ADDRESS] = (name, sql)  # last: a rerun may interrupt this one anywhere before


def show_editor() -> None:
    """Show the editor with its buttons to run (also Ctrl+Enter), explain and save the statement."""
    choose_scope()
    show_sql_editor(completions(services().store.query), on_run=_run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Run", type="primary", on_click=_run, icon=":material/play_arrow:", help="Ctrl+Enter in the editor")
        st.button(
            "Explain", on_click=_run, args=(EXPLAIN,), icon=":material/account_tree:", help="Shows the query plan"
        )
        if is_editor():
            st.text_input("Name", key=NAME, placeholder="a name to save it under", label_visibility="collapsed")
            st.button("Save", on_click=Once(_save))


def _run(before: str = "") -> None:
    """Run the editor's statement and put it into the address; the display options stay."""
    require_member()
    text = current_text()
    sql = text if text.lstrip().upper().startswith(EXPLAIN) else before + text
    st.session_state[REQUEST] = SqlRequest(sql, current_scope())
    name = str(st.session_state.get(NAME) or "")
    saved_query = _saved().read(name) if name else None
    is_saved = saved_query is not None and saved_query.sql == sql
    query_params = {"query": [name]} if is_saved else {"sql": [sql]}
    st.session_state[ADDRESS] = (name, None) if is_saved else (None, sql)
    if st.session_state[ADDRESS] != (st.query_params.get("query"), st.query_params.get("sql")):
        set_address({**query_params, **current_params()}, PANEL_PARAMS)
        take_saved(saved_query.display if saved_query and is_saved else {})


def _save() -> None:
    require_editor()
    name, sql, params = st.session_state[NAME].strip(), current_text(), current_params()
    try:
        _saved().save(name, sql, params)
    except (ValueError, OSError) as error:
        st.session_state[UNSAVED] = str(error)
        return
    audit.record("save query", detail=name)
    put_text(sql)
    take_saved(params)
    st.session_state[ADDRESS] = (name, None)
    set_address({"query": [name], **params}, PANEL_PARAMS)


def show_answer() -> None:
    """Run the statement and show its rows as a table or a chart, or the reason why there are none."""
    if unsaved_reason := st.session_state.pop(UNSAVED, None):
        st.error(markdown_text(unsaved_reason))
    request: SqlRequest | None = st.session_state.get(REQUEST)
    if request is None:
        st.caption("The rows appear here, as a table, a chart or a file. Ctrl+Enter runs the statement.")
        _show_questions()
    elif isinstance(outcome := request.outcome(), str):
        st.error(markdown_text(outcome))
    else:
        _show_rows(request, outcome)


def _show_questions() -> None:
    """Show the questions to start from, as links that run their statements."""
    st.markdown("**Questions to start from**")
    with st.container(gap=None, key="sql-questions"):
        for index, question in enumerate(QUESTIONS):
            address_button(question.title, f"question-{index}", {"sql": [question.sql]}, PANEL_PARAMS)


def linked_names(table: pa.Table) -> pa.Table:
    """Return the table with each run's name as a link to its page, where `run_id` stands beside `name`."""
    if not {RUN_ID, RUN_NAME} <= set(table.column_names):
        return table
    pairs = zip(table[RUN_ID].to_pylist(), table[RUN_NAME].to_pylist(), strict=True)
    links = [markup.named_run_link(run_id, str(name)) if run_id and name else None for run_id, name in pairs]
    return table.set_column(table.column_names.index(RUN_NAME), RUN_NAME, pa.array(links, pa.string()))


def _show_rows(request: SqlRequest, result: SqlAnswer) -> None:
    if result.table.column_names == PLAN:
        for plan in result.table[PLAN[1]].to_pylist():
            st.html(markup.preformatted(plan, "plan"))
        return
    cut = " The result was cut off there: aggregate or filter." if result.truncated else ""
    shown_note = f" The first {MOST_SHOWN:,} are shown." if result.table.num_rows > MOST_SHOWN else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{describe_result(result)}.{cut}{shown_note}")
        show_downloads(result, request.sql, request.scope, st.session_state.get(NAME) or "query")
    if (kind := choose_kind()) == TABLE:
        shown_rows = linked_names(result.table.slice(0, MOST_SHOWN))
        columns = (
            {RUN_NAME: st.column_config.LinkColumn(display_text=r"#(.+)$")} if RUN_ID in shown_rows.column_names else {}
        )
        st.dataframe(shown_rows, hide_index=True, placeholder="NULL", column_config=columns)
    else:
        show_chart(result.table, kind)


def show_history() -> None:
    """Show this browser's statements, the newest first, as links."""
    entries = services().sql_history.entries(current_session_id() or "")
    if not entries:
        return
    with url_expander("History", "asked", "sql", ":material/history:"):
        for index, entry in enumerate(entries):
            first = next((line for line in entry.sql.splitlines() if line.strip()), "")[:LONGEST_LABEL]
            scope_param = {SCOPE: [ALL]} if entry.scope == ALL else {}
            address_button(markdown_text(first), f"asked-{index}", {"sql": [entry.sql], **scope_param}, PANEL_PARAMS)
            scope_label = f", {SCOPES[ALL].lower()}" if scope_param else ""
            caption = f"{format_time(entry.at, SECONDS)}{scope_label}: {entry.outcome}"
            st.caption(markdown_text(caption), help=utc_help(asked=entry.at))


def show_saved() -> None:
    """Show the saved queries as links."""
    names = _saved().names()
    if names:
        st.markdown("**Saved**")
    for name in names:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            label = markdown_text(name)
            st.button(label, key=f"open-{name}", type="tertiary", on_click=_open, args=(name,), width="content")
            if is_editor():
                st.button("Delete", key=f"delete-{name}", on_click=Once(_delete), args=(name,), type="tertiary")


def _open(name: str) -> None:
    saved_query = _saved().read(name)
    set_address({"query": [name], **(known_params(saved_query.display) if saved_query else {})}, PANEL_PARAMS)


def _delete(name: str) -> None:
    require_editor()
    _saved().delete(name)
    audit.record("delete query", detail=name)
    if st.query_params.get("query") == name:
        st.session_state[ADDRESS] = (None, None)
        set_address({}, PANEL_PARAMS)


def show_schema() -> None:
    """Show one view at a time with its columns and their meaning, and folded, the macros and the API."""
    views = read_views(services().store.query)
    names = {name: name for name in views}
    _show_view(views[choose_one("Views and their columns", VIEW, "sql", names, next(iter(views)), "stretch")])
    with url_expander("Table macros", "macros", "sql"):
        for text in read_macros(services().store.query):
            st.caption(markdown_text(text))
    with url_expander("From a program", "program", "sql"):
        st.caption(
            "`POST /api/sql` returns JSON, CSV, Arrow or Parquet (docs/http-sql.md). It needs a token from "
            "`./pitwall token make sql:read`, or from *Links and changes* on Runs."
        )


def _show_view(columns: Sequence[Mapping[str, Any]]) -> None:
    st.caption(markdown_text(columns[0]["about"]))
    rows = [
        [f"<code>{markup.text(row['name'])}</code><br><small>{markup.text(row['type'])}</small>",
         markup.text(row["meaning"])]
        for row in columns
    ]  # fmt: skip
    with st.container(height=VIEW_PX, key="sql-columns"):
        st.html(markup.table(["column", "meaning"], rows, wraps=True))


def _saved() -> SavedQueries:
    return SavedQueries(services().settings.queries_dir)

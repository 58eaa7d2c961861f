"""The parts of the SQL page: the editor with its saved queries, the answer, and the schema beside them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from storage.ask.formats import as_csv, as_parquet
from storage.ask.saved_queries import SavedQueries
from storage.ask.schema import read_macros, read_views
from storage.sandbox.job import Answer, SqlRefusedError
from web import audit, markup, places
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text
from web.sql.sql_chart import chart

FIRST = (
    "SELECT name, state, engine, model, speculative_method, time_to_ready_s\nFROM runs ORDER BY run_id DESC LIMIT 20"
)
MOST_SHOWN = 5_000  # rows that the browser gets at once; the downloads have them all
ADDRESS, TEXT, ANSWER, NAME = "sql-address", "sql-text", "sql-answer", "sql-name"


def take_address() -> None:
    """Put what the address names into the editor: `?query=<saved name>`, which is run too, or `?sql=<statement>`."""
    name, sql = st.query_params.get("query"), st.query_params.get("sql")
    if st.session_state.get(ADDRESS) == (name, sql) and TEXT in st.session_state:
        return
    kept = _saved().read(name) if name else None
    st.session_state[ADDRESS] = (name, sql)
    st.session_state[TEXT] = kept or sql or FIRST
    st.session_state[NAME] = name or ""
    st.session_state.pop(ANSWER, None)
    if name and kept is None:
        st.warning(f"No query is saved as {markdown_text(name)}.")
    elif kept:
        _run()


def editor() -> None:
    """The statement, to be run (Ctrl+Enter too) or saved."""
    with st.form("sql", border=False):
        st.text_area("SQL: one SELECT over the views", key=TEXT, height=220)
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.form_submit_button("Run", type="primary", on_click=_run, icon=":material/play_arrow:")
            st.text_input("Name", key=NAME, placeholder="a name to save it under", label_visibility="collapsed")
            st.form_submit_button("Save", on_click=_save)


def _run() -> None:
    require_operator()
    sql = st.session_state[TEXT]
    try:
        st.session_state[ANSWER] = services().sandbox.ask(sql)
    except SqlRefusedError as refusal:
        st.session_state[ANSWER] = str(refusal)


def _save() -> None:
    require_operator()
    name = st.session_state[NAME].strip()
    try:
        _saved().save(name, st.session_state[TEXT])
    except (ValueError, OSError) as error:
        st.session_state[ANSWER] = str(error)
        return
    audit.record("save query", detail=name)
    st.session_state[ADDRESS] = (name, None)
    st.query_params.from_dict({"query": name})


def answer() -> None:
    """What the last run gave: the rows as a table and a chart, or why there are none."""
    found = st.session_state.get(ANSWER)
    if isinstance(found, str):
        st.error(markdown_text(found))
    elif isinstance(found, Answer):
        _rows(found)


def _rows(found: Answer) -> None:
    rows = found.table.num_rows
    cut = " The answer was cut there: aggregate, or filter." if found.truncated else ""
    shown = f" The first {MOST_SHOWN:,} are shown." if rows > MOST_SHOWN else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{rows:,} {'row' if rows == 1 else 'rows'} in {found.elapsed_ms:,.0f} ms.{cut}{shown}")
        name = st.session_state.get(NAME) or "query"
        _download("CSV", f"{name}.csv", "text/csv", lambda: as_csv(found))
        _download("Parquet", f"{name}.parquet", "application/vnd.apache.parquet", lambda: as_parquet(found))
    table, plot = st.tabs(["Table", "Chart"])
    with table:
        st.dataframe(found.table.slice(0, MOST_SHOWN), hide_index=True)
    with plot:
        chart(found.table)


def _download(label: str, name: str, kind: str, make: Callable[[], bytes]) -> None:
    """A button whose file is made when it is pressed."""
    st.download_button(label, make, name, kind, on_click="ignore", icon=":material/download:")


def saved() -> None:
    """The queries that were kept, each with its address."""
    names = _saved().names()
    if names:
        st.markdown("**Saved**")
    for name in names:
        with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
            st.page_link(places.SQL, label=markdown_text(name), query_params={"query": name})
            st.button("Delete", key=f"delete-{name}", on_click=_delete, args=(name,), type="tertiary")


def _delete(name: str) -> None:
    require_operator()
    _saved().delete(name)
    audit.record("delete query", detail=name)
    if st.query_params.get("query") == name:
        st.session_state[ADDRESS] = (None, None)
        st.query_params.clear()


def schema() -> None:
    """The views with their columns and what they mean."""
    st.markdown("**Views**")
    with st.container(gap="xxsmall"):
        _views()


def _views() -> None:
    store = services().store
    for view, columns in read_views(store.query).items():
        with st.expander(view):
            st.caption(markdown_text(columns[0]["about"]))
            rows = [
                [f"<code>{markup.text(row['name'])}</code><br><small>{markup.text(row['type'])}</small>",
                 markup.text(row["meaning"])]
                for row in columns
            ]  # fmt: skip
            st.html(markup.table(["column", "meaning"], rows, wraps=True))
    with st.expander("Table macros"):
        for words in read_macros(store.query):
            st.caption(markdown_text(words))
    with st.expander("From a program"):
        st.caption(
            "POST /api/sql answers as JSON, CSV, Arrow or Parquet (docs/http-sql.md). Its token is in "
            f"{markdown_text(str(services().settings.api_token_path))}."
        )


def _saved() -> SavedQueries:
    return SavedQueries(services().settings.queries_dir)

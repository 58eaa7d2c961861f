"""The parts of the SQL page: the editor with its saved queries, the answer, and the schema beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import streamlit as st

from storage.ask.free_sql.saved_queries import SavedQueries
from storage.ask.free_sql.schema import read_macros, read_views
from storage.sandbox.job import Answer, SqlRefusedError
from web import audit, markup
from web.access.roles import current_session_id
from web.actions import Once, is_editor, require_editor, require_member
from web.context import services
from web.fleet import ALL, SCOPE, SCOPES
from web.kept import address_button, choose_one, fold, say
from web.markup import markdown_text
from web.moments import SECONDS, in_utc, moment
from web.sql.asked import Question
from web.sql.completion import completions
from web.sql.downloads import downloads
from web.sql.editor import put_text, sql_editor, text_now
from web.sql.shown import BESIDE, VIEW, known_words, shown_now, take_saved
from web.sql.sql_chart import TABLE, chart, choose_kind
from web.sql.whose import choose_whose, sandbox_of, whose

FIRST = (
    "SELECT name, state, engine, model, speculative_method, time_to_ready_s\nFROM runs ORDER BY run_id DESC LIMIT 20"
)
LONGEST_LABEL = 60
VIEW_PX = 460  # a view may have sixty columns: they scroll beside the answer
MOST_SHOWN = 5_000  # rows that the browser gets at once; the downloads have them all
ADDRESS, ANSWER, NAME = "sql-address", "sql-answer", "sql-name"
ANSWERED = "sql-answered"  # the statement, and whose runs it was asked of
CHOICES = ("sql-draw", "sql-x", "sql-y", "sql-color", "sql-machines")  # keys of widgets: the address says them anew
PLAN = ["explain_key", "explain_value"]  # the columns of what EXPLAIN answers
EXPLAIN = "EXPLAIN "


def take_address() -> None:
    """Ask what the address names: `?query=<saved name>` or `?sql=<statement>`; without either, show an example."""
    name, sql = st.query_params.get("query"), st.query_params.get("sql")
    if st.session_state.get(ADDRESS) == (name, sql):
        return
    kept = _saved().read(name) if name else None
    st.session_state[ADDRESS] = (name, sql)
    st.session_state[NAME] = name or ""
    for key in (ANSWER, *CHOICES):
        st.session_state.pop(key, None)
    take_saved(kept.shown if kept else {})
    asked = kept.sql if kept else sql
    put_text(asked or FIRST)
    if name and kept is None:
        st.warning(f"No query is saved as {markdown_text(name)}.")
    elif asked:
        _answer(asked)


def editor() -> None:
    """The statement, to be run (Ctrl+Enter too), explained or saved."""
    choose_whose()
    sql_editor(completions(services().store.query), on_run=_run)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.button("Run", type="primary", on_click=_run, icon=":material/play_arrow:", help="Ctrl+Enter in the editor")
        st.button("Explain", on_click=_run, args=(EXPLAIN,), icon=":material/account_tree:", help="How it is answered")
        if is_editor():
            st.text_input("Name", key=NAME, placeholder="a name to save it under", label_visibility="collapsed")
            st.button("Save", on_click=Once(_save))


def _run(before: str = "") -> None:
    """Ask what stands in the editor, and have the address say it; how the rows are drawn stays."""
    require_member()
    text = text_now()
    sql = text if text.lstrip().upper().startswith(EXPLAIN) else before + text
    _answer(sql)
    name = str(st.session_state.get(NAME) or "")
    kept = _saved().read(name) if name else None
    is_kept = kept is not None and kept.sql == sql
    question = {"query": [name]} if is_kept else {"sql": [sql]}
    st.session_state[ADDRESS] = (name, None) if is_kept else (None, sql)
    if st.session_state[ADDRESS] != (st.query_params.get("query"), st.query_params.get("sql")):
        say({**question, **shown_now()}, BESIDE)
        take_saved(kept.shown if kept and is_kept else {})


def _answer(sql: str) -> None:
    asked = whose()
    st.session_state[ANSWERED] = (sql, asked)
    try:
        found = sandbox_of(asked).ask(sql)
        st.session_state[ANSWER] = found
        outcome = in_words(found)
    except SqlRefusedError as refusal:
        st.session_state[ANSWER] = outcome = str(refusal)
    services().asked.add(current_session_id() or "", Question(sql, datetime.now(UTC), outcome, asked))


def in_words(found: Answer) -> str:
    """'12 rows in 8 ms'."""
    rows = found.table.num_rows
    return f"{rows:,} {'row' if rows == 1 else 'rows'} in {found.elapsed_ms:,.0f} ms"


def _save() -> None:
    require_editor()
    name, sql, shown = st.session_state[NAME].strip(), text_now(), shown_now()
    try:
        _saved().save(name, sql, shown)
    except (ValueError, OSError) as error:
        st.session_state[ANSWER] = str(error)
        return
    audit.record("save query", detail=name)
    put_text(sql)
    take_saved(shown)
    st.session_state[ADDRESS] = (name, None)
    say({"query": [name], **shown}, BESIDE)


def answer() -> None:
    """What the last run gave: the rows as a table and a chart, or why there are none."""
    found = st.session_state.get(ANSWER)
    if isinstance(found, str):
        st.error(markdown_text(found))
    elif isinstance(found, Answer):
        _rows(found)
    else:
        st.caption("The rows appear here, as a table, a chart or a file. Ctrl+Enter runs the statement.")


def _rows(found: Answer) -> None:
    if found.table.column_names == PLAN:
        for plan in found.table[PLAN[1]].to_pylist():
            st.html(markup.preformatted(plan, "plan"))
        return
    cut = " The answer was cut there: aggregate, or filter." if found.truncated else ""
    shown = f" The first {MOST_SHOWN:,} are shown." if found.table.num_rows > MOST_SHOWN else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"{in_words(found)}.{cut}{shown}")
        sql, asked = st.session_state[ANSWERED]
        downloads(found, sql, asked, st.session_state.get(NAME) or "query")
    if (kind := choose_kind()) == TABLE:
        st.dataframe(found.table.slice(0, MOST_SHOWN), hide_index=True, placeholder="NULL")
    else:
        chart(found.table, kind)


def history() -> None:
    """What this browser has asked, the newest first, each with its address."""
    asked = services().asked.of(current_session_id() or "")
    if not asked:
        return
    with fold("Asked before", "asked", "sql", ":material/history:"):
        for place, question in enumerate(asked):
            first = next((line for line in question.sql.splitlines() if line.strip()), "")[:LONGEST_LABEL]
            of_all = {SCOPE: [ALL]} if question.whose == ALL else {}
            address_button(markdown_text(first), f"asked-{place}", {"sql": [question.sql], **of_all}, BESIDE)
            words = f", {SCOPES[ALL].lower()}" if of_all else ""
            said = f"{moment(question.at, SECONDS)}{words}: {question.outcome}"
            st.caption(markdown_text(said), help=in_utc(asked=question.at))


def saved() -> None:
    """The queries that were kept, each with its address."""
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
    kept = _saved().read(name)
    say({"query": [name], **(known_words(kept.shown) if kept else {})}, BESIDE)


def _delete(name: str) -> None:
    require_editor()
    _saved().delete(name)
    audit.record("delete query", detail=name)
    if st.query_params.get("query") == name:
        st.session_state[ADDRESS] = (None, None)
        say({}, BESIDE)


def schema() -> None:
    """What can be asked: one view at a time with its columns and what they mean; macros and the API folded."""
    views = read_views(services().store.query)
    names = {name: name for name in views}
    _view(views[choose_one("Views and their columns", VIEW, "sql", names, next(iter(views)), "stretch")])
    with fold("Table macros", "macros", "sql"):
        for words in read_macros(services().store.query):
            st.caption(markdown_text(words))
    with fold("From a program", "program", "sql"):
        st.caption(
            "POST /api/sql answers as JSON, CSV, Arrow or Parquet (docs/http-sql.md), to a token of "
            "`./pitwall token make sql:read` or of Runs, Links and changes."
        )


def _view(columns: Sequence[Mapping[str, Any]]) -> None:
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

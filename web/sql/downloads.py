"""Downloads of a query's result: small files are sent with the page, large ones are URLs that run the query again."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from storage.sandbox.job import SqlAnswer
from storage.user_sql.formats import FORMATS
from web import markup
from web.fleet import ALL, SCOPE
from web.page_paths import ANSWER
from web.server.api.answer_api import CSV, MEDIA_TYPES, PARQUET
from web.server.api.sql_api import DATE_OUT_OF_RANGE

LABELS = {CSV: "CSV", PARQUET: "Parquet"}
SENT_BYTES = 1_000_000  # largest result sent with the page: its files take a few milliseconds
LONGEST_ADDRESS = 16_000  # characters: servers and proxies refuse much longer ones
ICON = ":material/download:"
TOO_LONG = "No file: the result is large and the statement is too long for a URL. Use `POST /api/sql` instead."


def show_downloads(answer: SqlAnswer, sql: str, scope: str, name: str) -> None:
    """Show one button or link per file type; `scope`: the runs that the statement queried.

    Streamlit would lose a press on a file yet to be created if the script runs, which leaving the editor may start. So
    a large result gets a URL, which no script has to serve.
    """
    if answer.table.nbytes <= SENT_BYTES:
        for kind in MEDIA_TYPES:
            _send(kind, answer, name)
        return
    addresses = {kind: _address(kind, sql, scope, name) for kind in MEDIA_TYPES}
    if max(map(len, addresses.values())) > LONGEST_ADDRESS:
        st.caption(TOO_LONG)
        return
    links = [
        f'<a href="{markup.text(address)}" target="_self">{LABELS[kind]}</a>' for kind, address in addresses.items()
    ]
    st.html(f'<p class="pw-links">Download as {" or ".join(links)}</p>', width="content")


def _send(kind: str, answer: SqlAnswer, name: str) -> None:
    try:
        data = FORMATS[MEDIA_TYPES[kind]](answer)
    except OverflowError:  # for 'infinity'
        st.button(LABELS[kind], disabled=True, icon=ICON, help=DATE_OUT_OF_RANGE)
        return
    st.download_button(LABELS[kind], data, f"{name}.{kind}", MEDIA_TYPES[kind], on_click="ignore", icon=ICON)


def _address(kind: str, sql: str, scope: str, name: str) -> str:
    scope_param = {SCOPE: ALL} if scope == ALL else {}
    return f"{ANSWER}?{urlencode({'sql': sql, 'as': kind, 'name': name, **scope_param})}"

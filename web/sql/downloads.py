"""The files of an answer: sent with the page where they are small, else an address that asks again and gives them."""

from __future__ import annotations

from urllib.parse import urlencode

import streamlit as st

from storage.ask.free_sql.formats import FORMATS
from storage.sandbox.job import Answer
from web import markup
from web.fleet import ALL, SCOPE
from web.places import ANSWER
from web.server.api.answer_api import BEYOND, CSV, KINDS, PARQUET

LABELS = {CSV: "CSV", PARQUET: "Parquet"}
SENT_BYTES = 1_000_000  # of an answer at most, whose files take a few milliseconds
LONGEST_ADDRESS = 16_000  # characters: servers and proxies refuse much longer ones
ICON = ":material/download:"
TOO_LONG = "No file: the answer is long, and the statement too long for an address. `POST /api/sql` gives one."


def downloads(found: Answer, sql: str, asked: str, name: str) -> None:
    """Buttons or links, one a kind of file; `asked`: whose runs the statement was asked of.

    Streamlit would lose a press on a file still to be made while the script runs, which leaving the editor may have
    begun: so a long answer is an address, which no script has to serve.
    """
    if found.table.nbytes <= SENT_BYTES:
        for kind in KINDS:
            _send(kind, found, name)
        return
    addresses = {kind: _address(kind, sql, asked, name) for kind in KINDS}
    if max(map(len, addresses.values())) > LONGEST_ADDRESS:
        st.caption(TOO_LONG)
        return
    links = [f'<a href="{markup.text(one)}" target="_self">{LABELS[kind]}</a>' for kind, one in addresses.items()]
    st.html(f'<p class="pw-links">Download as {" or ".join(links)}</p>', width="content")


def _send(kind: str, found: Answer, name: str) -> None:
    try:
        data = FORMATS[KINDS[kind]](found)
    except OverflowError:  # of 'infinity'
        st.button(LABELS[kind], disabled=True, icon=ICON, help=BEYOND)
        return
    st.download_button(LABELS[kind], data, f"{name}.{kind}", KINDS[kind], on_click="ignore", icon=ICON)


def _address(kind: str, sql: str, asked: str, name: str) -> str:
    of_all = {SCOPE: ALL} if asked == ALL else {}
    return f"{ANSWER}?{urlencode({'sql': sql, 'as': kind, 'name': name, **of_all})}"

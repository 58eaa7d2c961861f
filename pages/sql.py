"""SQL: one SELECT over everything that is published, its rows as a table, a chart or a file."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member
from web.places import show_title
from web.sql import sql_page

if not is_member():
    st.info("A link that was shared shows its runs alone.")
    st.stop()

sql_page.take_address()
show_title([name] if (name := st.query_params.get("query")) else [], "SQL")
left, right = st.columns([3, 1])
with left:
    sql_page.editor()
    sql_page.answer()
with right:
    sql_page.saved()
    sql_page.history()
    sql_page.schema()

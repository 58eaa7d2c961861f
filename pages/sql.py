"""The SQL page: one SELECT over the public views, with its rows as a table, a chart or a file."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member
from web.page_head import page_head
from web.page_paths import show_title
from web.sql import sql_page

if not is_member():
    st.info("A shared link shows only its own runs.")
    st.stop()

sql_page.load_address()
show_title([name] if (name := st.query_params.get("query")) else [], "SQL")
with page_head("SQL"):
    pass
editor_column, side_column = st.columns([3, 1])
with editor_column:
    sql_page.show_editor()
    sql_page.show_answer()
with side_column:
    sql_page.show_saved()
    sql_page.show_history()
    sql_page.show_schema()

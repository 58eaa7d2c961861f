"""The Studies page: questions answered by racing several configurations, running and ended."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member, is_operator
from web.page_head import page_head
from web.page_paths import show_title
from web.study_pages import race_table, start_form
from web.url_state import switch_choice
from web.visibility import visible_studies

MAX_SHOWN = 40  # the newest, shown by default


def choose_all(count: int) -> bool:
    """Whether older studies are shown too; kept in the URL."""
    choice = switch_choice("all", "studies-all")
    return choice.save(st.toggle(f"Show all {count}", choice.initial_value(), key=choice.key))


with page_head("Studies"):
    pass
studies = visible_studies()
study_id = st.query_params.get("study")
if is_operator():
    start_form.show_new_study(is_open=not studies)
elif is_member():
    if not studies:
        st.info("No study has been started yet.")
elif not studies or study_id not in (None, studies[0].id):
    st.info("This link does not include that study.")
    st.stop()
show_title([study.title for study in studies if study.id == study_id], "Studies")
ordered = sorted(studies, key=lambda study: study.id != study_id)  # the study in the URL comes first
shows_all = len(ordered) <= MAX_SHOWN or choose_all(len(ordered))
for study in ordered if shows_all else ordered[:MAX_SHOWN]:
    race_table.show_study_card(study, is_open=study.state != "ended" or study.id == (study_id or studies[0].id))

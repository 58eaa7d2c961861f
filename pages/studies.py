"""Studies: questions that several configurations race to answer, as they go and as they ended."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member, is_operator
from web.kept import kept_switch
from web.places import show_title
from web.study_pages import begin, race_table
from web.visible import visible_studies

MOST = 40  # that are shown unasked, the newest


def choose_all(count: int) -> bool:
    """Whether the older ones are shown too; the address keeps it."""
    kept = kept_switch("all", "studies-all")
    return kept.keep(st.toggle(f"Show all {count}", kept.take(), key=kept.key))


studies = visible_studies()
wanted = st.query_params.get("study")
if is_operator():
    begin.new_study(is_open=not studies)
elif is_member():
    if not studies:
        st.info("No study has been begun yet.")
elif not studies or wanted not in (None, studies[0].id):
    st.info("The link that brought you here shows no such study.")
    st.stop()
show_title([study.title for study in studies if study.id == wanted], "Studies")
ordered = sorted(studies, key=lambda one: one.id != wanted)  # the one that the address names comes first
shows_all = len(ordered) <= MOST or choose_all(len(ordered))
for study in ordered if shows_all else ordered[:MOST]:
    race_table.study_card(study, is_open=study.state != "ended" or study.id == (wanted or studies[0].id))

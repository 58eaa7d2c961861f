"""Studies: questions that several configurations race to answer, as they go and as they ended."""

from __future__ import annotations

import streamlit as st

from web.actions import is_operator
from web.context import services
from web.studies import begin, race_table

if not is_operator():
    st.info("Only the operator sees studies.")
    st.stop()

studies = services().store.studies()
begin.new_study(is_open=not studies)
wanted = st.query_params.get("study")
for study in sorted(studies, key=lambda one: one.id != wanted):  # the one that the address names comes first
    race_table.study_card(study.id, is_open=study.state != "ended" or study.id == (wanted or studies[0].id))

"""The Streamlit script behind every page: page set-up, navigation, and the shared style."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from web import places
from web.actions import is_member, is_operator
from web.markup import markdown_text
from web.runs.troubles import troubles
from web.sharing.share_expiry import watch_sign_in
from web.visible import current_share

STATIC = Path(__file__).resolve().parent / "static"

st.set_page_config(page_icon=str(STATIC / "icon.svg"), layout="wide")
live = st.Page(places.LIVE, title="Live", url_path="live")
compare = st.Page(places.COMPARE, title="Compare", url_path="compare")
replay = st.Page(places.REPLAY, title="Replay", url_path="replay", visibility="hidden")
studies = st.Page(places.STUDIES, title="Studies", url_path="studies")
MEMBER_PAGES = [
    st.Page(places.RUNS, title="Runs", url_path="runs", default=True),
    live,
    *([st.Page(places.LAUNCH, title="Launch", url_path="launch")] if is_operator() else []),
    compare,
    replay,
    studies,
    st.Page(places.EXPLORE, title="Explore", url_path="explore"),
    st.Page(places.SQL, title="SQL", url_path="sql"),
    st.Page(places.RUN, title="Run", url_path="run", visibility="hidden"),
]
GUEST_PAGES = [
    st.Page(places.SHARED, title="Shared", url_path="shared", default=True, visibility="hidden"),
    live,
    compare,
    replay,
    st.Page(places.RUN, title="Run", url_path="run"),
]

if (share := current_share()) and share.study_id:
    GUEST_PAGES.append(studies)

if is_operator():
    for trouble in troubles():
        st.error(markdown_text(trouble))

watch_sign_in()
page = st.navigation(MEMBER_PAGES if is_member() else GUEST_PAGES, position="top")
st.set_page_config(page_title=f"{page.title} · Pitwall")
with st.container(key="unseen-page-name"):  # on a phone alone, where the navigation is folded away
    st.html(f'<p class="pw-page-name">{page.title}</p>')
page.run()

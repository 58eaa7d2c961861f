"""The Streamlit script behind every page: page setup, navigation and error banners."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from web import page_paths
from web.about import ABOUT
from web.actions import is_member, is_operator
from web.live_status import show_live_status
from web.markup import markdown_text
from web.redirects import resume_redirect
from web.runs.troubles import trouble_sentences
from web.sharing.share_expiry import watch_sign_in
from web.url_presses import restore_url_press
from web.visibility import current_share

STATIC = Path(__file__).resolve().parent / "static"

live = st.Page(page_paths.LIVE, title="Live", url_path="live")
compare = st.Page(page_paths.COMPARE, title="Compare", url_path="compare")
replay = st.Page(page_paths.REPLAY, title="Replay", url_path="replay", visibility="hidden")
studies = st.Page(page_paths.STUDIES, title="Studies", url_path="studies")
MEMBER_PAGES = [
    st.Page(page_paths.RUNS, title="Runs", url_path="runs", default=True),
    live,
    *([st.Page(page_paths.LAUNCH, title="Launch", url_path="launch")] if is_operator() else []),
    compare,
    replay,
    studies,
    st.Page(page_paths.EXPLORE, title="Explore", url_path="explore"),
    st.Page(page_paths.ISSUES, title="Issues", url_path="issues"),
    st.Page(page_paths.SQL, title="SQL", url_path="sql"),
    st.Page(page_paths.RUN, title="Run", url_path="run", visibility="hidden"),
]
GUEST_PAGES = [
    st.Page(page_paths.SHARED, title="Shared", url_path="shared", default=True, visibility="hidden"),
    live,
    compare,
    replay,
    st.Page(page_paths.RUN, title="Run", url_path="run"),
]

if (share := current_share()) and share.study_id:
    GUEST_PAGES.append(studies)

restore_url_press()
page = st.navigation(MEMBER_PAGES if is_member() else GUEST_PAGES, position="top")
ICON = str(STATIC / "icon.svg")
TITLE = f"{page.title} · Pitwall"
st.set_page_config(page_title=TITLE, page_icon=ICON, layout="wide", menu_items={"About": ABOUT})
st.logo(ICON, size="small")  # streamlit_dom.css sets the name beside it
if is_operator():
    for trouble in trouble_sentences():
        st.error(markdown_text(trouble))

watch_sign_in()
if is_member():
    with st.container(key="unseen-live-status"):  # it stands in the header and takes no room here
        show_live_status()
page.run()
resume_redirect()

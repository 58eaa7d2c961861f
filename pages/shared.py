"""The Shared page: the runs and study of a shared link, as its guests' start page."""

from __future__ import annotations

import streamlit as st

from web import markup
from web.page_head import page_head
from web.visibility import current_share, visible_runs

share = current_share()
if share is None:
    st.info("This link has expired. Ask the person who sent it for a new one.")
    st.stop()

runs = visible_runs(newest=len(share.run_ids))
ids = [run.id for run in runs]
rows = [
    [
        f'{markup.swatch(run.color)}<a href="{markup.run_link("run", [run.id])}" target="_self">'
        f"{markup.text(run.name)}</a>",
        markup.text(run.shown_state),
    ]
    for run in runs
]
study = (
    f'<p><a href="studies?study={markup.text(share.study_id)}" target="_self">The study</a> · '
    f'<a href="report?study={markup.text(share.study_id)}" target="_self">Its report</a></p>'
    if share.study_id
    else ""
)
with page_head("Shared runs"):
    pass
st.html(
    f"{study}{markup.table(['run', 'state'], rows)}"
    f"<p>{markup.live_link(ids)}"
    + (f' · <a href="{markup.run_link("compare", ids)}" target="_self">Compare</a>' if len(ids) > 1 else "")
    + "</p>"
)

"""Shared: what a viewer may see, for whoever opens the bare address."""

from __future__ import annotations

import streamlit as st

from web import markup
from web.moments import moment_html
from web.visible import current_share, visible_runs

share = current_share()
if share is None:
    st.info("The link that brought you here is over: ask whoever sent it for a new one.")
    st.stop()

runs = visible_runs(newest=len(share.run_ids))
ids = [run.id for run in runs]
rows = [
    [
        f'{markup.swatch(run.color)}<a href="{markup.run_link("run", [run.id])}" target="_self">'
        f"{markup.text(run.name)}</a>",
        markup.text(run.state),
    ]
    for run in runs
]
study = (
    f'<p><a href="studies?study={markup.text(share.study_id)}" target="_self">The study, as it stands</a> · '
    f'<a href="report?study={markup.text(share.study_id)}" target="_self">Its report</a></p>'
    if share.study_id
    else ""
)
st.html(
    '<h1 class="pw-title">Shared runs</h1>'
    f'<p class="pw-lead pw-muted">To look at, until {moment_html(share.expires_at)}.</p>'
    f"{study}{markup.table(['run', 'state'], rows)}"
    f"<p>{markup.live_link(ids)}"
    + (f' · <a href="{markup.run_link("compare", ids)}" target="_self">Compare</a>' if len(ids) > 1 else "")
    + "</p>"
)

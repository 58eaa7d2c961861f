"""Live: runs side by side as they happen, with any finished run as an overlay."""

from __future__ import annotations

import streamlit as st

from reports.arms.comparison import not_comparable
from web.actions import is_member
from web.compare.answer.sentence import refusal_words
from web.compare.kept_reports import windows_on
from web.context import services
from web.live.component import live_plot
from web.live.elsewhere.picker import runs_elsewhere
from web.live.head import live_head
from web.picker import newest_together, nothing_yet, sync_address
from web.places import show_title
from web.theme import colors_apart
from web.visible import visible_runs

NEWEST = 200
GHOSTS_BY_DEFAULT = 3

runs = visible_runs(NEWEST, st.query_params.get_all("run"))
live = [run.id for run in runs if run.state.is_live]
ghosts = [run.id for run in newest_together(runs)[-GHOSTS_BY_DEFAULT:]]
picked = live_head(runs, live or ghosts)
sync_address(picked)
show_title([run.name for run in picked.runs], "Live")
there = runs_elsewhere()
if picked.runs or there:
    names = {run.id: run.name for run in picked.runs}
    found = not_comparable(services().store, picked.runs, windows_on)
    reasons = {run_id: refusal_words(row, names) for run_id, row in found.items()}
    colors = colors_apart([*(run.color for run in picked.runs), *range(len(there))])
    live_plot(
        dict(zip([*names, *(run.id for run in there)], colors, strict=True)),
        not_comparable=reasons | {run.id: "another Pitwall measures it" for run in there},
        names=names | {run.id: f"{run.peer}: {run.name}" for run in there},
        links={run.id: run.url for run in there},
    )
elif not runs and is_member():
    nothing_yet("Runs are drawn here while they serve: decode speed, acceptance, KV cache, power, and the log.")
else:
    st.info("Pick runs above to see them side by side.")

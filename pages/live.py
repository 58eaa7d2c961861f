"""The Live page: runs side by side as they happen, with any finished run as an overlay."""

from __future__ import annotations

import streamlit as st

from web.actions import is_member
from web.live.component import show_live_charts
from web.live.early_charts import UNREAD, read_reports
from web.live.head import show_live_head
from web.live.peers.picker import pick_peer_runs
from web.live.ratio_refusals import ratio_refusals
from web.page_paths import show_title
from web.picker import no_runs_yet, proposed_runs, sync_address
from web.runs.page.live_agent_turns import show_live_agent_turns
from web.theme import with_free_hues
from web.visibility import visible_runs

MAX_PICKER_RUNS = 200
GHOSTS_BY_DEFAULT = 3

runs = visible_runs(MAX_PICKER_RUNS, st.query_params.get_all("run"))
live = [run.id for run in runs if run.state.is_live]
ghosts = [run.id for run in proposed_runs(runs)[-GHOSTS_BY_DEFAULT:]]
picked, must_read = show_live_head(runs, live or ghosts)
sync_address(picked)
show_title([run.name for run in picked.runs], "Live")
peer_runs = pick_peer_runs()
if picked.runs or peer_runs:
    names = {run.id: run.name for run in picked.runs}
    reasons = dict.fromkeys(names, UNREAD) if must_read else ratio_refusals(picked.runs)
    colors = with_free_hues([run.color for run in picked.runs], len(peer_runs))
    show_live_charts(
        dict(zip([*names, *(run.id for run in peer_runs)], colors, strict=True)),
        not_comparable=reasons | {run.id: "measured by another Pitwall" for run in peer_runs},
        names=names | {run.id: f"{run.peer}: {run.name}" for run in peer_runs},
        links={run.id: run.url for run in peer_runs},
    )
    show_live_agent_turns(picked.runs)
    if must_read:
        read_reports(picked.runs)
elif not runs and is_member():
    no_runs_yet("This page charts runs while they serve: decode speed, acceptance, KV cache, power and the log.")
else:
    st.info("Pick runs above to see them side by side.")

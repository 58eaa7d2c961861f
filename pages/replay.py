"""Replay: finished runs side by side again, token by token, at the pace at which their answers came."""

from __future__ import annotations

import streamlit as st

from reports.runs.replay import replay, replayable
from web.actions import is_member
from web.fleet import asked_about
from web.markup import markdown_text
from web.picker import newest_together, nothing_yet, pick_runs, sync_address
from web.places import show_title
from web.replay.choice import left_out, pick_scene, pick_speed
from web.replay.component import replay_plot
from web.sharing.share_dialog import share_button
from web.visible import visible_runs

NEWEST = 200
BY_DEFAULT = 2

runs = visible_runs(NEWEST, st.query_params.get_all("run"))
under_load = [run for run in runs if run.workload_names]  # of others nothing was kept that could be played
with st.container(horizontal=True, vertical_alignment="bottom"):
    picked = pick_runs(
        runs,
        [run.id for run in newest_together(under_load)[-BY_DEFAULT:]],
        "Runs to play side by side",
        key="replay-runs",
    )
    share_button(picked.runs, "replay")
sync_address(picked)
show_title([run.name for run in picked.runs], "Replay")
if not picked.runs:
    if runs or not is_member():
        st.info("Pick runs above to play them side by side.")
    else:
        nothing_yet("Finished runs are played here side by side, token by token, at the pace of their servers.")
    st.stop()

asked = asked_about(picked.runs)
shown = replayable(asked, picked.runs)
if not shown.scenes:
    first = markdown_text(picked.runs[0].name)
    st.info(f"No request of {first} ended well under a load of Pitwall's: nothing can be played, alone or beside it.")
    st.stop()
for run in shown.unlike:
    st.warning(f"{markdown_text(run.name)} has no request in common with the first run, and is not shown.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    scene = pick_scene(shown.scenes)
    speed = pick_speed()
answers = replay(asked, shown, scene)
if not any(answers.values()):
    st.info("The times of these answers' pieces were not kept.")
    st.stop()
for run in picked.runs:
    if run.id in answers and len(answers[run.id]) < scene.requests:
        st.caption(f"{markdown_text(run.name)}: {left_out(len(answers[run.id]), scene.requests)}")
replay_plot([run for run in picked.runs if run.id in answers], answers, speed)

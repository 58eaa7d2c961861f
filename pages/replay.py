"""The Replay page: finished runs side by side, token by token, at their original pace."""

from __future__ import annotations

import streamlit as st

from reports.runs.replay import replay, replay_scenes
from web.actions import is_member
from web.fleet import store_for_runs
from web.markup import markdown_text
from web.page_head import page_head
from web.page_paths import show_title
from web.picker import no_runs_yet, pick_runs, proposed_runs, sync_address
from web.replay.component import show_replay
from web.replay.controls import partial_playback_note, pick_scene, pick_speed
from web.sharing.share_dialog import show_share_button
from web.visibility import visible_runs

MAX_PICKER_RUNS = 200
BY_DEFAULT = 2

runs = visible_runs(MAX_PICKER_RUNS, st.query_params.get_all("run"))
under_load = [run for run in runs if run.workload_names]  # others have no recorded answers
row = st.container()  # filled last: its action depends on the runs picked below
picked = pick_runs(
    runs,
    [run.id for run in proposed_runs(under_load)[-BY_DEFAULT:]],
    "Runs to play side by side",
    key="replay-runs",
)
with row, page_head("Replay"):
    show_share_button(picked.runs, "replay")
sync_address(picked)
show_title([run.name for run in picked.runs], "Replay")
if not picked.runs:
    if runs or not is_member():
        st.info("Pick runs above to play them side by side.")
    else:
        no_runs_yet("This page replays finished runs side by side, token by token, at the pace of their servers.")
    st.stop()

store = store_for_runs(picked.runs)
replayable_runs = replay_scenes(store, picked.runs)
if not replayable_runs.scenes:
    first = markdown_text(picked.runs[0].name)
    st.info(f"No request of {first} succeeded under a Pitwall load, so there is nothing to replay.")
    st.stop()
for run in replayable_runs.excluded:
    st.warning(f"{markdown_text(run.name)} is not shown: it has no request in common with the first run.")
with st.container(horizontal=True, vertical_alignment="bottom"):
    scene = pick_scene(replayable_runs.scenes)
    speed = pick_speed()
answers = replay(store, replayable_runs, scene)
if not any(answers.values()):
    st.info("The token times of these answers were not stored.")
    st.stop()
for run in picked.runs:
    if run.id in answers and len(answers[run.id]) < scene.requests:
        st.caption(f"{markdown_text(run.name)}: {partial_playback_note(len(answers[run.id]), scene.requests)}")
is_guest = not is_member()  # came by a share link, to watch this
show_replay([run for run in picked.runs if run.id in answers], answers, speed, plays_at_once=is_guest)

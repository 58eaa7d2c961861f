"""Which stretch is watched, and how fast: chosen on the page, kept in its address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.loads.replay import Scene
from web import places
from web.theme import DASH

PHASE, REQUEST, SPEED = "phase", "request", "speed"
SPEEDS = (1, 2, 10)
SHOWN_CLASSES = 3
MOST_RUNS = 8


def replay_link(run_ids: Sequence[str]) -> None:
    """A link to these runs played side by side, as many as the page holds."""
    st.page_link(places.REPLAY, label="Replay", query_params={"run": list(run_ids[:MOST_RUNS])})


def pick_scene(scenes: Sequence[Scene]) -> Scene:
    """The scene of the address, else the first; a choice is written into the address."""
    now = _scene_of_address(scenes)
    titles = {scene: title(scene) for scene in scenes}
    chosen = st.selectbox("Watch", scenes, index=scenes.index(now), format_func=titles.__getitem__)
    if chosen != now:
        _write(PHASE, str(chosen.phase_index))
        _write(REQUEST, None if chosen.sequence is None else str(chosen.sequence))
        st.rerun()
    return chosen


def pick_speed() -> int:
    """How many seconds of the runs pass in one of ours."""
    asked = st.query_params.get(SPEED, "")
    now = next((speed for speed in SPEEDS if str(speed) == asked), SPEEDS[0])
    chosen = st.segmented_control("Speed", SPEEDS, default=now, format_func=lambda speed: f"\u00d7{speed}") or now
    if chosen != now:
        _write(SPEED, str(chosen))
        st.rerun()
    return chosen


def title(scene: Scene) -> str:
    """'Phase 2: code and 2 more, 4 streams, 12 requests' or 'Phase 2, request 3: code'."""
    classes = ", ".join(scene.prompt_classes[:SHOWN_CLASSES])
    if (more := len(scene.prompt_classes) - SHOWN_CLASSES) > 0:
        classes += f" and {more} more"
    if scene.sequence is not None:
        return f"Phase {scene.phase_index + 1} {DASH} request {scene.sequence + 1}: {classes}"
    streams = "one stream" if scene.concurrency == 1 else f"{scene.concurrency} streams"
    return f"Phase {scene.phase_index + 1} {DASH} all {scene.requests} requests: {classes}, {streams}"


def left_out(played: int, requests: int) -> str:
    """That a run plays fewer answers than its scene has, so that its totals are not read as those of all."""
    return (
        f"{played:,} of {requests:,} answers are played. Of the others no times were kept, or the page holds no more; "
        "its totals and its end are of these alone."
    )


def _scene_of_address(scenes: Sequence[Scene]) -> Scene:
    phase, request = st.query_params.get(PHASE, ""), st.query_params.get(REQUEST, "")
    words = {(str(s.phase_index), "" if s.sequence is None else str(s.sequence)): s for s in scenes}
    return words.get((phase, request), scenes[0])


def _write(name: str, value: str | None) -> None:
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value

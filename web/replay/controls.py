"""The controls of the Replay page for the scene and the speed, kept in the address."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.loads.replay import Scene
from web.theme import DASH

PHASE, REQUEST, SPEED = "phase", "request", "speed"
SPEEDS = (1, 2, 10)
SHOWN_CLASSES = 3
MOST_RUNS = 8


def pick_scene(scenes: Sequence[Scene]) -> Scene:
    """Return the scene of the address, else the first; a new choice is written into the address."""
    current = _scene_of_address(scenes)
    titles = {scene: scene_title(scene) for scene in scenes}
    selected = st.selectbox("Watch", scenes, index=scenes.index(current), format_func=titles.__getitem__)
    if selected != current:
        _write(PHASE, str(selected.phase_index))
        _write(REQUEST, None if selected.sequence is None else str(selected.sequence))
        st.rerun()
    return selected


def pick_speed() -> int:
    """Return the playback speed: seconds of the run per second of real time."""
    requested = st.query_params.get(SPEED, "")
    current = next((speed for speed in SPEEDS if str(speed) == requested), SPEEDS[0])
    selected = (
        st.segmented_control("Speed", SPEEDS, default=current, format_func=lambda speed: f"\u00d7{speed}") or current
    )
    if selected != current:
        _write(SPEED, str(selected))
        st.rerun()
    return selected


def scene_title(scene: Scene) -> str:
    """Return a title such as 'Phase 2 – all 12 requests: code and 2 more, 4 streams' or 'Phase 2 – request 3: code'."""
    classes = ", ".join(scene.prompt_classes[:SHOWN_CLASSES])
    if (more := len(scene.prompt_classes) - SHOWN_CLASSES) > 0:
        classes += f" and {more} more"
    if scene.sequence is not None:
        return f"Phase {scene.phase_index + 1} {DASH} request {scene.sequence + 1}: {classes}"
    streams = "one stream" if scene.concurrency == 1 else f"{scene.concurrency} streams"
    return f"Phase {scene.phase_index + 1} {DASH} all {scene.requests} requests: {classes}, {streams}"


def partial_playback_note(played: int, requests: int) -> str:
    """Return the note that a run plays fewer answers than its scene has, so its totals are not those of the scene."""
    return (
        f"{played:,} of {requests:,} answers are played. The others have no recorded times or exceed what the page can "
        "hold; the totals and the end cover only the played ones."
    )


def _scene_of_address(scenes: Sequence[Scene]) -> Scene:
    phase, request = st.query_params.get(PHASE, ""), st.query_params.get(REQUEST, "")
    scenes_by_params = {(str(s.phase_index), "" if s.sequence is None else str(s.sequence)): s for s in scenes}
    return scenes_by_params.get((phase, request), scenes[0])


def _write(name: str, value: str | None) -> None:
    if value is None:
        st.query_params.pop(name, None)
    else:
        st.query_params[name] = value

"""The body of the Replay page, a Streamlit component drawn by web/static/replay that plays without the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from analysis.loads.replay import TimedAnswer
from domain import Run
from web import markup
from web.assets import STATIC, assets_url

_component = st.components.v2.component(
    "pitwall_replay",
    css=(STATIC / "replay" / "replay.css").read_text(),
    js=(STATIC / "component_loader.js").read_text(),
    isolate_styles=False,
)
MICRO = 6  # decimals of a second


def show_replay(
    runs: Sequence[Run], answers: Mapping[str, Sequence[TimedAnswer]], speed: int, plays_at_once: bool
) -> None:
    """Play these runs' answers side by side, `speed` times as fast as they were received."""
    base = st.get_option("server.baseUrlPath").strip("/")
    base_path = f"/{base}" if base else ""
    lanes = [
        {
            "id": run.id,
            "name": run.name,
            "color": markup.run_css_color(run.color),
            "link": markup.run_link("run", [run.id]),
            "answers": [_answer(answer) for answer in answers[run.id]],
        }
        for run in runs
    ]
    data = {
        "lanes": lanes,
        "speed": speed,
        "plays_at_once": plays_at_once,
        "assets": assets_url(base_path),
        "module": "replay/main.js",
    }
    _component(key="replay", data=data)


def _answer(answer: TimedAnswer) -> dict[str, object]:
    return {
        "sent_s": round(answer.sent_s, MICRO),
        "stream": answer.stream,
        "at_s": [round(at_s, MICRO) for at_s in answer.at_s],
        "tokens": None if answer.tokens is None else list(answer.tokens),
    }

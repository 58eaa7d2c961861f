"""The source of the Launch page's draft: a paste, a preset, an adopted point, an earlier run or a running server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import streamlit as st

from commands.presets import SHIPPED, Preset, PresetCollection, read_presets
from demo.presets import demo_configs
from domain import AdoptedPoint
from launcher.checks.discover import find_servers
from reports.arms.adopted_points import active_points
from reports.runs.run_report import engine_title_of
from web.context import services
from web.launch import draft
from web.markup import markdown_text
from web.picker import run_labels
from web.times import SECONDS, format_time

KIND_KEY = "source-kind"
KINDS = ("Paste", "Preset", "Adopted point", "Earlier run", "Running server")
ADOPTED_PARAMETER = "adopted"
RUN_PARAMETER = "run"
PRESET_PARAMETER = "preset"
MAX_PICKER_RUNS = 100
StartAction = Callable[[], None]


def read_shelf() -> PresetCollection:
    """Return shipped and own presets; the demo's are created on demand."""
    return read_presets([SHIPPED, services().settings.presets_dir])


def follow_address() -> None:
    """Fill the form once from `/launch?run=<id>`, `?preset=<name>` or `?adopted=<id>`; the URL is left unchanged."""
    requested = tuple(st.query_params.get(name) for name in (RUN_PARAMETER, PRESET_PARAMETER, ADOPTED_PARAMETER))
    if requested == (None, None, None) or st.session_state.get("launch-address") == requested:
        return
    run = services().store.run(requested[0]) if requested[0] else None
    if run:
        draft.start_from_run(run)
        _show_source("Earlier run", "Run", _run_lines().get(run.id, run.name))
    elif requested[1] in (presets := read_shelf().presets):
        _start_from_preset(presets[requested[1]])
        _show_source("Preset", "Preset", presets[requested[1]].name)
    elif requested[2] in (points := {point.id: point for point in services().store.adopted()}):
        _start_from_point(points[requested[2]])
        _show_source("Adopted point", "Point", _point_line(points[requested[2]]))
    else:
        kind = "run" if requested[0] else "preset" if requested[1] else "adopted point"
        st.warning(f"Unknown {kind} `{markdown_text(str(requested[0] or requested[1] or requested[2]))}`.")
    st.session_state["launch-address"] = requested  # last: a press may end this run of the script anywhere before


def _show_source(kind: str, title: str, name: str) -> None:
    st.session_state[KIND_KEY] = kind
    st.session_state[f"source-{title}"] = name


def pick_source() -> None:
    """Choose the kind of source, and one of that kind."""
    st.session_state.setdefault(KIND_KEY, KINDS[0])
    kind = st.segmented_control("Start from", KINDS, key=KIND_KEY)
    if kind == "Preset":
        presets = read_shelf()
        _pick("Preset", {preset.name: _preset_action(preset) for preset in presets.presets.values()} | _demo_actions())
        for problem in presets.problems:
            st.warning(markdown_text(problem))
    elif kind == "Adopted point":
        points = active_points(services().store.adopted())
        _pick("Point", {_point_line(point): _point_action(point) for point in points})
    elif kind == "Earlier run":
        _pick("Run", {line: _run_action(run_id) for run_id, line in _run_lines().items()})
    elif kind == "Running server":
        _pick("Server", _server_actions())


def _run_lines() -> dict[str, str]:
    return run_labels(services().store.runs(limit=MAX_PICKER_RUNS))


def _pick(title: str, choices: Mapping[str, StartAction]) -> None:
    """A list whose selection fills the form immediately."""
    if not choices:
        st.caption("None available.")
        return
    key = f"source-{title}"

    def start() -> None:
        name = st.session_state[key]
        if name in choices:
            choices[name]()

    if st.session_state.get(key) not in choices:
        st.session_state[key] = None  # a URL may name a run that is too old for the list
    st.selectbox(
        title, list(choices), index=None, key=key, on_change=start, placeholder=f"{len(choices)} to choose from"
    )


def _preset_action(preset: Preset) -> StartAction:
    return lambda: _start_from_preset(preset)


def _start_from_preset(preset: Preset) -> None:
    draft.start_from_config(preset.launchable, f"the preset {preset.name}", preset)


def _point_line(point: AdoptedPoint) -> str:
    purpose = f", for {point.purpose}" if point.purpose else ""
    return f"{point.name}{purpose}, since {format_time(point.adopted_at, SECONDS)}"


def _point_action(point: AdoptedPoint) -> StartAction:
    return lambda: _start_from_point(point)


def _start_from_point(point: AdoptedPoint) -> None:
    draft.start_from_config(point.config, f"the adopted point {point.name}", workload=point.workload)


def _run_action(run_id: str) -> StartAction:
    def start() -> None:
        run = services().store.run(run_id)
        if run:
            draft.start_from_run(run)

    return start


def _demo_actions() -> dict[str, StartAction]:
    return {
        demo.name: partial(draft.start_from_config, demo.config, f"the preset {demo.name}")
        for demo in demo_configs(services().settings.data_dir)
    }


def _server_actions() -> dict[str, StartAction]:
    unknown = list[str]()
    servers = [server for server in find_servers(unknown.append) if server.config.argv]
    for problem in unknown:
        st.warning(markdown_text(problem))
    return {
        f"{engine_title_of(server.engine)} {server.model or ''} {server.base_url or ''}".strip(): partial(
            draft.start_from_config, server.config, f"the server at {server.base_url or server.pid}"
        )
        for server in servers
    }

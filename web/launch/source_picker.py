"""What the Launch page starts from: a paste, a preset, an adopted point, an earlier run, or a server that runs here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import streamlit as st

from commands.presets import SHIPPED, Preset, Shelf, read_presets
from demo.presets import demo_configs
from domain import AdoptedPoint
from launcher.checks.discover import find_servers
from reports.arms.adopted import standing
from reports.runs.run_report import engine_title_of
from web.context import services
from web.launch import draft
from web.markup import markdown_text
from web.moments import SECONDS, moment
from web.picker import labels

KIND_KEY = "source-kind"
KINDS = ("Paste", "Preset", "Adopted point", "Earlier run", "Running server")
ADOPTED_PARAMETER = "adopted"
RUN_PARAMETER = "run"
PRESET_PARAMETER = "preset"
NEWEST = 100
Taker = Callable[[], None]


def shelf() -> Shelf:
    """Shipped and own presets; the demo's are made when they are asked for."""
    return read_presets([SHIPPED, services().settings.presets_dir])


def follow_address() -> None:
    """`/launch?run=<id>`, `?preset=<name>` and `?adopted=<id>` fill the form once, and leave the address as it was."""
    asked = tuple(st.query_params.get(name) for name in (RUN_PARAMETER, PRESET_PARAMETER, ADOPTED_PARAMETER))
    if asked == (None, None, None) or st.session_state.get("launch-address") == asked:
        return
    st.session_state["launch-address"] = asked
    run = services().store.run(asked[0]) if asked[0] else None
    if run:
        draft.take_run(run)
        _show_source("Earlier run", "Run", _run_lines().get(run.id, run.name))
    elif asked[1] in (presets := shelf().presets):
        _take_preset(presets[asked[1]])
        _show_source("Preset", "Preset", presets[asked[1]].name)
    elif asked[2] in (points := {point.id: point for point in services().store.adopted()}):
        _take_point(points[asked[2]])
        _show_source("Adopted point", "Point", _point_line(points[asked[2]]))
    else:
        kind = "run" if asked[0] else "preset" if asked[1] else "adopted point"
        st.warning(f"There is no {kind} `{markdown_text(str(asked[0] or asked[1] or asked[2]))}`.")


def _show_source(kind: str, title: str, name: str) -> None:
    st.session_state[KIND_KEY] = kind
    st.session_state[f"source-{title}"] = name


def pick_source() -> None:
    """The kind of source, and one of that kind."""
    st.session_state.setdefault(KIND_KEY, KINDS[0])
    kind = st.segmented_control("Start from", KINDS, key=KIND_KEY)
    if kind == "Preset":
        found = shelf()
        _pick("Preset", {preset.name: _preset_taker(preset) for preset in found.presets.values()} | _demo())
        for problem in found.problems:
            st.warning(markdown_text(problem))
    elif kind == "Adopted point":
        points = standing(services().store.adopted())
        _pick("Point", {_point_line(point): _point_taker(point) for point in points})
    elif kind == "Earlier run":
        _pick("Run", {line: _run_taker(run_id) for run_id, line in _run_lines().items()})
    elif kind == "Running server":
        _pick("Server", _servers())


def _run_lines() -> dict[str, str]:
    return labels(services().store.runs(limit=NEWEST))


def _pick(title: str, choices: Mapping[str, Taker]) -> None:
    """A list whose choice fills the form as soon as it is made."""
    if not choices:
        st.caption("There is none now.")
        return
    key = f"source-{title}"

    def chosen() -> None:
        name = st.session_state[key]
        if name in choices:
            choices[name]()

    if st.session_state.get(key) not in choices:
        st.session_state[key] = None  # an address may name a run that is too old for the list
    st.selectbox(
        title, list(choices), index=None, key=key, on_change=chosen, placeholder=f"{len(choices)} to choose from"
    )


def _preset_taker(preset: Preset) -> Taker:
    return lambda: _take_preset(preset)


def _take_preset(preset: Preset) -> None:
    draft.take(preset.launchable, f"the preset {preset.name}", preset)


def _point_line(point: AdoptedPoint) -> str:
    purpose = f", for {point.purpose}" if point.purpose else ""
    return f"{point.name}{purpose}, since {moment(point.adopted_at, SECONDS)}"


def _point_taker(point: AdoptedPoint) -> Taker:
    return lambda: _take_point(point)


def _take_point(point: AdoptedPoint) -> None:
    draft.take(point.config, f"the adopted point {point.name}", workload=point.workload)


def _run_taker(run_id: str) -> Taker:
    def taken() -> None:
        run = services().store.run(run_id)
        if run:
            draft.take_run(run)

    return taken


def _demo() -> dict[str, Taker]:
    configs = demo_configs(services().settings.data_dir)
    return {one.name: lambda one=one: draft.take(one.config, f"the preset {one.name}") for one in configs}  # type: ignore[misc]


def _servers() -> dict[str, Taker]:
    unknown = list[str]()
    found = [server for server in find_servers(unknown.append) if server.config.argv]
    for words in unknown:
        st.warning(markdown_text(words))
    return {
        f"{engine_title_of(one.engine)} {one.model or ''} {one.base_url or ''}".strip(): lambda one=one: draft.take(  # type: ignore[misc]
            one.config, f"the server at {one.base_url or one.pid}"
        )
        for one in found
    }

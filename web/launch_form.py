"""The parts of the Launch page that start a server: the paste box, its reading, and the start."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st

from domain import Config
from engines import BY_NAME
from launcher.explain import Explanation, explain
from launcher.preflight import LaunchRefused, LaunchRequest
from launcher.secrets import is_reference, is_secret_name
from web import markup, places
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text
from workloads import REGISTRY, WATCH, spec_for

PLACEHOLDER = """vllm serve Qwen/Qwen3-8B --port 8000 --kv-cache-dtype fp8

or podman run ..., python -m sglang.launch_server ..., llama-server ..."""
ENV_PLACEHOLDER = "CUDA_VISIBLE_DEVICES=0"
MASK = "<secret>"


def paste_box() -> Explanation | None:
    """The command as it was pasted, and its reading; nothing of it is evaluated."""
    pasted = st.text_area("Command", height=230, placeholder=PLACEHOLDER, key="pasted")
    if not pasted.strip():
        return None
    explanation = explain(pasted)
    if explanation.config is not None or explanation.refused is None:
        return explanation
    return (
        _as_it_is(pasted)
        if st.checkbox("Run these words as they are: Pitwall does not know this engine")
        else explanation
    )


def _as_it_is(pasted: str) -> Explanation:
    """Any program at all, split into words as a shell would and never given to one."""
    try:
        words = shlex.split(pasted.replace("\\\n", " "))
    except ValueError as problem:
        return Explanation(refused=f"The words cannot be told apart: {problem}.")
    return Explanation(config=Config(engine="other", executable=words[0], argv=tuple(words)))


def reading(explanation: Explanation | None) -> None:
    """How the command is understood, and what was left out, repaired or is unresolved."""
    if explanation is None:
        st.caption("What Pitwall understands of the command appears here before anything starts.")
        return
    if explanation.refused:
        st.error(markdown_text(explanation.refused))
    if explanation.config is not None:
        shown = explanation.config.model_dump(mode="json", exclude={"argv", "sampling"}, exclude_none=True)
        rows = [[markup.text(k), markup.text(v)] for k, v in shown.items() if v not in ([], {}, "")]
        st.html(markup.table(["field", "read as"], rows))
    for title, notes in _notes(explanation).items():
        if notes:
            st.warning(f"**{title}:** " + "; ".join(markdown_text(note) for note in notes))


def _notes(explanation: Explanation) -> Mapping[str, list[str]]:
    return {
        "Left out": explanation.left_out,
        "Repaired": explanation.repaired,
        "Unresolved": explanation.unresolved,
        "Mind": explanation.warnings,
    }


def launch(explanation: Explanation | None) -> None:
    """The run's name, readiness, workload and environment, and the button."""
    config = explanation.config if explanation else None
    with st.form("launch", border=False):
        first, second, third = st.columns(3)
        name = first.text_input("Name", placeholder="made from what matters")
        url = second.text_input("Ready when this URL answers 200", placeholder=_default_ready_url(config))
        timeout_s = third.number_input("Give up after, s", min_value=5, value=600, step=30)
        workload = first.selectbox("Workload", [WATCH.name, *REGISTRY], format_func=_workload_title)
        environment = second.text_area("More environment", placeholder=ENV_PLACEHOLDER, height=80)
        in_queue = third.checkbox("Wait for what is queued or running", value=True)
        stop_when_done = third.checkbox("Stop the server when its workload has ended", value=True)
        secrets = {n: st.text_input(f"{n} (secret, not stored)", type="password") for n in _secret_names(explanation)}
        pressed = st.form_submit_button("Launch", type="primary", disabled=config is None)
    if not pressed or config is None:
        return
    try:
        added = read_environment(environment)
    except ValueError as problem:
        st.error(markdown_text(str(problem)))
        return
    base_url, ready_path = _split(url)
    hidden = {k: v for k, v in added.items() if is_secret_name(k) and not is_reference(v)}
    shown = {k: MASK if k in hidden else v for k, v in added.items()}
    request = LaunchRequest(
        config=config.model_copy(update={"env": {**config.env, **shown}}),
        name=name or None,
        workload=spec_for(workload),
        secrets={k: v for k, v in {**secrets, **hidden}.items() if v},
        base_url=base_url,
        ready_path=ready_path,
        ready_timeout_s=float(timeout_s),
        stop_when_done=stop_when_done and workload != WATCH.name,
    )
    _start(request, in_queue)


def read_environment(text: str) -> dict[str, str]:
    """NAME=value lines; raises ValueError that names the line which is none."""
    lines = [line.strip().removeprefix("export ") for line in text.splitlines()]
    pairs = [line.partition("=") for line in lines if line and not line.startswith("#")]
    for name, equals, _ in pairs:
        if not equals or not name.isidentifier():
            raise ValueError(f"'{name}' is no NAME=value line of an environment.")
    return {name: value.strip("\"'") for name, _, value in pairs}


def _secret_names(explanation: Explanation | None) -> list[str]:
    return list(explanation.secret_names) if explanation else []


def _workload_title(name: str) -> str:
    return "None: watch what its users do" if name == WATCH.name else REGISTRY[name].title


def _default_ready_url(config: Config | None) -> str:
    engine = BY_NAME.get(config.engine) if config else None
    port = (config.port if config else None) or (engine.default_port if engine else None)
    return f"http://127.0.0.1:{port or 8000}{engine.ready_path if engine else '/v1/models'}"


def _split(url: str) -> tuple[str | None, str | None]:
    """Base URL and path of a readiness URL; None where nothing was typed."""
    parts = urlsplit(url.strip())
    if not parts.netloc:
        return None, None
    return f"{parts.scheme}://{parts.netloc}", parts.path or None


def _start(request: LaunchRequest, in_queue: bool) -> None:
    require_operator()
    try:
        runs = services().supervisor.launch_batch([request], one_after_the_other=in_queue)
    except LaunchRefused as refusal:
        st.error(markdown_text(str(refusal)))
        return
    st.switch_page(places.LIVE, query_params={"run": [runs[0].id]})

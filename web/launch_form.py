"""The parts of the Launch page: the paste box and its reading, the start, and attaching by URL."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

import streamlit as st
from launcher.explain import Explanation, explain

from collectors.identify import Identity, NotServing, identify
from domain import Config, Run, WorkloadSpec
from engines import BY_NAME
from launcher.preflight import LaunchRefused, LaunchRequest
from web import markup, places
from web.actions import require_operator
from web.context import services
from web.run_page import markdown_text
from workloads import REGISTRY, spec_for

WATCH = "watch"
PLACEHOLDER = """vllm serve Qwen/Qwen3-8B --port 8000 --kv-cache-dtype fp8

or podman run ..., python -m sglang.launch_server ..., llama-server ..."""


def paste_box() -> Explanation | None:
    """The command as it was pasted, and its reading; nothing of it is evaluated."""
    pasted = st.text_area("Command", height=260, placeholder=PLACEHOLDER, key="pasted")
    return explain(pasted) if pasted.strip() else None


def reading(explanation: Explanation | None) -> None:
    """How the command is understood, and what was left out, repaired or is unresolved."""
    if explanation is None:
        st.caption("What Pitwall understands of the command appears here before anything starts.")
        return
    if explanation.refused or explanation.config is None:
        st.error(markdown_text(explanation.refused or "No server command was found in this text."))
        return
    shown = explanation.config.model_dump(mode="json", exclude={"argv", "env", "sampling"}, exclude_none=True)
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
    """The run's name, readiness, workload and secrets, and the button."""
    config = explanation.config if explanation else None
    with st.form("launch", border=False):
        first, second, third = st.columns(3)
        name = first.text_input("Name", placeholder="made from what matters")
        url = second.text_input("Ready when this URL answers 200", placeholder=_default_ready_url(config))
        timeout_s = third.number_input("Give up after, s", min_value=5, value=600, step=30)
        workload = first.selectbox("Workload", [WATCH, *REGISTRY], format_func=_workload_title)
        in_queue = second.checkbox("After what is queued and running (one machine, one server)", value=True)
        stop_when_done = third.checkbox("Stop the server when its workload has ended", value=True)
        secrets = {n: st.text_input(f"{n} (secret, not stored)", type="password") for n in _secret_names(explanation)}
        pressed = st.form_submit_button("Launch", type="primary", disabled=config is None)
    if pressed and config is not None:
        base_url, ready_path = _split(url)
        _start(
            LaunchRequest(
                config=config,
                name=name or None,
                workload=_workload(workload),
                secrets={k: v for k, v in secrets.items() if v},
                base_url=base_url,
                ready_path=ready_path,
                ready_timeout_s=float(timeout_s),
                stop_when_done=stop_when_done and workload != WATCH,
            ),
            in_queue,
        )


def _secret_names(explanation: Explanation | None) -> list[str]:
    return list(explanation.secret_names) if explanation else []


def _workload_title(name: str) -> str:
    return "None: watch what its users do" if name == WATCH else REGISTRY[name].title


def _workload(name: str) -> WorkloadSpec:
    return spec_for(name)


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
    _show(runs[0])


def _show(run: Run) -> None:
    st.switch_page(places.LIVE, query_params={"run": [run.id]})


def attach() -> None:
    """Watch a server by its URL; it is never stopped."""
    with st.form("attach", border=False):
        left, right = st.columns(2)
        url = left.text_input("URL of the server", placeholder="http://127.0.0.1:8000")
        name = right.text_input("Name", placeholder="made from what it says of itself", key="attach-name")
        pressed = st.form_submit_button("Watch it", type="primary")
    if pressed and url.strip():
        require_operator()
        try:
            found = identify(url.strip())
            run = services().supervisor.attach(found.base_url, _watched(found), name=name or None)
        except (NotServing, LaunchRefused) as refusal:
            st.error(markdown_text(str(refusal)))
            return
        _show(run)


def _watched(found: Identity) -> Config:
    """What a server says of itself, as a configuration: the rest is not known."""
    return Config(
        engine=found.engine,
        engine_version=found.version,
        launcher="attach",
        model=next(iter(found.models), None),
        port=urlsplit(found.base_url).port,
        max_model_len=found.max_model_len,
    )

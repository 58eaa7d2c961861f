"""The part of the Launch page that watches a server which already runs: found on this machine, or by its URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from collectors.endpoints.identify import Identity, NotServingError, identify
from domain import Config
from launcher.checks.discover import FoundServer, find_server_at, find_servers
from launcher.checks.preflight import LaunchRefusedError
from reports.runs.run_report import engine_title_of
from web import audit, markup, places
from web.actions import require_operator
from web.context import services
from web.kept import go_to
from web.markup import markdown_text
from web.theme import DASH

LOOKED_S = 3.0  # every change on Launch runs this tab too, and a look asks all processes and the container runtimes


def found_servers() -> None:
    """Servers of engines we know that run on this machine, each with a button; nothing is touched."""
    with st.spinner("Looking for servers on this machine ..."):
        found, unknown = _look()
    servers = [server for server in found if server.run_id is None]
    for words in unknown:
        st.warning(markdown_text(words))
    if not servers:
        st.caption("No vLLM, SGLang, llama.cpp or TensorRT-LLM server of somebody else's runs on this machine now.")
        return
    for number, server in enumerate(servers):
        with st.container(horizontal=True, vertical_alignment="center", key=f"found-{number}"):
            st.html(_description(server))
            if st.button("Watch it", key=f"watch-{number}", disabled=server.base_url is None) and server.base_url:
                _watch(server.base_url, server.config, None, server.log_path, server.pid, unknown)


@st.cache_data(ttl=LOOKED_S, show_spinner=False)
def _look() -> tuple[list[FoundServer], list[str]]:
    """The servers, and what is not known of containers because a runtime passed a limit."""
    unknown = list[str]()
    return find_servers(unknown.append), unknown


def _description(server: FoundServer) -> str:
    seen = [
        server.base_url or "no port seen",
        f"log {server.log_path}" if server.log_path else "no log file",
        {True: "/metrics on", False: "/metrics off", None: "/metrics not known"}[server.metrics],
        f"container {server.container}" if server.container else f"process {server.pid}",
    ]
    title = f"{engine_title_of(server.engine)} {DASH} {server.model or 'model not known'}"
    return f'<div><span class="pw-name">{markup.text(title)}</span><br>{markup.chips(seen)}</div>'


def by_url() -> None:
    """Watch a server by its URL."""
    with st.form("attach", border=False):
        left, right = st.columns(2)
        url = left.text_input("URL of the server", placeholder="http://127.0.0.1:8000")
        name = right.text_input("Name", placeholder="made from what it says of itself", key="attach-name")
        log = left.text_input("Its log file on this machine, if there is one", placeholder="/var/log/vllm.log")
        pressed = st.form_submit_button("Watch it", type="primary")
    if not pressed or not url.strip():
        return None
    log_path = Path(log.strip()) if log.strip() else None
    if log_path is not None and not log_path.is_file():
        st.error(markdown_text(f"There is no file {log_path}."))
        return None
    try:
        found = identify(url)
    except NotServingError as refusal:
        st.error(markdown_text(str(refusal)))
        return None
    unknown = list[str]()
    here = find_server_at(found.base_url, unknown.append)
    if here is None:
        return _watch(found.base_url, _config(found), name or None, log_path, None, unknown)
    config = with_command(_config(found), here.config)
    return _watch(found.base_url, config, name or None, log_path or here.log_path, here.pid, unknown)


def _config(found: Identity) -> Config:
    """What a server says of itself; the rest is not known."""
    return Config(
        engine=found.engine,
        engine_version=found.version,
        launcher="attach",
        model=next(iter(found.models), None),
        port=urlsplit(found.base_url).port,
        max_model_len=found.max_model_len,
    )


def with_command(found: Config, command: Config) -> Config:
    """What the server says of itself, completed by what its command line on this machine states."""
    if found.engine != command.engine:
        return found
    stated = {name: getattr(found, name) for name in found.model_fields_set if getattr(found, name) is not None}
    return command.model_copy(update={**stated, "model": command.model or found.model})


def _watch(
    base_url: str, config: Config, name: str | None, log_path: Path | None, pid: int | None, unknown: Sequence[str]
) -> None:
    require_operator()
    if known := services().supervisor.run_at(base_url):
        st.info(markdown_text(f"The server at {base_url} is watched already, as the run '{known.name}'."))
        st.page_link(places.LIVE, label=f"Live view of {markdown_text(known.name)}", query_params={"run": known.id})
        return
    try:
        run = services().supervisor.attach(base_url, config, log_path, pid, name, unknown)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("attach", [run.id], base_url)
    go_to(markup.run_link("live", [run.id]))

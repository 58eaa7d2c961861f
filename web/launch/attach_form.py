"""The part of the Launch page that watches a running server: one found on this machine, or any by URL."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st

from collectors.endpoints.identify import Identity, NotServingError, identify
from domain import Config
from launcher.checks.discover import FoundServer, find_server_at, find_servers
from launcher.checks.launch_request import LaunchRefusedError
from reports.runs.run_report import engine_title_of
from web import audit, markup, page_paths
from web.access.access_rules import LOOPBACK_NAMES
from web.actions import require_operator
from web.context import services
from web.markup import markdown_text
from web.redirects import go_to
from web.theme import DASH

SEARCH_CACHE_S = (
    3.0  # every change on Launch reruns this tab, and a search queries all processes and container runtimes
)


def found_servers() -> None:
    """Servers of known engines that run on this machine, each with a button; none is changed."""
    with st.spinner("Looking for servers on this machine ..."):
        servers_found, unknown = _search()
    servers = [server for server in servers_found if server.run_id is None]
    for problem in unknown:
        st.warning(markdown_text(problem))
    if not servers:
        st.caption("No other vLLM, SGLang, llama.cpp or TensorRT-LLM server is running on this machine now.")
        return
    for number, server in enumerate(servers):
        with st.container(horizontal=True, vertical_alignment="center", key=f"found-{number}"):
            st.html(_description(server))
            if server.is_router:
                st.caption("A router: each model that it has loaded is listed as a server of its own.")
            elif st.button("Watch it", key=f"watch-{number}", disabled=server.base_url is None) and server.base_url:
                _watch(server.base_url, server.config, None, server.log_path, server.pid, unknown)


@st.cache_data(ttl=SEARCH_CACHE_S, show_spinner=False)
def _search() -> tuple[list[FoundServer], list[str]]:
    """Return the servers, and sentences about containers that a slow runtime left unknown."""
    unknown = list[str]()
    return find_servers(unknown.append), unknown


def _description(server: FoundServer) -> str:
    facts = [
        server.base_url or "no port found",
        f"log {server.log_path}" if server.log_path else "no log file",
        {True: "/metrics on", False: "/metrics off", None: "/metrics not known"}[server.metrics],
        f"container {server.container}" if server.container else f"process {server.pid}",
    ]
    title = f"{engine_title_of(server.engine)} {DASH} {server.model or 'model not known'}"
    return f'<div><span class="pw-name">{markup.text(title)}</span><br>{markup.chips(facts)}</div>'


def by_url() -> None:
    """Watch a server by its URL."""
    with st.form("attach", border=False):
        left_column, right_column = st.columns(2)
        url = left_column.text_input("URL of the server", placeholder="http://127.0.0.1:8000")
        name = right_column.text_input("Name", placeholder="made from what the server reports", key="attach-name")
        log = left_column.text_input("Its log file on this machine, if any", placeholder="/var/log/vllm.log")
        pressed = st.form_submit_button("Watch it", type="primary")
    if not pressed or not url.strip():
        return None
    log_path = Path(log.strip()) if log.strip() else None
    if log_path is not None and not log_path.is_file():
        st.error(markdown_text(f"The file {log_path} does not exist."))
        return None
    try:
        identity = identify(url)
    except NotServingError as refusal:
        st.error(markdown_text(str(refusal)))
        return None
    if identity.routed_models:
        return _show_routed_models(identity)
    unknown = list[str]()
    local_server = find_server_at(identity.base_url, unknown.append)
    if local_server is None:
        return _watch(identity.base_url, _config(identity), name or None, log_path, None, unknown)
    config = with_command(_config(identity), local_server.config)
    return _watch(identity.base_url, config, name or None, log_path or local_server.log_path, local_server.pid, unknown)


def _show_routed_models(identity: Identity) -> None:
    """List the models behind a router with the addresses of their own servers: each is watched as a run of its own."""
    st.info(
        markdown_text(
            f"{identity.base_url} is a router: each model that it has loaded has a server of its own. Enter that "
            "server's address above to watch it. Pitwall then sends the router nothing, loads no model and keeps "
            "none loaded."
        )
    )
    is_here = urlsplit(identity.base_url).hostname in LOOPBACK_NAMES
    where = "address" if is_here else "address on the router's machine"
    rows = [
        [markup.text(model.name), markup.text(model.state), markup.text(model.base_url or DASH)]
        for model in identity.routed_models
    ]
    st.html(markup.table(["model", "state", where], rows))


def _config(identity: Identity) -> Config:
    """Return the configuration that a server reports; the rest is unknown."""
    return Config(
        engine=identity.engine,
        engine_version=identity.version,
        launcher="attach",
        model=next(iter(identity.models), None),
        port=urlsplit(identity.base_url).port,
        max_model_len=identity.max_model_len,
    )


def with_command(reported: Config, command: Config) -> Config:
    """Return the reported configuration, completed from the server's command line on this machine."""
    if reported.engine != command.engine:
        return reported
    stated_fields = {
        name: getattr(reported, name) for name in reported.model_fields_set if getattr(reported, name) is not None
    }
    return command.model_copy(update={**stated_fields, "model": command.model or reported.model})


def _watch(
    base_url: str, config: Config, name: str | None, log_path: Path | None, pid: int | None, unknown: Sequence[str]
) -> None:
    require_operator()
    if existing_run := services().supervisor.run_at(base_url):
        st.info(markdown_text(f"The server at {base_url} is already watched as the run '{existing_run.name}'."))
        st.page_link(
            page_paths.LIVE,
            label=f"Live view of {markdown_text(existing_run.name)}",
            query_params={"run": existing_run.id},
        )
        return
    try:
        run = services().supervisor.attach(base_url, config, log_path, pid, name, unknown)
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    audit.record("attach", [run.id], base_url)
    go_to(markup.run_link("live", [run.id]))

"""A server attached by its address on this machine is told by its process too: pid, command line, log."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from collectors.endpoints.identify import Identity
from domain import Config
from engines.routed_models import RoutedModel
from launcher.checks.launch_request import LaunchRefusedError
from launcher.processes import containers
from launcher.processes.readiness import accepts_connections
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, wait_for
from tests.ports import free_ports
from tests.web.conftest import ProvideServices
from web.markup import markdown_text

# A stand-in with vLLM's name, words and command line.
STAND_IN = f"""#!{sys.executable}
import http.server, json, sys
ANSWERS = {{
    "/v1/models": {{"data": [{{"id": "org/m", "owned_by": "vllm", "max_model_len": 4096}}]}},
    "/version": {{"version": "0.21.0"}},
}}
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path in ANSWERS else 404); self.end_headers()
        self.wfile.write(json.dumps(ANSWERS.get(self.path, {{}})).encode())
port = int(sys.argv[sys.argv.index("--port") + 1])
http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""
DRAFTS = '{"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """Its process, address and log."""
    program, log, port = tmp_path / "vllm", tmp_path / "vllm.log", free_ports(1)[0]
    program.write_text(STAND_IN)
    program.chmod(0o755)
    argv = [str(program), "serve", "org/m", "--port", str(port), "--speculative-config", DRAFTS]
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output)
    url = f"http://127.0.0.1:{port}"
    wait_for(lambda: accepts_connections(url))
    yield process, url, log
    process.kill()
    process.wait()


@pytest.mark.parametrize("names_its_log", [True, False])
def test_by_url_its_pid_and_speculation_are_known(
    server: tuple[subprocess.Popen[bytes], str, Path],
    names_its_log: bool,
    monkeypatch: pytest.MonkeyPatch,
    provide_services: ProvideServices,
) -> None:
    process, url, log = server
    attached: list[tuple[str, Config, Path | None, int | None]] = []

    def attach(base_url: str, config: Config, log_path: Path | None, pid: int | None, *_: object) -> None:
        attached.append((base_url, config, log_path, pid))
        raise LaunchRefusedError("seen")

    supervisor = SimpleNamespace(run_at=lambda base_url: None, attach=attach)
    provide_services(SimpleNamespace(supervisor=supervisor))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    at = AppTest.from_string("from web.launch.attach_form import by_url\nby_url()", default_timeout=60).run()
    at.text_input[0].set_value(url)
    if names_its_log:
        at.text_input[2].set_value(str(log))
    at.button[0].click().run()
    assert [error.value for error in at.error] == ["seen"]
    ((base_url, config, log_path, pid),) = attached
    assert (base_url, log_path, pid) == (url, log, process.pid)
    assert (config.engine, config.engine_version, config.model) == ("vllm", "0.21.0", "org/m")
    assert config.speculative is not None
    assert (config.speculative.method, config.speculative.num_tokens) == ("ngram", 4)


def test_watched_server_is_not_watched_twice(
    server: tuple[subprocess.Popen[bytes], str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    provide_services: ProvideServices,
) -> None:
    _, url, _ = server
    store = DictStore()
    supervisor = Supervisor(store, tmp_path / "runs", events=store.take)
    opened: list[str] = []
    linked: list[dict[str, str]] = []
    provide_services(SimpleNamespace(supervisor=supervisor))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    monkeypatch.setattr("web.audit.record", lambda *told: None)
    monkeypatch.setattr("web.launch.attach_form.go_to", opened.append)
    monkeypatch.setattr("streamlit.page_link", lambda *_, query_params, **__: linked.append(query_params))
    at = AppTest.from_string("from web.launch.attach_form import by_url\nby_url()", default_timeout=60).run()
    at.text_input[0].set_value(url)
    at.text_input(key="attach-name").set_value("mine")
    at.button[0].click().run()
    assert not at.exception and not at.error
    (run,) = supervisor.live_runs()
    assert not at.exception and len(opened) == 1 and run.id in opened[0]
    at.text_input[0].set_value(url.replace("127.0.0.1", "localhost") + "/")
    at.text_input(key="attach-name").set_value("another")
    at.button[0].click().run()
    supervisor.close()
    text = f"The server at {url.replace('127.0.0.1', 'localhost')} is already watched as the run 'mine'."
    assert [info.value for info in at.info] == [markdown_text(text)]
    assert supervisor.live_runs() == [run] and len(opened) == 1, "no run is opened without a word"
    assert linked == [{"run": run.id}]


def test_passed_runtime_limit_is_shown(
    server: tuple[subprocess.Popen[bytes], str, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    provide_services: ProvideServices,
) -> None:
    (tmp_path / "podman").write_text("#!/bin/sh\nexec yes  # FAKE: lists containers without an end\n")
    (tmp_path / "podman").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(containers, "MOST_BYTES", 1 << 20)
    store = DictStore()
    supervisor = Supervisor(store, tmp_path / "runs", events=store.take)
    provide_services(SimpleNamespace(supervisor=supervisor))
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    monkeypatch.setattr("web.audit.record", lambda *told: None)
    monkeypatch.setattr("web.launch.attach_form.go_to", lambda *_: None)
    limit = "it printed more than the limit of 1 MiB"
    words = f"The output of `podman ps --quiet --no-trunc` is unknown: {limit}."
    for seeks in ("attach_form import found_servers as seek", "source_picker import _server_actions as seek"):
        at = AppTest.from_string(f"from web.launch.{seeks}\nseek()", default_timeout=60).run()
        assert [warning.value for warning in at.warning] == [markdown_text(words)] and not at.exception
    at = AppTest.from_string("from web.launch.attach_form import by_url\nby_url()", default_timeout=60).run()
    at.text_input[0].set_value(server[1])
    at.button[0].click().run()
    (run,) = supervisor.live_runs()
    supervisor.close()
    assert [event.text for event in store.events if event.run_id == run.id and event.kind == "warning"] == [words]


def test_models_behind_a_router_are_listed_and_the_router_is_not_watched(
    monkeypatch: pytest.MonkeyPatch, provide_services: ProvideServices
) -> None:
    """Watching it would ask it for models that are not loaded."""
    models = (RoutedModel("org/big", "loaded", "http://127.0.0.1:40123"), RoutedModel("org/small", "unloaded", None))
    identity = Identity("http://127.0.0.1:8080", "other", None, ("org/big", "org/small"), None, False, False, models)
    supervisor = SimpleNamespace(attach=lambda *_: pytest.fail("the router is watched"))
    provide_services(SimpleNamespace(supervisor=supervisor))
    monkeypatch.setattr("web.launch.attach_form.identify", lambda url: identity)
    html: list[str] = []
    monkeypatch.setattr("streamlit.html", html.append)
    at = AppTest.from_string("from web.launch.attach_form import by_url\nby_url()", default_timeout=60).run()
    at.text_input[0].set_value(identity.base_url)
    at.button[0].click().run()
    assert not at.exception and "is a router" in at.info[0].value
    assert "http://127.0.0.1:40123" in html[0] and "unloaded" in html[0]

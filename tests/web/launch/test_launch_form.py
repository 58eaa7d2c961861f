"""The Launch form's fields reach the launcher."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from load_records import AGENT_TASK
from settings import Settings
from tests.web.conftest import ProvideServices
from web.launch import launch_form
from web.launch.draft import LaunchDraft


def page() -> None:
    from web.launch.launch_form import show_launch_form

    show_launch_form()


@pytest.mark.parametrize(("typed", "expected"), [("", None), (" ~/models ", Path("~/models"))])
def test_working_folder_is_where_the_command_runs(
    typed: str,
    expected: Path | None,
    provide_services: ProvideServices,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """The stand-in launcher refuses, so that nothing starts."""
    requests: list[LaunchRequest] = []

    def refuse(batch: list[LaunchRequest], **_: bool) -> None:
        requests.extend(batch)
        raise LaunchRefusedError("not started")

    supervisor = SimpleNamespace(launch_batch=refuse, live_runs=list, queued_runs=list)
    store = SimpleNamespace(runs=lambda limit: [])
    provide_services(SimpleNamespace(supervisor=supervisor, settings=Settings(data_dir=tmp_path), store=store))
    monkeypatch.setattr(launch_form, "require_operator", lambda: None)
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["draft"] = LaunchDraft(Config(engine="vllm", argv=("serve.sh",)))
    app.run()
    [facts] = [str(html.proto.body) for html in app.get("html") if "pw-launch-facts" in str(html.proto.body)]
    assert "This machine lacks 1 thing that it needs." in facts, "beside the button, wherever the page is scrolled to"
    [field] = [field for field in app.text_input if field.label == "Working folder"]
    field.set_value(typed)
    [button] = [button for button in app.button if button.label == "Launch"]
    button.set_value(True).run()
    assert not app.exception and app.error[0].value == "not started"
    assert requests and {request.cwd for request in requests} == {expected}


def launch_button(app: AppTest) -> object:
    return next(button for button in app.button if button.label == "Launch")


@pytest.mark.parametrize("role", ["operator", "editor"])
def test_operator_alone_launches_with_an_agents_task(
    role: str, provide_services: ProvideServices, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The button waits for the task; a relaunch proposes that of its run. The stand-in launcher refuses."""
    requests: list[LaunchRequest] = []

    def refuse(batch: list[LaunchRequest], **_: bool) -> None:
        requests.extend(batch)
        raise LaunchRefusedError("not started")

    supervisor = SimpleNamespace(launch_batch=refuse, live_runs=list, queued_runs=list)
    store = SimpleNamespace(runs=lambda limit: [])
    provide_services(SimpleNamespace(supervisor=supervisor, settings=Settings(data_dir=tmp_path), store=store))
    monkeypatch.setattr("web.actions.current_role", lambda: role)
    app = AppTest.from_function(page, default_timeout=60)
    app.session_state["draft"] = LaunchDraft(Config(engine="vllm", argv=("serve.sh",)))
    app.run()
    if role != "operator":
        assert "Agent task: does your agent solve it?" not in app.selectbox[0].options
        return
    app.selectbox[0].set_value(AGENT_TASK).run()
    assert not app.exception and launch_button(app).disabled
    for label, text in (("Agent", "agent -p {model}"), ("Folder on this machine", "/tasks/a"), ("Check", "make test")):
        next(field for field in app.text_input if field.label == label).set_value(text)
    app.run()
    launch_button(app).set_value(True).run()
    request = requests[0]
    assert (request.workload.name, request.workload.params["agent"]) == (AGENT_TASK, ["agent", "-p", "{model}"])
    app.session_state["draft"] = LaunchDraft(
        Config(engine="vllm", argv=("serve.sh",)), workload=request.workload, origin="r"
    )
    app.run()
    assert not app.exception and not launch_button(app).disabled
    assert next(field for field in app.text_input if field.label == "Check").value == "make test"

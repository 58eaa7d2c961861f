"""The Launch form's fields reach the launcher."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from domain import Config
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
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
    app = AppTest.from_function(page)
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

"""Another tool's load on a run: its command as it will be run, and what is said of where it was driven."""

from __future__ import annotations

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from domain import RunState
from redaction import SERVER_API_KEY
from tests.web.runs.test_load_on_a_run import Supervisor, save, services
from workloads.process.driven import TOOLS

__all__ = ["services"]
PANEL = """
from web.context import services
from web.runs.loads.drive_panel import drive_panel

drive_panel(*services().store.runs())
"""


def test_the_command_of_the_chosen_tool_is_shown_and_started(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("aiperf").run()
    page.text_input(key="executable-aiperf").set_value("/opt/aiperf").run()
    assert not page.exception
    assert page.code[0].value.startswith("/opt/aiperf profile --model MODEL --url http://127.0.0.1:8000")
    assert "was driven to its end" in page.caption[0].value and TOOLS["aiperf"].version in page.caption[0].value
    assert "/metrics" in page.caption[1].value
    page.button[0].click().run()
    started: Supervisor = services.supervisor
    ((run_id, spec),) = started.started
    assert (run_id, spec.name, spec.params["executable"]) == ("r1", "drive:aiperf", "/opt/aiperf")


def test_both_commands_of_a_tool_that_scores_apart_are_shown(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("bfcl").run()
    page.text_input(key="executable-bfcl").set_value("/opt/bfcl").run()
    generate, evaluate = page.code[0].value.splitlines()
    assert " generate " in generate and " evaluate " in evaluate


def test_an_attached_server_s_key_goes_to_the_load_s_environment_and_nowhere_else(services: SimpleNamespace) -> None:
    key = "sk-of-the-server-0123456789"
    save(services.store, kind="attached", state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("lm-eval").run()
    page.text_input(key="executable-lm-eval").set_value("/opt/lm_eval").run()
    page.text_input(key="drive-key-r1").set_value(key).run()
    assert key not in page.code[0].value
    page.button[0].click().run()
    started: Supervisor = services.supervisor
    ((_, spec),) = started.started
    assert started.secrets == {SERVER_API_KEY: key} and key not in spec.model_dump_json()
    page.selectbox[0].set_value("aiperf").run()
    page.text_input(key="executable-aiperf").set_value("/opt/aiperf").run()
    assert not [one for one in page.text_input if one.key == "drive-key-r1"]
    assert any("gives this tool no key" in one.value for one in page.caption)

"""Another tool's load on a run: its command as it will be run, and what is said of where it was driven."""

from __future__ import annotations

from types import SimpleNamespace

from streamlit.testing.v1 import AppTest

from domain import RunState
from redaction import SERVER_API_KEY
from tests.web.loads.test_load_on_a_run import Supervisor, save, services
from workloads.process.external_tools import TOOLS

__all__ = ["services"]
PANEL = """
from web.context import services
from web.loads.panels.drive_panel import show_drive_panel

show_drive_panel(*services().store.runs())
"""


def test_chosen_tool_command_is_shown_and_started(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("aiperf").run()
    page.text_input(key="executable-aiperf").set_value("/opt/aiperf").run()
    assert not page.exception
    assert page.code[0].value.startswith("/opt/aiperf profile --model MODEL --url http://127.0.0.1:8000")
    assert (
        "Pitwall was tested with a complete run" in page.caption[0].value
        and TOOLS["aiperf"].version in page.caption[0].value
    )
    assert "/metrics" in page.caption[1].value
    page.button[0].click().run()
    started: Supervisor = services.supervisor
    ((run_id, spec),) = started.started
    assert (run_id, spec.name, spec.params["executable"]) == ("r1", "drive:aiperf", "/opt/aiperf")


def test_separate_scoring_command_is_shown_too(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("bfcl").run()
    page.text_input(key="executable-bfcl").set_value("/opt/bfcl").run()
    generate, evaluate = page.code[0].value.splitlines()
    assert " generate " in generate and " evaluate " in evaluate


def test_attached_key_only_in_load_environment(services: SimpleNamespace) -> None:
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
    assert not [text_input for text_input in page.text_input if text_input.key == "drive-key-r1"]
    assert any("passes no API key to this tool" in caption.value for caption in page.caption)


def test_nothing_is_wrong_before_one_has_typed(services: SimpleNamespace) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL).run()
    page.selectbox[0].set_value("llama-benchy").run()
    assert not page.error and "String" not in str(page.caption)
    assert any(caption.value.startswith("Enter the path of llama-benchy") for caption in page.caption)
    page.text_input(key="executable-llama-benchy").set_value("/opt/benchy").run()
    page.text_input(key="drive-llama-benchy-prompt_token_counts").set_value("512, 2048").run()
    assert "--pp 512 2048 --tg 200" in page.code[0].value and not page.exception

"""An agent's task on the page of a run: who may start one, what is started, what it came to, and its copies."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from analysis.loads.agent_tasks import TaskEnd, TaskRepeat
from domain import RunState
from load_records import AGENT_TASK, Load, LoadPhase, SuiteCheck
from samples import Batch
from tests.analysis.comparison.ideal_engine import T0
from tests.web.loads.test_load_on_a_run import PANEL, Supervisor, save, services

__all__ = ["services"]
RESULTS = """
from web.context import services
from web.loads.panels.load_results import show_load_results

show_load_results(*services().store.runs())
"""
FILLED = {"agent": "agent -p 'Do it' {model}", "folder": "/tasks/parser", "check": "make test"}


def task_panel(services: SimpleNamespace) -> AppTest:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    page = AppTest.from_string(PANEL, default_timeout=60).run()
    page.segmented_control(key="by-r1").set_value("An agent's task").run()
    for name, text in FILLED.items():
        page.text_input(key=f"task-r1-{name}").set_value(text)
    return page.run()


def test_operator_starts_a_task(services: SimpleNamespace) -> None:
    page = task_panel(services)
    page.text_area(key="task-r1-env").set_value("X_API_KEY={key}").run()
    assert not page.exception and not page.error and "repeats" not in page.code[0].value
    page.button(key="task-r1-start").click().run()
    started: Supervisor = services.supervisor
    ((run_id, spec),) = started.started
    assert (run_id, spec.name, spec.params["agent"]) == ("r1", AGENT_TASK, ["agent", "-p", "Do it", "{model}"])
    assert (spec.params["check"], spec.params["env"]) == (["make", "test"], {"X_API_KEY": "{key}"})


@pytest.mark.parametrize(("name", "text", "error"), [
    ("agent", "agent --api-key sk-live-0123456789abcdef", "holds a secret"),
    ("agent", "agent 'open", "cannot be read"),
    ("folder", "tasks", "absolute path"),
])  # fmt: skip
def test_wrong_input_is_a_sentence(services: SimpleNamespace, name: str, text: str, error: str) -> None:
    page = task_panel(services)
    page.text_input(key=f"task-r1-{name}").set_value(text).run()
    assert not page.exception and error in page.error[0].value
    assert "task-r1-start" not in {button.key for button in page.button}


def test_editor_starts_no_task(services: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    save(services.store, state=RunState.READY, base_url="http://127.0.0.1:8000")
    monkeypatch.setattr("web.actions.current_role", lambda: "editor")
    page = AppTest.from_string(PANEL, default_timeout=60).run()
    assert not page.exception and "by-r1" not in {control.key for control in page.segmented_control}


def stored_task(services: SimpleNamespace, run_dir: Path) -> None:
    save(services.store, state=RunState.FINISHED, run_dir=str(run_dir))
    plan = Load("r1", "l", T0, AGENT_TASK, AGENT_TASK, "agent 2.1", "h", {"folder": "/tasks/parser", "task": ""})
    phases = [LoadPhase("r1", "l", T0, n, f"Repeat {n + 1}", "measure", 0, T0, 2.0, 0.0, 3, True) for n in range(2)]
    repeats = [
        TaskRepeat(end=TaskEnd.SOLVED, exit_code=0, agent_s=61.0, turns=3, prompt_tokens=12_000, cached_tokens=9_000),
        TaskRepeat(end=TaskEnd.LATE, agent_s=900.0, ended_processes=2),
    ]
    checks = [
        SuiteCheck("r1", "l", T0, AGENT_TASK, "parser", "agent", repeat.is_solved, why, repeat.as_json(), repeat=n)
        for n, (repeat, why) in enumerate(zip(repeats, (None, "the agent took longer than 900 s"), strict=True), 1)
    ]
    services.store.write(Batch((plan, *phases, *checks))).result()


def test_results_and_copies_are_shown(services: SimpleNamespace, tmp_path: Path) -> None:
    copy = tmp_path / "run/workload/agent-1/folder"
    copy.mkdir(parents=True)
    (copy / "answer.txt").write_bytes(b"x" * 2048)
    stored_task(services, tmp_path / "run")
    page = AppTest.from_string(RESULTS, default_timeout=60).run()
    assert not page.exception and page.expander[0].label == "Agent task parser \\(agent 2\\.1\\)"
    assert "Solved 1 of 2" in page.markdown[0].value
    html = "".join(str(block.proto.body) for block in page.get("html"))
    assert "the agent took longer than 900 s" in html and "12,000" in html
    page.button(key="delete-copies-r1").click().run()
    assert not page.exception and not copy.exists() and (tmp_path / "run/workload").exists()
    assert "delete-copies-r1" not in {button.key for button in page.button}

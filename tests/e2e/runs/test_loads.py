"""Every workload, put from the page on a real llama.cpp server that Pitwall did not start; and read there."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from demo.model import TINY, model_files
from tests.demo_engine import DemoServer, running_demo
from tests.e2e.launch_page import choose_option, watch_server
from tests.e2e.page_at_rest import press
from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports
from tests.workloads.agent_tasks.tasks import AGENT, CHECK, task_folder
from workloads import REGISTRY

pytestmark = [pytest.mark.browser, pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(900)]
LOAD_S = 240.0
# What is typed into which field, so that each load is as small as can be; and a column that its table then has.
LOADS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "Five prompts": ({"Rounds": "1", "Token scale": "0.01", "Parallel": "2", "Parallel tokens": "8"}, "LongCode"),
    "Warm single, then 2, 4, 8 at once": ({"Tokens": "8", "Repeats": "1"}, "8 at once"),
    "How many users can it serve?": (
        {"Maximum users": "2", "Requests per user": "1", "Prompt tokens": "20", "Output tokens": "8"}, "It holds",
    ),
    "Traffic": ({"Concurrent streams": "2", "Requests": "6", "Prompt tokens": "20", "Output tokens": "8"}, "2 at once"),
    "Grid of lengths": ({"Prompt tokens": "20, 40", "Output tokens": "8", "Repeats": "2"}, "pp40 tg8 d0 c1"),
    "Agent session": ({"Turns": "3", "Context tokens": "300", "Output tokens": "8"}, "turn 03"),
    "Agent replay": (
        {"Turns": "3", "First prompt tokens": "100", "Tool result tokens": "20", "Output tokens": "8"}, "Replay",
    ),
    "Own prompts": ({"Output tokens": "8"}, "Own"),
}  # fmt: skip


NAMES = {workload.title: name for name, workload in REGISTRY.items()}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    folder = tmp_path_factory.mktemp("foreign")
    target, _ = model_files(folder, TINY)
    argv = ["-m", str(target), "--host", "127.0.0.1", "-c", "8192", "-np", "2", "-t", "1"]
    with running_demo(argv, free_ports(1)[0], folder / "server.log") as started:
        yield started


def test_attached_server_takes_every_load(page: Page, pitwall: Pitwall, server: DemoServer) -> None:
    run_id = watch_server(page, pitwall, server.base_url, "Theirs")
    for count, (title, (given, seen)) in enumerate(LOADS.items(), 1):
        page.goto(f"{pitwall.url}/run?run={run_id}")
        start_load(page, title, given)
        wait_until(
            lambda count=count: count_finished_loads(pitwall) == count and pitwall.states()["Theirs"] == "ready", LOAD_S
        )
        page.goto(f"{pitwall.url}/run?run={run_id}")
        expect(page.get_by_text("Load results").first).to_be_visible()
        expect(page.get_by_text(seen).first).to_be_visible()
    assert pitwall.sql("SELECT count(*) FROM requests WHERE error_kind IS NOT NULL") == [(0,)]
    assert server.process.poll() is None


def test_agent_task_runs_from_the_page(page: Page, pitwall: Pitwall, server: DemoServer, tmp_path: Path) -> None:
    """A scripted agent on a real server: the form, the results with every repeat, and the deletion of its copies."""
    folder = task_folder(tmp_path)
    run_id = watch_server(page, pitwall, server.base_url, "Tasked")
    page.goto(f"{pitwall.url}/run?run={run_id}")
    press(page.get_by_text("Run a load on this server"))
    press(page.get_by_role("radio", name="An agent's task").or_(page.get_by_role("button", name="An agent's task")))
    command = shlex.join([sys.executable, AGENT, "solve", "messages", "{model}"])
    for label, value in (("Agent", command), ("Folder on this machine", str(folder)), ("Check", shlex.join(CHECK))):
        fill(page, label, value)
    fill(page, "Repeats of the task", "2")
    press(page.get_by_role("button", name="Run the task", disabled=False))
    judged = "SELECT count(*) FROM checks WHERE suite = 'agent-task' AND is_pass"
    wait_until(lambda: pitwall.sql(judged) == [(2,)] and pitwall.states()["Tasked"] == "ready", LOAD_S)
    page.goto(f"{pitwall.url}/run?run={run_id}")
    expect(page.get_by_text("Solved 2 of 2 (95 %: 34 % to 100 %, Wilson).").first).to_be_visible()
    expect(page.get_by_text("Agent sessions", exact=True).first).to_be_visible()
    press(page.get_by_role("button", name="Delete the copies"))
    wait_until(lambda: not list(pitwall.data.rglob("agent-1")), 30.0)
    assert server.process.poll() is None


def fill(page: Page, label: str, value: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")


def start_load(page: Page, title: str, texts: Mapping[str, str]) -> None:
    """Choose the load, set its fields, and start it."""
    press(page.get_by_text("Run a load on this server"))
    choose_option(page, "Load", title)
    press(page.get_by_role("button", name="Load settings"))
    for label, value in texts.items():
        field = page.locator(f'[class*="-{NAMES[title]}-"] input[aria-label="{label}"]')  # of this load, and no other's
        field.fill(value)
        field.press("Enter")
    page.keyboard.press("Escape")
    start = page.get_by_role("button", name="Start the load", disabled=False)  # one that is being replaced is disabled
    expect(start).to_have_count(1)
    press(start)


def count_finished_loads(pitwall: Pitwall) -> int:
    """Loads that have written their results."""
    ((count,),) = pitwall.sql("SELECT count(DISTINCT load_id) FROM results")
    return int(count)

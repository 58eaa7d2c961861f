"""The load 'agent-task' as a process, with a scripted agent before a stand-in server."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from load_records import AGENT_TASK
from tests.demo_engine import wait_until
from tests.workloads.agent_tasks.tasks import (
    PROMPT,
    SERVER_KEY,
    TaskRecords,
    job_of,
    stand_in_server,
    start_task,
    task_folder,
    task_params,
)


def records_of(tmp_path: Path, act: str = "solve", **changes: Any) -> tuple[TaskRecords, str]:
    with stand_in_server() as base_url:
        job = job_of(tmp_path, base_url, task_params(task_folder(tmp_path), act, **changes))
        output, _ = start_task(job).communicate(timeout=60)
    return TaskRecords(job), output


@pytest.mark.parametrize("protocol", ["messages", pytest.param("responses", marks=pytest.mark.wide)])
def test_solved_task_is_recorded_with_its_turns(tmp_path: Path, protocol: str) -> None:
    records, _ = records_of(tmp_path, protocol=protocol)
    (load,), (check,) = records.loads, records.checks
    assert (load.tool, load.workload, load.prompt_set_hash) == (AGENT_TASK, AGENT_TASK, check.item_hash)
    assert (check.is_pass, check.why, check.case_name, check.repeat) == (True, None, "parser-fix", 1)
    counts = {"turns": 2, "prompt_tokens": 200, "cached_tokens": 80, "output_tokens": 16, "thinking_tokens": None}
    assert {name: check.exchange[name] for name in counts} == counts
    assert [request.load_id for request in records.requests] == [load.load_id] * 2
    assert all("prefix" in request.extra for request in records.requests), "agent sessions are read of them"


def test_no_text_and_no_key_is_recorded(tmp_path: Path) -> None:
    records, output = records_of(tmp_path, "tell")
    text = (tmp_path / "runs/r/workload/requests.jsonl").read_text() + output
    assert records.checks[0].is_pass and not any(word in text for word in (*PROMPT.split(), SERVER_KEY))
    log = (tmp_path / "runs/r/workload/agent-1/agent.log").read_text()
    assert PROMPT in log and "keys: <secret> []" in log
    assert (tmp_path / "parser-fix").joinpath("answer.txt").exists() is False, "the original stays as it was"


@pytest.mark.wide
@pytest.mark.parametrize(("act", "changes", "why"), [
    ("fail", {}, "the check ended with exit code 1"),
    ("exit3", {}, "the agent ended with exit code 3, and the check ended with exit code 1"),
    ("sleep", {"time_limit_s": 2.0}, "the agent took longer than 2 s"),
    ("solve", {"check": ["/bin/sleep", "60"], "check_limit_s": 0.5}, "the check took longer than 0.5 s"),
])  # fmt: skip
def test_unsolved_task_has_its_reason(tmp_path: Path, act: str, changes: dict[str, Any], why: str) -> None:
    records, _ = records_of(tmp_path, act, **changes)
    assert [(check.is_pass, check.why) for check in records.checks] == [(False, why)]


@pytest.mark.wide
def test_agent_that_cannot_start_says_nothing_of_the_server(tmp_path: Path) -> None:
    records, output = records_of(tmp_path, agent=["/nonexistent/agent"], repeats=3)
    assert [(check.is_pass, check.why) for check in records.checks] == [(None, "the agent could not be started")]
    assert "/nonexistent/agent: No such file or directory" in output


@pytest.mark.wide
def test_daemon_of_an_agent_is_ended(tmp_path: Path) -> None:
    records, _ = records_of(tmp_path, "daemon")
    pid = int((tmp_path / "runs/r/workload/agent-1/folder/daemon.pid").read_text())
    assert records.checks[0].is_pass and records.checks[0].exchange["ended_processes"] == 1
    assert not psutil.pid_exists(pid)


@pytest.mark.wide
def test_cancelled_task_ends_its_agent(tmp_path: Path) -> None:
    with stand_in_server() as base_url:
        job = job_of(tmp_path, base_url, task_params(task_folder(tmp_path), "sleep", repeats=3))
        process = start_task(job)
        wait_until(lambda: job.out.exists() and job.out.read_text().count('"request_id"') >= 2, 60)
        (agent,) = psutil.Process(process.pid).children()
        process.send_signal(signal.SIGTERM)
        process.wait(30)
    assert not agent.is_running() and json.loads(job.progress.read_text())["state"] == "cancelled"
    assert [(check.is_pass, check.why) for check in TaskRecords(job).checks] == [(None, "the load was cancelled")]

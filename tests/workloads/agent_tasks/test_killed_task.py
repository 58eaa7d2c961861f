"""A killed agent task: its shim ends the agent with all that it started. And the task on a real llama.cpp."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from launcher.processes.process import ProcessSpec, process_status, server_process, start_shim, write_spec
from service.agent_copies import ended_repeats
from tests.demo_engine import ROOT, DemoServer, wait_until
from tests.workloads.agent_tasks.tasks import (
    SERVER_KEY,
    TaskRecords,
    job_of,
    stand_in_server,
    start_task,
    task_folder,
    task_params,
)
from workloads.process.prepare import COMMAND_LINE


@pytest.mark.wide
def test_killed_load_leaves_no_agent(tmp_path: Path) -> None:
    """The load dies by SIGKILL, as in a crash; its agent sleeps, and has a daemon that ignores SIGTERM."""
    with stand_in_server() as base_url:
        job = job_of(tmp_path, base_url, task_params(task_folder(tmp_path), "daemon-sleep"))
        directory = job.progress.parent
        (directory / "job.json").write_text(job.model_dump_json())
        argv = [sys.executable, str(COMMAND_LINE), "load", str(directory / "job.json")]
        write_spec(ProcessSpec(argv, str(ROOT), log="workload.log"), directory)
        shim = start_shim(directory, {"SERVER_API_KEY": SERVER_KEY})
        pid_file = directory / "agent-1/folder/daemon.pid"
        wait_until(lambda: pid_file.exists() and pid_file.read_text(), 60)
        load = server_process(directory)
        assert load and ended_repeats(directory.parent) == [], "an agent works there"
        processes = [*load.children(recursive=True), psutil.Process(int(pid_file.read_text()))]
        os.kill(load.pid, signal.SIGKILL)
        shim.wait(30)
    assert len(processes) >= 2 and not any(process.is_running() for process in processes)
    assert process_status(directory).state == "ended"
    assert ended_repeats(directory.parent) == [directory / "agent-1"]


@pytest.mark.engine
@pytest.mark.wide
@pytest.mark.parametrize("protocol", ["messages", "responses"])
def test_agent_works_on_a_real_server(tmp_path: Path, demo_server: DemoServer, protocol: str) -> None:
    job = job_of(tmp_path, demo_server.base_url, task_params(task_folder(tmp_path), protocol=protocol))
    output, _ = start_task(job).communicate(timeout=120)
    (check,), requests = TaskRecords(job).checks, TaskRecords(job).requests
    assert (check.is_pass, check.exchange["turns"], check.exchange["output_tokens"]) == (True, 2, 16), output
    assert check.exchange["cached_tokens"] > 0, "the second turn begins with the first"
    assert [request.error_kind for request in requests] == [None, None]

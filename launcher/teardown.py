"""Teardown of a launched run: the order in which its processes are stopped, and the final fields of its record."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from domain import Run, RunState
from launcher.checks.launch_request import port_of
from launcher.checks.provenance import GpuSnapshot
from launcher.client_processes import stop_clients
from launcher.json_file import write_json
from launcher.processes.exit_messages import describe_exit, explaining_line
from launcher.processes.process import ProcessExit, ProcessStatus, processes_of, read_exit
from launcher.processes.runtimes import Backend, ContainerFacts, ProcessBackend, backend_of, with_container
from launcher.processes.stopping import StopReport, check_gpu_memory_released, check_port_released, join, stop_process

LEFT_ALONE = "left_alone.json"  # in the run directory: its script left the server to itself
UNKNOWN_EXIT = ProcessExit(None, None, None, None)
OUT_OF_MEMORY = "The kernel killed it because it ran out of memory (OOM)."
NOT_AS_BEFORE = "The server was stopped, but not everything was released."

StopResult = tuple[StopReport, ContainerFacts | None]
NOTHING_STOPPED: StopResult = (StopReport(), None)
STOP_FAILED: StopResult = (StopReport(leftovers=("Stopping it failed midway: what remains of it is unknown.",)), None)


def stop_everything(run: Run, grace_s: float, gpus: Callable[[], GpuSnapshot]) -> StopResult:
    """Stop the workload first, so that its requests end as cancelled, not failed; a container before its client."""
    assert run.base_url and run.run_dir
    limits = list[str]()
    directory, backend = Path(run.run_dir), backend_of(run.config, run.id, report_limit=limits.append)
    workload = stop_clients(directory)
    all_pids = {process.pid for process in processes_of(directory)} | _ended_pids(directory)
    container_report, facts = backend.end(grace_s)
    client = stop_process(directory, grace_s)
    late_report, late_facts = backend.end(0.0)  # created by the client in the meantime
    memory_sentences = check_gpu_memory_released(all_pids, lambda: gpus().memory_by_pid)
    port_sentences = () if is_left_alone(directory) else check_port_released(port_of(run.base_url), run.config.host)
    release_report = StopReport(tuple(limits), (*port_sentences, *memory_sentences))
    return join([workload, container_report, client, late_report, release_report]), facts or late_facts


def leave_alone(directory: Path) -> None:
    """Record that this run's script started the server elsewhere, so Pitwall must not stop it."""
    write_json(directory / LEFT_ALONE, {})


def is_left_alone(directory: Path) -> bool:
    """Whether `leave_alone` was recorded in this run directory, by this Pitwall or an earlier one."""
    return (directory / LEFT_ALONE).exists()


def _ended_pids(directory: Path) -> set[int]:
    """Return the pids that its shim has already ended."""
    end = read_exit(directory)
    return {process.pid for process in end.left} if end else set()


def final_fields(
    run: Run, cause: str | None, status: ProcessStatus, stop_result: StopResult, now: datetime
) -> dict[str, Any]:
    """Return the final fields of an ended run; `status` is the last known status of its server."""
    report, facts = stop_result
    exit = status.exit or UNKNOWN_EXIT
    cause = _full_cause(cause, report, facts)
    is_unknown = status.started_at is not None and exit.exit_code is None and exit.signal is None
    return {
        "state": RunState.FAILED if cause else RunState.FINISHED,
        "exit_code": facts.exit_code if facts and facts.has_started else exit.exit_code,
        "exit_signal": exit.signal if facts is None else None,  # the client's own is not the server's
        **with_container(run, facts),
        "ended_at": exit.ended_at or now,
        "cause": cause,
        "note": describe_exit(exit) if is_unknown and not cause else run.note,
    }


def _full_cause(cause: str | None, report: StopReport, facts: ContainerFacts | None) -> str | None:
    if facts and facts.is_oom_killed:
        cause = f"{cause or 'The container was stopped.'} {OUT_OF_MEMORY}"
    return " ".join([cause or NOT_AS_BEFORE, *report.leftovers]) if report.leftovers else cause


def describe_server_exit(backend: Backend, end: ProcessExit, log_tail: list[str]) -> str:
    """Return a sentence on how a server ended by itself: from a container's client, else from its exit."""
    line = explaining_line(log_tail)
    client_text = backend.describe_client_exit(end.exit_code, line) if line and end.exit_code else None
    is_client = not isinstance(backend, ProcessBackend) and end.signal is not None
    return client_text or describe_exit(end, "The container's client" if is_client else "The server")

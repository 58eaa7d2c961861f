"""How a launched run ends: the order in which its processes are stopped, and what its record then says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from domain import Run, RunState
from launcher.checks.preflight import port_of
from launcher.json_file import write_json
from launcher.processes.exit_messages import describe_exit
from launcher.processes.process import ProcessExit, ProcessStatus, processes_of, read_exit
from launcher.processes.runtimes import Backend, ContainerFacts, ProcessBackend, backend_of, with_container
from launcher.processes.stopping import StopReport, join, see_gpu_memory, see_port, stop_process
from launcher.runs.provenance import GpusNow
from launcher.runs.supervised_runs.run_loads import stop_clients

LEFT_ALONE = "left_alone.json"  # in the run directory: its script left the server to itself
UNSEEN = ProcessExit(None, None, None, None)
OUT_OF_MEMORY = "The kernel ended it for want of memory (OOM)."
NOT_AS_BEFORE = "The server was stopped, but not everything is as before."

Stopped = tuple[StopReport, ContainerFacts | None]
NOTHING_STOPPED: Stopped = (StopReport(), None)
BROKE_OFF: Stopped = (StopReport(leftovers=("Stopping it broke off: what is left of it is not known.",)), None)


def stop_everything(run: Run, grace_s: float, gpus: Callable[[], GpusNow]) -> Stopped:
    """Workload first, so that its requests end as cancelled and not as broken; a container before its client."""
    assert run.base_url and run.run_dir
    limits = list[str]()
    directory, backend = Path(run.run_dir), backend_of(run.config, run.id, passed=limits.append)
    workload = stop_clients(directory)
    pids = {process.pid for process in processes_of(directory)} | _left_pids(directory)
    contained, facts = backend.end(grace_s)
    client = stop_process(directory, grace_s)
    late, late_facts = backend.end(0.0)  # what the client still made meanwhile
    memory = see_gpu_memory(pids, lambda: gpus().memory_by_pid)
    port = () if is_left_alone(directory) else see_port(port_of(run.base_url), run.config.host)
    free = StopReport(tuple(limits), (*port, *memory))
    return join([workload, contained, client, late, free]), facts or late_facts


def leave_alone(directory: Path) -> None:
    """Note that the server of this run was started by its script elsewhere: it is not ours to stop."""
    write_json(directory / LEFT_ALONE, {})


def is_left_alone(directory: Path) -> bool:
    """Whether `leave_alone` was noted in this run directory, by this Pitwall or an earlier one."""
    return (directory / LEFT_ALONE).exists()


def _left_pids(directory: Path) -> set[int]:
    """What its supervisor has ended already."""
    end = read_exit(directory)
    return {one.pid for one in end.left} if end else set()


def how_it_ended(run: Run, cause: str | None, status: ProcessStatus, stopped: Stopped, now: datetime) -> dict[str, Any]:
    """The fields of a run that is over; `status` is the last look at its server."""
    report, facts = stopped
    ended = status.exit or UNSEEN
    cause = _whole_cause(cause, report, facts)
    is_unknown = status.started_at is not None and ended.exit_code is None and ended.signal is None
    return {
        "state": RunState.FAILED if cause else RunState.FINISHED,
        "exit_code": facts.exit_code if facts and facts.has_started else ended.exit_code,
        "exit_signal": ended.signal if facts is None else None,  # the client's own is not the server's
        **with_container(run, facts),
        "ended_at": ended.ended_at or now,
        "cause": cause,
        "note": describe_exit(ended) if is_unknown and not cause else run.note,
    }


def _whole_cause(cause: str | None, report: StopReport, facts: ContainerFacts | None) -> str | None:
    if facts and facts.is_oom_killed:
        cause = f"{cause or 'The container was stopped.'} {OUT_OF_MEMORY}"
    return " ".join([cause or NOT_AS_BEFORE, *report.leftovers]) if report.leftovers else cause


def server_words(backend: Backend, end: ProcessExit, log_tail: list[str]) -> str:
    """How a server ended by itself, in a sentence: what a container's client says of it, else its exit."""
    said = backend.describe_client_exit(end.exit_code, log_tail[-1]) if log_tail and end.exit_code else None
    is_client = not isinstance(backend, ProcessBackend) and end.signal is not None
    return said or describe_exit(end, "The container's client" if is_client else "The server")

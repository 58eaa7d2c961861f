"""Stops processes that Pitwall started: SIGTERM, wait, SIGKILL, then a check that none is left."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from launcher.processes.descendants import is_living
from launcher.processes.end_processes import LIMIT_S, POLL_S, EndedProcess, end_processes, send_signal, signal_server
from launcher.processes.process import process_status, processes_of, read_exit, server_process, shim_process
from machine.ports import describe_busy_port, is_port_free

KILL_WAIT_S = 5.0
SHIM_WAIT_S = LIMIT_S + KILL_WAIT_S
PORT_WAIT_S = 3.0
GPU_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class StopReport:
    """Actions of a stop, including exceeded limits, as phrases; and what it could not release, as full sentences."""

    actions: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.leftovers


def join(reports: Iterable[StopReport]) -> StopReport:
    """Combine the reports of several stops in order, without duplicates."""
    actions, leftovers = dict[str, None](), dict[str, None]()
    for report in reports:
        actions.update(dict.fromkeys(report.actions))
        leftovers.update(dict.fromkeys(report.leftovers))
    return StopReport(tuple(actions), tuple(leftovers))


def stop_process(directory: Path, grace_s: float) -> StopReport:
    """End the process of this directory and its descendants: SIGTERM, `grace_s`, SIGKILL; blocks until they ended."""
    if process_status(directory).state == "absent":
        return StopReport()
    actions = []
    processes = set(processes_of(directory))
    if _signal_server(directory):
        actions.append("asked the server to end (SIGTERM)")
        if not wait_until(lambda: server_process(directory) is None, grace_s):
            actions.append(f"it was still running after {grace_s:g} s")
    killed = _kill_server(directory)
    processes.update(processes_of(directory))
    wait_until(lambda: shim_process(directory) is None, SHIM_WAIT_S)  # it writes the exit code and ends orphans
    killed += end_processes(lambda: _living({*processes, *processes_of(directory)}), settle_s=0.0)
    if killed:
        actions.append(f"ended {_join_names(killed)}")
    if leftovers := _ended_by_shim(directory):
        actions.append(f"the supervisor ended processes that the server had left behind: {_join_names(leftovers)}")
    return StopReport(tuple(actions), _describe_survivors({*processes, *processes_of(directory)}))


def _kill_server(directory: Path) -> list[EndedProcess]:
    server = server_process(directory)
    return end_processes(lambda: _living([server]), settle_s=0.0, term_grace_s=0.0) if server else []


def _ended_by_shim(directory: Path) -> tuple[EndedProcess, ...]:
    end = read_exit(directory)
    return end.left if end else ()


def _describe_survivors(processes: Iterable[psutil.Process]) -> tuple[str, ...]:
    living = _living(processes)
    names = ", ".join(f"pid {process.pid}" for process in sorted(living, key=lambda p: p.pid))
    return (f"These processes could not be ended: {names}.",) if living else ()


def _join_names(ended: Iterable[EndedProcess]) -> str:
    return ", ".join(map(str, sorted(ended)))


def wait_until(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Check the condition every 50 ms; return False if it did not hold within the time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _signal_server(directory: Path) -> bool:
    status = process_status(directory)
    if status.state == "starting":  # the shim remembers it until there is a server
        if supervisor := shim_process(directory):
            send_signal(supervisor, signal.SIGTERM)
        wait_until(lambda: process_status(directory).state != "starting", KILL_WAIT_S)
        return True
    server = server_process(directory)
    if server:
        signal_server(server, signal.SIGTERM)
    return server is not None


def _living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if is_living(process)]


def check_port_released(port: int, host: str | None) -> tuple[str, ...]:
    """Return a sentence if the port is still taken after PORT_WAIT_S; empty if it is free."""
    return () if wait_until(lambda: is_port_free(port, host), PORT_WAIT_S) else (describe_busy_port(port),)


def check_gpu_memory_released(
    pids: Collection[int], memory_by_pid: Callable[[], Mapping[int, int | None]]
) -> tuple[str, ...]:
    """Return a sentence if the driver still counts GPU memory of a run's processes after GPU_WAIT_S; else empty."""
    held_bytes: dict[int, int | None] = {}

    def is_free() -> bool:
        held_bytes.clear()
        held_bytes.update({pid: size for pid, size in memory_by_pid().items() if pid in pids})
        return not held_bytes

    if wait_until(is_free, GPU_WAIT_S):
        return ()
    holders = ", ".join(_describe_memory(pid, size) for pid, size in sorted(held_bytes.items()))
    return (f"GPU memory is still held for {holders}.",)


def _describe_memory(pid: int, size: int | None) -> str:
    return f"pid {pid}" + (f" ({size / 2**30:.1f} GiB)" if size is not None else "")

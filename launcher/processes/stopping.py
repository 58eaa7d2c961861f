"""Stops what we started: SIGTERM, wait, SIGKILL, then check that no process is left."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from launcher.processes.descendants import is_living
from launcher.processes.ending import LIMIT_S, POLL_S, Ended, end_processes, send_signal, signal_server
from launcher.processes.process import look_at, processes_of, read_exit, server_process, shim_process
from machine.ports import describe_busy_port, is_port_free

KILL_WAIT_S = 5.0
SHIM_WAIT_S = LIMIT_S + KILL_WAIT_S
PORT_WAIT_S = 3.0
GPU_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class StopReport:
    """What stopping did, in words, with the limits that were passed; and in whole sentences what it could not do."""

    actions: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.leftovers


def join(reports: Iterable[StopReport]) -> StopReport:
    """The reports of several stops combined in order, without duplicates."""
    actions, leftovers = dict[str, None](), dict[str, None]()
    for report in reports:
        actions.update(dict.fromkeys(report.actions))
        leftovers.update(dict.fromkeys(report.leftovers))
    return StopReport(tuple(actions), tuple(leftovers))


def stop_process(directory: Path, grace_s: float) -> StopReport:
    """End the process of this directory with all it started: SIGTERM, `grace_s`, SIGKILL; blocks until it is over."""
    if look_at(directory).state == "absent":
        return StopReport()
    actions = []
    known = set(processes_of(directory))
    if _ask_server(directory):
        actions.append("asked the server to end (SIGTERM)")
        if not wait_until(lambda: server_process(directory) is None, grace_s):
            actions.append(f"it had not ended after {grace_s:g} s")
    killed = _kill_server(directory)
    known.update(processes_of(directory))
    wait_until(lambda: shim_process(directory) is None, SHIM_WAIT_S)  # it has the exit code to write and orphans to end
    killed += end_processes(lambda: _living({*known, *processes_of(directory)}), settle_s=0.0)
    if killed:
        actions.append(f"ended {_listed(killed)}")
    if left := _left_behind(directory):
        actions.append(f"the supervisor ended what the server had left behind: {_listed(left)}")
    return StopReport(tuple(actions), _still_there({*known, *processes_of(directory)}))


def _kill_server(directory: Path) -> list[Ended]:
    server = server_process(directory)
    return end_processes(lambda: _living([server]), settle_s=0.0, term_grace_s=0.0) if server else []


def _left_behind(directory: Path) -> tuple[Ended, ...]:
    end = read_exit(directory)
    return end.left if end else ()


def _still_there(processes: Iterable[psutil.Process]) -> tuple[str, ...]:
    living = _living(processes)
    names = ", ".join(f"pid {process.pid}" for process in sorted(living, key=lambda p: p.pid))
    return (f"Still there: {names}, which could not be ended.",) if living else ()


def _listed(ended: Iterable[Ended]) -> str:
    return ", ".join(map(str, sorted(ended)))


def wait_until(is_so: Callable[[], bool], timeout_s: float) -> bool:
    """Look every 50 ms until it is so; False if it was not within the time."""
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def _ask_server(directory: Path) -> bool:
    status = look_at(directory)
    if status.state == "starting":  # the shim keeps it in mind until there is a server
        if supervisor := shim_process(directory):
            send_signal(supervisor, signal.SIGTERM)
        wait_until(lambda: look_at(directory).state != "starting", KILL_WAIT_S)
        return True
    server = server_process(directory)
    if server:
        signal_server(server, signal.SIGTERM)
    return server is not None


def _living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if is_living(process)]


def see_port(port: int, host: str | None) -> tuple[str, ...]:
    """The sentence about a port that is still taken after a while; none when it is free."""
    return () if wait_until(lambda: is_port_free(port, host), PORT_WAIT_S) else (describe_busy_port(port),)


def see_gpu_memory(pids: Collection[int], memory_by_pid: Callable[[], Mapping[int, int | None]]) -> tuple[str, ...]:
    """The sentence about processes of a run that the driver still counts after a while; none when it counts none."""
    held: dict[int, int | None] = {}

    def is_free() -> bool:
        held.clear()
        held.update({pid: size for pid, size in memory_by_pid().items() if pid in pids})
        return not held

    if wait_until(is_free, GPU_WAIT_S):
        return ()
    return (f"GPU memory is still held for {', '.join(_held_words(pid, size) for pid, size in sorted(held.items()))}.",)


def _held_words(pid: int, size: int | None) -> str:
    return f"pid {pid}" + (f" ({size / 2**30:.1f} GiB)" if size is not None else "")

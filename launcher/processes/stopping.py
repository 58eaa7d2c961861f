"""Ending what we started: ask, wait, insist, and check that nothing is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from launcher.processes.process import look_at, processes_of, server_process, shim_process
from machine.ports import describe_busy_port, is_port_free

POLL_S = 0.05
ORPHAN_GRACE_S = 2.0  # for what the server leaves behind
KILL_WAIT_S = 5.0
PORT_WAIT_S = 3.0
GPU_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class StopReport:
    """What stopping did, in words; and in whole sentences what it could not do."""

    actions: tuple[str, ...] = ()
    leftovers: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        return not self.leftovers


def join(reports: Iterable[StopReport]) -> StopReport:
    """What several stops did, in their order; what two of them say is said once."""
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
    known.update(processes_of(directory))
    orphans = _living(known - {server_process(directory)})
    if orphans:
        _signal(orphans, signal.SIGTERM)
        wait_until(lambda: not _living(orphans), ORPHAN_GRACE_S)
    killed = _kill_all(directory, known)
    if killed:
        actions.append(f"ended {_names(killed)} by SIGKILL")
    wait_until(lambda: shim_process(directory) is None, KILL_WAIT_S)  # it has the exit code to write
    living = _living(known)
    left = (f"Still there: {_names(living)}, which could not be ended.",) if living else ()
    return StopReport(tuple(actions), left)


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
        _signal(filter(None, [shim_process(directory)]), signal.SIGTERM)
        wait_until(lambda: look_at(directory).state != "starting", KILL_WAIT_S)
        return True
    if status.state != "alive" or status.pid is None:
        return False
    with suppress(ProcessLookupError, PermissionError):
        is_leader = os.getpgid(status.pid) == status.pid
        (os.killpg if is_leader else os.kill)(status.pid, signal.SIGTERM)
    return True


def _kill_all(directory: Path, known: set[psutil.Process]) -> list[psutil.Process]:
    """SIGKILL, again and again, for what lives: a fork may have escaped the first look."""
    killed: dict[int, psutil.Process] = {}
    deadline = time.monotonic() + KILL_WAIT_S
    while time.monotonic() < deadline:
        known.update(processes_of(directory))
        living = _living(known)
        if not living:
            break
        killed.update({process.pid: process for process in living})
        _signal(living, signal.SIGKILL)
        time.sleep(POLL_S)
    return list(killed.values())


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            process.send_signal(number)  # psutil checks the start time first: a reused pid is spared


def _living(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    return [process for process in processes if process and is_living(process)]


def is_living(process: psutil.Process) -> bool:
    """Runs, or could still run: a zombie does not."""
    try:
        return bool(process.is_running()) and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _names(processes: Iterable[psutil.Process]) -> str:
    return ", ".join(f"pid {process.pid}" for process in sorted(processes, key=lambda p: p.pid))


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

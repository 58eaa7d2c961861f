"""Small process between Pitwall and a server: `python -m launcher.processes.shim RUN_DIR`.

It outlives Pitwall. It starts the process of RUN_DIR/spec.json (`ProcessSpec`), writes shim.json (the pids) and
descendants.json (every descendant of the server), waits, writes exit.json (exit code or signal), and ends leftover
processes. Secrets reach it only through its own environment: `${PITWALL_SECRET_n}` in an argv word is replaced by the
value from there, which is never written to disk.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from launcher.json_file import write_json
from launcher.processes.descendants import DescendantWatch, descendants
from launcher.processes.end_processes import EndedProcess, end_processes, signal_server
from launcher.processes.find_server import ScriptServerFinder
from machine.identity import boot_id
from machine.open_files import set_open_file_limit
from machine.private_files import FILE_MODE
from machine.process_start import process_start_s
from redaction import HIDDEN_PREFIX

MARKER = "PITWALL_RUN_ID"  # in the environment of everything that a run starts
SHIM_MARKER = "PITWALL_SHIM_OF"  # in the shim's own environment, so that it is never taken for a part of the server
LOOK_S = 0.1
STUBBORN_S = 5.0  # between two attempts to end processes that resist
_PR_SET_CHILD_SUBREAPER = 36
_HIDDEN = re.compile(r"\$\{(" + HIDDEN_PREFIX + r"\d+)\}")


def write_exit(directory: Path, content: Mapping[str, Any]) -> None:
    """Write exit.json; while the disk is full, wait for space, because nobody else knows the exit code."""
    while True:
        try:
            return write_json(directory / "exit.json", content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(1)


def describe_end(exit_code: int | None, cause: str | None = None) -> dict[str, Any]:
    """Return the content of exit.json; `exit_code` is negative for a signal, None if nothing was started."""
    code, number = (exit_code, None) if exit_code is None or exit_code >= 0 else (None, -exit_code)
    ended_at = datetime.now(UTC).isoformat()
    return {"exit_code": code, "signal": number, "cause": cause, "ended_at": ended_at, "left": []}


def become_subreaper() -> None:
    """Have orphaned descendants reparented to this process (Linux), so that they stay findable."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def complete_argv(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """Return the argv with its hidden secrets filled in."""
    return [_HIDDEN.sub(lambda m: environ.get(m[1], ""), word) for word in argv]


def server_environ(spec: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the server's environment: the shim's without Pitwall's variables, plus the spec's and the marker."""
    inherited = {name: value for name, value in environ.items() if not name.startswith("PITWALL_")}
    return {**inherited, **spec["env"], MARKER: spec["marker"]}


def explain_start(error: OSError, argv: Sequence[str], cwd: str) -> str:
    """Return in one sentence why the server could not be started."""
    if not Path(cwd).is_dir():
        return f"The working directory {cwd} does not exist."
    if isinstance(error, FileNotFoundError):
        return f"The executable {argv[0]} was not found."
    if isinstance(error, PermissionError):
        return f"{argv[0]} is not executable (permission denied)."
    return f"{argv[0]} could not be started: {error.strerror}."


def holds_directory(directory: Path) -> bool:
    """Whether this shim owns its directory, for its lifetime; waits for another one that is about to end.

    If a Pitwall is killed while it starts a shim, the next Pitwall cannot see that one yet and starts another.
    """
    lock = os.open(directory / "shim.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if (directory / "shim.json").exists():
                return False
            time.sleep(LOOK_S)
        else:
            return not (directory / "shim.json").exists()


class Wakeups:
    """Waits until a child ends or another signal arrives."""

    def __init__(self) -> None:
        self._read, write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(write, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)

    def rest(self, seconds: float) -> None:
        """Wait at most this many seconds; a signal that arrived before the call ends the wait immediately."""
        if select.select([self._read], [], [], seconds)[0]:
            os.read(self._read, 4096)


class Shim:
    """Starts one server, waits for its end and ends leftover processes; SIGTERM is forwarded to the server's group."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spec = json.loads((directory / "spec.json").read_text())
        self._watch = DescendantWatch(directory)
        self._server_finder = ScriptServerFinder(self._spec.get("port"))
        self._server: psutil.Process | None = None
        self._was_told_to_end = False

    def run(self) -> None:
        """Start the server, wait for its end, write exit.json, then end leftovers unless spec.json says 'leave'."""
        # Handlers, not SIG_IGN: an ignored signal would stay ignored in the server.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGHUP, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end_server())
        self._wakeups = Wakeups()
        become_subreaper()
        self._record()
        try:
            started = self._start()
        except OSError as error:
            cause = explain_start(error, self._spec["argv"], self._spec["cwd"])
            return write_exit(self._directory, describe_end(None, cause))
        leftovers = self._spec.get("leftovers", "end")
        code = self._wait_for(started.pid)
        if leftovers == "follow" and code == 0 and (next_server := self._running_child()):
            code = self._wait_for(next_server.pid, is_left=True)
        end = describe_end(code)
        write_exit(self._directory, end)
        if leftovers != "leave":
            self._end_leftovers(end)
        return None

    def _start(self) -> subprocess.Popen[bytes]:
        if (limit := self._spec.get("open_files")) is not None:
            set_open_file_limit(limit)
        (path := self._directory / self._spec["log"]).touch(FILE_MODE)
        with path.open("ab") as log:
            return subprocess.Popen(
                complete_argv(self._spec["argv"], os.environ),
                cwd=self._spec["cwd"],
                env=server_environ(self._spec, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_for(self, server_pid: int, is_left: bool = False) -> int:
        """Wait for the end of this child, or of a script's leftover child that turns out to be the server.

        Return its exit code, negative for a signal.
        """
        self._set_server(server_pid)
        while (code := self._reap(server_pid)) is None:
            if self._watch.update() and not is_left:
                self._server_finder.note_helpers(server_pid, self._watch.last_seen)
            if (
                is_left
                and (listener := self._server_finder.find_listener(self._watch.last_seen))
                and listener.pid != server_pid
            ):
                server_pid = listener.pid
                self._set_server(server_pid)
            self._wakeups.rest(LOOK_S)
        self._server = None
        return code

    def _set_server(self, pid: int) -> None:
        """Record this child as the server."""
        self._server = psutil.Process(pid)
        with suppress(OSError):  # a full disk: the server is then found by its marker
            self._record()
        if self._was_told_to_end:
            self._end_server()

    def _reap(self, server_pid: int | None = None) -> int | None:
        """Reap all ended children; return the exit code of the server if it is among them."""
        code = None
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                code = os.waitstatus_to_exitcode(ended[1]) if ended[0] == server_pid else code
        return code

    def _record(self) -> None:
        server_pid = self._server.pid if self._server else None
        content = {
            "marker": self._spec["marker"],
            "shim_pid": os.getpid(),
            "shim_birth_s": process_start_s(os.getpid()),
            "server_pid": server_pid,
            "server_birth_s": process_start_s(server_pid) if server_pid else None,
            "started_at": datetime.now(UTC).isoformat() if server_pid else None,
            "boot_id": boot_id(),
        }
        write_json(self._directory / "shim.json", content)

    def _end_server(self) -> None:
        self._was_told_to_end = True
        if self._server:
            signal_server(self._server, signal.SIGTERM)

    def _running_child(self) -> psutil.Process | None:
        """Return the child that an ended script left running; None if there is none, or the server was told to end."""
        children = [] if self._was_told_to_end else [p for p in self._living() if p.ppid() == os.getpid()]
        return self._server_finder.choose_oldest(children)

    def _living(self) -> list[psutil.Process]:
        self._reap()
        return descendants(psutil.Process())

    def _end_leftovers(self, end: dict[str, Any]) -> None:
        """End leftover processes and add them to exit.json; stay until none of them lives."""
        ended: dict[int, EndedProcess] = {}
        while self._living():
            ended |= {process.pid: process for process in end_processes(self._living)}
            if ended:
                write_exit(self._directory, {**end, "left": [process._asdict() for process in ended.values()]})
            if self._living():
                self._wakeups.rest(STUBBORN_S)


def main(directory: Path) -> None:
    """Run as the shim of this directory, unless it already has one."""
    if holds_directory(directory):
        Shim(directory).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))

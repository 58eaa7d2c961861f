"""The small process between Pitwall and a server: `python -m launcher.processes.shim RUN_DIR`.

It outlives Pitwall. It starts what RUN_DIR/spec.json says (`ProcessSpec`), writes shim.json (who runs), waits,
and writes exit.json (how it ended). Secrets reach it in its own environment alone: a word of the argv that holds
`${PITWALL_SECRET_n}` is completed from there and nothing of it is written down.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from machine.identity import boot_id
from machine.process_start import process_start_s
from redaction import HIDDEN_PREFIX

MARKER = "PITWALL_RUN_ID"  # in the environment of everything that a run starts
SHIM_MARKER = "PITWALL_SHIM_OF"  # in the shim's own, so that it is never taken for a part of the server
_PR_SET_CHILD_SUBREAPER = 36
_HIDDEN = re.compile(r"\$\{(" + HIDDEN_PREFIX + r"\d+)\}")


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write durably, whole or not at all; raises OSError."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w") as file:
        json.dump(content, file)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def write_exit(directory: Path, exit_code: int | None, signal_number: int | None, cause: str | None) -> None:
    """Write exit.json; while the disk is full, wait for room, because nobody else knows the exit code."""
    ended_at = datetime.now(UTC).isoformat()
    content = {"exit_code": exit_code, "signal": signal_number, "cause": cause, "ended_at": ended_at}
    while True:
        try:
            return write_json(directory / "exit.json", content)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(1)


def become_subreaper() -> None:
    """Have orphaned descendants reparented to this process (Linux), so that they stay findable."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def complete_argv(argv: Sequence[str], environ: Mapping[str, str]) -> list[str]:
    """The argv with its hidden secrets put in."""
    return [_HIDDEN.sub(lambda m: environ.get(m[1], ""), word) for word in argv]


def server_environ(spec: Mapping[str, Any], environ: Mapping[str, str]) -> dict[str, str]:
    """What the server inherits: the shim's environment without Pitwall's own variables, the spec's, the marker."""
    inherited = {name: value for name, value in environ.items() if not name.startswith("PITWALL_")}
    return {**inherited, **spec["env"], MARKER: spec["marker"]}


def explain_start(error: OSError, argv: Sequence[str], cwd: str) -> str:
    """Why the server could not be started, in one sentence."""
    if not Path(cwd).is_dir():
        return f"The working directory {cwd} does not exist."
    if isinstance(error, FileNotFoundError):
        return f"The executable {argv[0]} was not found."
    if isinstance(error, PermissionError):
        return f"{argv[0]} may not be executed (permission denied)."
    return f"{argv[0]} could not be started: {error.strerror}."


class Shim:
    """Starts one server and waits for its end; SIGTERM is passed on to the server's process group."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._spec = json.loads((directory / "spec.json").read_text())
        self._server: subprocess.Popen[bytes] | None = None
        self._was_told_to_end = False

    def run(self) -> None:
        # Handlers, not SIG_IGN: an ignored signal would stay ignored in the server.
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.signal(signal.SIGHUP, lambda *_: None)
        signal.signal(signal.SIGTERM, lambda *_: self._end_server())
        become_subreaper()
        self._record()
        try:
            self._server = self._start()
        except OSError as error:
            return write_exit(self._directory, None, None, explain_start(error, self._spec["argv"], self._spec["cwd"]))
        with suppress(OSError):  # a full disk: the server is then found by its marker
            self._record()
        if self._was_told_to_end:
            self._end_server()
        code = self._wait(self._server.pid)
        return write_exit(self._directory, None if code < 0 else code, -code if code < 0 else None, None)

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._directory / self._spec["log"]).open("ab") as log:
            return subprocess.Popen(
                complete_argv(self._spec["argv"], os.environ),
                cwd=self._spec["cwd"],
                env=server_environ(self._spec, os.environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

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
        if self._server and self._server.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._server.pid, signal.SIGTERM)

    def _wait(self, server_pid: int) -> int:
        """Reap whatever falls to us until the server itself has ended; its exit code, negative for a signal."""
        assert self._server
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == server_pid:
                self._server.returncode = os.waitstatus_to_exitcode(status)
                return self._server.returncode


if __name__ == "__main__":
    Shim(Path(sys.argv[1])).run()

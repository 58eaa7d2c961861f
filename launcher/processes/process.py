"""Server processes under their shims: starts one, finds it again from its run directory, reads its state.

Pitwall need not be their parent. Everything known about a process is in its directory (spec.json, shim.json,
descendants.json, exit.json) and in a marker in the environment of its descendants, which some of them overwrite.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import psutil

from launcher.json_file import write_json
from launcher.processes.descendants import descendants, is_living, recorded_processes, session_members
from launcher.processes.end_processes import EndedProcess
from launcher.processes.shim import MARKER, SHIM_MARKER
from machine.identity import boot_id
from machine.private_files import FILE_MODE
from machine.process_start import all_processes, process_start_s, same_process
from redaction import HIDDEN_PREFIX, is_secret_name

SERVER_LOG = "server.log"
WORKLOAD = "workload"  # the directory of a run's first load within the run's; 'workload-2' that of the next
RECORDER = "recorder"  # likewise, of its recorders
ROOT = Path(__file__).resolve().parents[2]
LOST = "exit code unknown: its supervisor was killed"
LOST_AT_BOOT = "exit code unknown: the machine was restarted"
_CLIENT_DIRECTORY = re.compile(rf"(?P<kind>{WORKLOAD}|{RECORDER})(-[1-9]\d{{0,5}})?")
Leftovers = Literal["end", "follow", "leave"]


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """The process that a shim starts; `argv` and `env` hold no secret values."""

    argv: list[str]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    log: str = SERVER_LOG  # in the process's directory, appended to
    # Treatment of processes that outlive the first one: "follow" waits for a script's server as for the first process,
    # "leave" leaves those of a container's client to its runtime.
    leftovers: Leftovers = "end"
    port: int | None = None  # identifies the server among the processes that a script leaves
    # Soft limit of open files; None: Pitwall's own, which it raises. The hard limit is always the user's.
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """End of a process; code and signal are both None if unknown, and `cause` says why."""

    exit_code: int | None
    signal: int | None
    cause: str | None
    ended_at: datetime | None
    left: tuple[EndedProcess, ...] = ()  # processes that outlived it and had to be ended


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """Status of a process, read from its directory."""

    state: Literal["absent", "starting", "alive", "ended"]  # absent: it was never started
    pid: int | None = None
    pid_birth_s: float | None = None
    pid_started_at: float | None = None  # seconds since the epoch, as psutil gives it
    started_at: datetime | None = None
    is_supervised: bool = True  # False: the shim is gone, the server still runs
    exit: ProcessExit | None = None


def write_spec(spec: ProcessSpec, directory: Path) -> None:
    """Write spec.json, which tells the shim of this directory what to start."""
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "spec.json", {"marker": marker_of(directory), **asdict(spec)})


def read_spec(directory: Path) -> dict[str, Any]:
    """Return the content of spec.json."""
    spec: dict[str, Any] = json.loads((directory / "spec.json").read_text())
    return spec


def start_shim(directory: Path, secrets: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a shim on the directory's spec.json; the Popen only serves to reap it."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PITWALL_")}
    (directory / "shim.log").touch(FILE_MODE)
    with (directory / "shim.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "launcher.processes.shim", str(directory)],
            cwd=ROOT,
            env={**environ, **secrets, SHIM_MARKER: marker_of(directory)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def marked_processes(marker: str, name: str = MARKER) -> list[psutil.Process]:
    """Return the living processes with this marker in their environment, oldest first."""
    processes = []
    for process in all_processes():
        try:
            if process.environ().get(name) == marker and is_living(process):
                processes.append(process)
        except (psutil.Error, OSError):  # already gone, or another user's
            continue
    return sorted(processes, key=lambda process: process.create_time())


def read_exit(directory: Path) -> ProcessExit | None:
    """Return the exit that the shim recorded; None before the process ended."""
    path = directory / "exit.json"
    if not path.exists():
        return None
    content = json.loads(path.read_text())
    ended_at = datetime.fromisoformat(content["ended_at"])
    leftovers = tuple(EndedProcess(**item) for item in content.get("left", ()))
    return ProcessExit(content["exit_code"], content["signal"], content["cause"], ended_at, leftovers)


def read_shim(directory: Path) -> dict[str, Any]:
    """Return the content of shim.json, empty if there is none, and without the pids of an earlier boot."""
    path = directory / "shim.json"
    content: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if content and content["boot_id"] != boot_id():
        return {"boot_id": content["boot_id"]}
    return content


def shim_process(directory: Path) -> psutil.Process | None:
    """Return the living shim of this directory; None if there is none."""
    shim = read_shim(directory)
    if shim.get("shim_birth_s") is not None:
        return same_process(shim["shim_pid"], shim["shim_birth_s"])
    return next(iter(marked_processes(marker_of(directory), SHIM_MARKER)), None)


def environ_of(process: psutil.Process) -> dict[str, str]:
    """Return the environment that the process was started with; empty if it cannot be read."""
    with suppress(psutil.Error, OSError):
        environ: dict[str, str] = process.environ()
        return environ
    return {}


def shim_secrets(directory: Path) -> dict[str, str]:
    """Return the secrets that the living shim was given; only its memory keeps them when Pitwall ends."""
    supervisor = shim_process(directory)
    environ = environ_of(supervisor) if supervisor else {}
    return {name: value for name, value in environ.items() if name.startswith(HIDDEN_PREFIX) or is_secret_name(name)}


def server_process(directory: Path) -> psutil.Process | None:
    """Return the living process that the shim started; without a record of it, the oldest with its marker.

    A shim of an older Pitwall did not record start times.
    """
    shim = read_shim(directory)
    if shim.get("server_birth_s") is not None:
        return same_process(shim["server_pid"], shim["server_birth_s"])
    return next(iter(marked_processes(marker_of(directory))), None)


def marker_of(directory: Path) -> str:
    """Return the marker of the process of this directory: the run's id, or '<run id>/workload'."""
    is_client = _CLIENT_DIRECTORY.fullmatch(directory.name)
    return f"{directory.parent.name}/{directory.name}" if is_client else directory.name


def load_directories(directory: Path) -> list[Path]:
    """Return the directories of the run's loads, in the order in which they began."""
    return client_directories(directory, WORKLOAD)


def client_directories(directory: Path, kind: str) -> list[Path]:
    """Return the directories of the run's loads, or of its recorders, in order."""
    paths = [path for path in directory.glob(f"{kind}*") if _CLIENT_DIRECTORY.fullmatch(path.name)]
    return sorted(paths, key=lambda path: int(path.name.partition("-")[2] or 1))


def process_status(directory: Path, shim: subprocess.Popen[bytes] | None = None) -> ProcessStatus:
    """Return the current status of this directory's process; a reused pid is never mistaken for it.

    shim: the shim, if this process started it; while it lives, the directory's process may still start.
    """
    if not (directory / "exit.json").exists():
        supervisor = shim_process(directory)
        server = server_process(directory)
        record = read_shim(directory)
        if server and (record.get("server_pid") is not None or not supervisor):
            started_at = record.get("started_at")
            return ProcessStatus(
                "alive",
                server.pid,
                record.get("server_birth_s") or _start_of(server),
                server.create_time(),
                datetime.fromisoformat(started_at) if started_at else None,
                supervisor is not None,
            )
        if supervisor:
            return ProcessStatus("starting")
    # Read after the shim was found gone: it may have written in between.
    is_coming = shim is not None and shim.poll() is None
    status = _ended_status(directory)
    return ProcessStatus("starting") if status.state == "absent" and is_coming else status


def _start_of(process: psutil.Process) -> float | None:
    try:
        return process_start_s(process.pid)
    except psutil.NoSuchProcess:
        return None


def _ended_status(directory: Path) -> ProcessStatus:
    record, end = read_shim(directory), read_exit(directory)
    if not record and not end:  # a shim records itself before it starts anything
        return ProcessStatus("absent")
    return ProcessStatus(
        "ended",
        record.get("server_pid"),
        record.get("server_birth_s"),
        None,
        datetime.fromisoformat(record["started_at"]) if record.get("started_at") else None,
        exit=end or ProcessExit(None, None, LOST if "shim_pid" in record else LOST_AT_BOOT, None),
    )


def processes_of(directory: Path) -> list[psutil.Process]:
    """Return every living process that the shim's server started, including the server.

    They are found by record, by descent, by session, and by the marker if there was no time to record them.
    """
    server, supervisor = server_process(directory), shim_process(directory)
    processes = {*recorded_processes(directory), *filter(None, [server])}
    processes.update(child for ancestor in {*processes, *filter(None, [supervisor])} for child in descendants(ancestor))
    processes.update(session_members(_sessions_of(processes) - {os.getsid(0)}))
    processes.update(marked_processes(marker_of(directory)))
    return [process for process in processes - {supervisor} if process.pid != os.getpid()]


def _sessions_of(processes: Iterable[psutil.Process]) -> set[int]:
    """Return the sessions of these processes; each was opened below the shim, which is in none of them."""
    sessions = set()
    for process in processes:
        with suppress(ProcessLookupError):
            sessions.add(os.getsid(process.pid))
    return sessions

"""Server processes under their shims: start one, find it again from its run directory, read its state.

Pitwall need not be the parent of any of them. All that is known of a process is in its directory (spec.json,
shim.json, descendants.json, exit.json) and in a marker in the environment of its descendants, which some of them
wipe.
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
from launcher.processes.ending import Ended
from launcher.processes.shim import MARKER, SHIM_MARKER
from machine.identity import boot_id
from machine.private_files import FILE_MODE
from machine.process_start import all_processes, process_start_s, same_process
from redaction import HIDDEN_PREFIX, is_secret_name

WORKLOAD = "workload"  # the directory of a run's first load within the run's; 'workload-2' that of the next
RECORDER = "recorder"  # likewise, of its recorders
ROOT = Path(__file__).resolve().parents[2]
LOST = "exit code unknown: its supervisor was killed"
LOST_AT_BOOT = "exit code unknown: the machine was restarted"
_PART = re.compile(rf"(?P<kind>{WORKLOAD}|{RECORDER})(-[1-9]\d{{0,5}})?")
Leftovers = Literal["end", "follow", "leave"]


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """What a shim starts; `argv` and `env` hold no secret values."""

    argv: list[str]
    cwd: str
    env: dict[str, str] = field(default_factory=dict)
    log: str = "server.log"  # in the process's directory, appended to
    # What becomes of the processes that the first one leaves: a script's own server is waited for as the first one was,
    # what a container's client leaves is its runtime's to end.
    leftovers: Leftovers = "end"
    port: int | None = None  # where the server will listen: of several processes that a script leaves, that one is it
    # The soft limit of open files; None: that of Pitwall, which raises its own. The hard one is the user's in any case.
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class ProcessExit:
    """How a process ended; code and signal are both None if that is unknown, and `cause` says why."""

    exit_code: int | None
    signal: int | None
    cause: str | None
    ended_at: datetime | None
    left: tuple[Ended, ...] = ()  # what outlived it and had to be ended


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """The state of a process, read from its directory."""

    state: Literal["absent", "starting", "alive", "ended"]  # absent: it was never started
    pid: int | None = None
    pid_birth_s: float | None = None
    pid_started_at: float | None = None  # seconds since the epoch as psutil gives it
    started_at: datetime | None = None
    is_supervised: bool = True  # False: the shim is gone, the server lives on
    exit: ProcessExit | None = None


def write_spec(spec: ProcessSpec, directory: Path) -> None:
    """Write spec.json, which says what the shim of this directory is to start."""
    directory.mkdir(parents=True, exist_ok=True)
    write_json(directory / "spec.json", {"marker": marker_of(directory), **asdict(spec)})


def read_spec(directory: Path) -> dict[str, Any]:
    """spec.json as it was laid down."""
    written: dict[str, Any] = json.loads((directory / "spec.json").read_text())
    return written


def start_shim(directory: Path, secrets: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a shim on the directory's spec.json; the Popen is only there to be reaped."""
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
    """The living processes that carry this marker in their environment, the oldest first."""
    found = []
    for process in all_processes():
        try:
            if process.environ().get(name) == marker and is_living(process):
                found.append(process)
        except (psutil.Error, OSError):  # gone meanwhile, or another user's
            continue
    return sorted(found, key=lambda process: process.create_time())


def read_exit(directory: Path) -> ProcessExit | None:
    """What the shim wrote when the process ended."""
    path = directory / "exit.json"
    if not path.exists():
        return None
    written = json.loads(path.read_text())
    ended_at = datetime.fromisoformat(written["ended_at"])
    left = tuple(Ended(**one) for one in written.get("left", ()))
    return ProcessExit(written["exit_code"], written["signal"], written["cause"], ended_at, left)


def read_shim(directory: Path) -> dict[str, Any]:
    """shim.json, empty while there is none; the pids of another boot are left out."""
    path = directory / "shim.json"
    written: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    if written and written["boot_id"] != boot_id():
        return {"boot_id": written["boot_id"]}
    return written


def shim_process(directory: Path) -> psutil.Process | None:
    """The living shim of this directory."""
    written = read_shim(directory)
    if written.get("shim_birth_s") is not None:
        return same_process(written["shim_pid"], written["shim_birth_s"])
    return next(iter(marked_processes(marker_of(directory), SHIM_MARKER)), None)


def environ_of(process: psutil.Process) -> dict[str, str]:
    """The environment that the process was started with; empty where it may not be read."""
    with suppress(psutil.Error, OSError):
        environ: dict[str, str] = process.environ()
        return environ
    return {}


def shim_secrets(directory: Path) -> dict[str, str]:
    """The secrets that the living shim was given: its memory is the one place where they outlive Pitwall."""
    supervisor = shim_process(directory)
    environ = environ_of(supervisor) if supervisor else {}
    return {name: value for name, value in environ.items() if name.startswith(HIDDEN_PREFIX) or is_secret_name(name)}


def server_process(directory: Path) -> psutil.Process | None:
    """The living process that the shim started; without a record of it, the oldest with its marker.

    A shim of an older Pitwall did not record start times.
    """
    written = read_shim(directory)
    if written.get("server_birth_s") is not None:
        return same_process(written["server_pid"], written["server_birth_s"])
    return next(iter(marked_processes(marker_of(directory))), None)


def marker_of(directory: Path) -> str:
    """The marker of the process of this directory: the run's id, or '<run id>/workload'."""
    is_part = _PART.fullmatch(directory.name)
    return f"{directory.parent.name}/{directory.name}" if is_part else directory.name


def load_directories(directory: Path) -> list[Path]:
    """Those of the loads of the run whose directory this is, in the order of their beginning."""
    return part_directories(directory, WORKLOAD)


def part_directories(directory: Path, kind: str) -> list[Path]:
    """Those of the loads, or of the recorders, of the run whose directory this is."""
    found = [path for path in directory.glob(f"{kind}*") if _PART.fullmatch(path.name)]
    return sorted(found, key=lambda path: int(path.name.partition("-")[2] or 1))


def look_at(directory: Path, shim: subprocess.Popen[bytes] | None = None) -> ProcessStatus:
    """The current state of this directory's process; a reused pid is never mistaken for it.

    shim: where this process has started it itself; while it lives, the directory's process may still come.
    """
    if not (directory / "exit.json").exists():
        supervisor = shim_process(directory)
        server = server_process(directory)
        written = read_shim(directory)
        if server and (written.get("server_pid") is not None or not supervisor):
            started_at = written.get("started_at")
            return ProcessStatus(
                "alive",
                server.pid,
                written.get("server_birth_s") or _start_of(server),
                server.create_time(),
                datetime.fromisoformat(started_at) if started_at else None,
                supervisor is not None,
            )
        if supervisor:
            return ProcessStatus("starting")
    # Read after the shim was seen gone: it may have written in between.
    is_coming = shim is not None and shim.poll() is None
    status = _ended(directory)
    return ProcessStatus("starting") if status.state == "absent" and is_coming else status


def _start_of(process: psutil.Process) -> float | None:
    try:
        return process_start_s(process.pid)
    except psutil.NoSuchProcess:
        return None


def _ended(directory: Path) -> ProcessStatus:
    written, end = read_shim(directory), read_exit(directory)
    if not written and not end:  # a shim writes itself down before it starts anything
        return ProcessStatus("absent")
    return ProcessStatus(
        "ended",
        written.get("server_pid"),
        written.get("server_birth_s"),
        None,
        datetime.fromisoformat(written["started_at"]) if written.get("started_at") else None,
        exit=end or ProcessExit(None, None, LOST if "shim_pid" in written else LOST_AT_BOOT, None),
    )


def processes_of(directory: Path) -> list[psutil.Process]:
    """Every living process that the shim's server started, itself included.

    They are found by record, by descent and by session, and by the marker where there was no time to record them.
    """
    server, supervisor = server_process(directory), shim_process(directory)
    known = {*recorded_processes(directory), *filter(None, [server])}
    known.update(child for ancestor in {*known, *filter(None, [supervisor])} for child in descendants(ancestor))
    known.update(session_members(_sessions_of(known) - {os.getsid(0)}))
    known.update(marked_processes(marker_of(directory)))
    return [process for process in known - {supervisor} if process.pid != os.getpid()]


def _sessions_of(processes: Iterable[psutil.Process]) -> set[int]:
    """The sessions that these are in: each was opened below our shim, which is in none of them."""
    sessions = set()
    for process in processes:
        with suppress(ProcessLookupError):
            sessions.add(os.getsid(process.pid))
    return sessions

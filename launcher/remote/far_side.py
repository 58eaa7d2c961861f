"""The far side of a launch by ssh: `./pitwall shim -` reads one order and does it with the shim of this machine.

Each run has a folder of its own below the data folder, as a local one has, so what is known of its server outlives the
connection. Nothing is decided by who asks: whoever may log in here may start what they like anyway.
"""

from __future__ import annotations

import os
import select
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from domain import Machine, Run
from errors import PitwallError
from launcher.checks.file_patterns import with_files_named
from launcher.checks.machine_check import check_here
from launcher.checks.preflight import (
    LaunchRefusedError,
    LaunchRequest,
    check_machine,
    expanded,
    port_of,
    working_directory,
)
from launcher.processes.descendants import DescendantRecord
from launcher.processes.process import ProcessSpec, ProcessStatus, look_at, processes_of, start_shim, write_spec
from launcher.processes.runtimes import backend_of
from launcher.remote.orders import ORDER, Check, Follow, Forget, Start, Stop, WhoAreYou
from launcher.remote.wire import BEAT_S, GONE, GREETING, LOG_CHUNK_BYTES, ORDER_BYTES, line_of
from launcher.runs.new_run import SERVER_LOG, leftovers_of
from launcher.runs.provenance import GpusNow, freeze
from launcher.runs.supervised_runs.teardown import leave_alone, stop_everything
from machine.identity import machine_id
from machine.private_files import FILE_MODE, private_folder, write_private
from machine.regular_file import NotRegularError, opened
from machine.shared_file import locked

STOPPED = "stopped"  # in a run's folder: its server is not started any more
RUN = "run.json"
PREFIX = "ssh-"  # of a run's folder, so of its marker: both sides may be one machine
LOOK_S = 0.2
KEPT_S = 86_400.0  # of the mark that a run was stopped: no order to start it is under way that long
OTHER_VERSION = "The Pitwall there does not understand this one: update both to the same version."
WAS_STOPPED = "It was stopped before its server was started."


class FarSide:
    """Does one order; `folder` holds the runs, `gpus()` and `machine()` say what this machine is."""

    def __init__(
        self, folder: Path, gpus: Callable[[], GpusNow], machine: Callable[[], Machine], stdin: int = 0, stdout: int = 1
    ) -> None:
        self._folder, self._gpus, self._machine = folder, gpus, machine
        self._stdin, self._stdout = stdin, stdout
        self._writing = threading.Lock()
        self._said_at_s = 0.0

    def serve(self) -> None:
        """Greet, read one order, do it. Raises BrokenPipeError when the other side has gone."""
        self._write(GREETING)
        try:
            self._do(ORDER.validate_json(self._read_order()))
        except ValidationError:
            self._say(refused=OTHER_VERSION)
        except PitwallError as refusal:
            self._say(refused=str(refusal))
        except BrokenPipeError:
            raise
        except OSError as error:
            self._say(refused=f"It could not be done there: {error.strerror} ({error.filename}).")

    def _place(self, run_id: str) -> Path:
        return self._folder / f"{PREFIX}{run_id}"

    def _new_place(self, run_id: str) -> Path:
        private_folder(self._folder)
        return self._place(run_id)

    def _read_order(self) -> bytes:
        read = bytearray()
        while not read.endswith(b"\n") and (data := os.read(self._stdin, 1 << 16)):
            read += data
            if len(read) > ORDER_BYTES:
                raise PitwallError("The order is too long.")
        return bytes(read)

    def _do(self, order: Start | Follow | Stop | Forget | Check | WhoAreYou) -> None:
        match order:
            case Start():
                self._begin(order)
                self._follow(order.follow)
            case Follow():
                self._follow(order)
            case Stop():
                self._say(answer=self.stop(order))
            case Forget():
                self.forget(order.run_id)
                self._say(answer={})
            case Check():
                self._say(answer=self._check(order))
            case WhoAreYou():
                self._say(answer=asdict(self._machine()))

    # --- starting ---------------------------------------------------------------------------------------------------
    def _begin(self, order: Start) -> None:
        directory = self._new_place(order.run.id)
        with locked(directory / RUN):
            if (directory / STOPPED).exists():
                raise LaunchRefusedError(WAS_STOPPED)
            if look_at(directory).state == "absent":
                self._start(order, directory)

    def _start(self, order: Start, directory: Path) -> None:
        here = {"run_dir": str(directory), "log_path": str(directory / SERVER_LOG), "machine_id": machine_id()}
        run, cwd = order.run.model_copy(update=here), Path(order.cwd) if order.cwd else None
        request = LaunchRequest(run.config, base_url=run.base_url, cwd=cwd, makes_model=order.makes_model)
        request = expanded(with_files_named(request))
        for limit in check_machine(request):
            self._say(passed=limit)
        config = request.config
        words = backend_of(config, run.id).words(config.argv)
        port = port_of(run.base_url) if run.base_url else None
        spec = ProcessSpec(
            words, str(working_directory(request)), config.env, leftovers=leftovers_of(config), port=port
        )
        write_private(directory / RUN, run.model_dump_json().encode())
        write_spec(spec, directory)
        start_shim(directory, order.secrets)

    # --- following --------------------------------------------------------------------------------------------------
    def _follow(self, order: Follow) -> None:
        """Until the other side goes: the log, the server and its end, and a beat."""
        directory = self._place(order.run_id)
        self._say(begun=True)
        if order.wants_about:
            about_thread = threading.Thread(
                target=self._send_about, args=(directory,), name=f"tell-{order.run_id}", daemon=True
            )
            about_thread.start()
        offset, last = order.offset, ProcessStatus("starting")
        record = DescendantRecord(directory)
        while not self._is_cut():
            status = look_at(directory)
            if status.state == "absent":
                raise PitwallError(GONE)
            if not status.is_supervised:
                record.keep(processes_of(directory))
            if status.state == "alive" and status.pid != last.pid:
                self._say(server={"pid": status.pid, "started_at": status.started_at})
            offset = self._send_log(directory / SERVER_LOG, offset)
            if status.exit and not last.exit:
                self._say(exit={**_as_exit(status), "started_at": status.started_at})
            last = status
            if time.monotonic() - self._said_at_s > BEAT_S:
                self._say(beat=True)

    def _is_cut(self) -> bool:
        """Whether the connection's other end has closed; waits a moment for it."""
        readable, _, _ = select.select([self._stdin], [], [], LOOK_S)
        return bool(readable) and not os.read(self._stdin, 1 << 16)

    def _send_log(self, path: Path, offset: int) -> int:
        """Everything from the offset on; where it ended."""
        with suppress(FileNotFoundError, NotRegularError), opened(path) as log:
            log.seek(offset)
            while data := log.read(LOG_CHUNK_BYTES):
                self._write(line_of({"log": len(data)}) + data)
                offset += len(data)
        return offset

    def _send_about(self, directory: Path) -> None:
        """What it runs on; a driver may take seconds to answer, and the log does not wait for it."""
        with suppress(OSError, PitwallError, ValueError):
            run, machine = _read_run(directory), self._machine()
            self._say(about={"machine": asdict(machine), "provenance": freeze(run, self._gpus())})

    # --- ending -----------------------------------------------------------------------------------------------------
    def stop(self, order: Stop) -> dict[str, Any]:
        """End everything of a run; raises OSError, ValidationError for a folder of another version."""
        directory = self._new_place(order.run_id)
        with locked(directory / RUN):
            (directory / STOPPED).touch(FILE_MODE)
            if order.is_left_alone:
                leave_alone(directory)
        if not (directory / RUN).exists():
            return {"actions": [], "leftovers": []}
        report, container = stop_everything(_read_run(directory), order.grace_s, self._gpus)
        stopped = {"actions": report.actions, "leftovers": report.leftovers}
        return {**stopped, "container": asdict(container) if container else None}

    def forget(self, run_id: str) -> None:
        """Remove the folder of a run that was stopped, but for the mark that it was."""
        directory = self._place(run_id)
        if (directory / STOPPED).exists() and not processes_of(directory):
            for path in directory.iterdir():
                if path.name != STOPPED:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        for marked in self._folder.glob(f"*/{STOPPED}"):
            if time.time() - marked.stat().st_mtime > KEPT_S and len(list(marked.parent.iterdir())) == 1:
                shutil.rmtree(marked.parent, ignore_errors=True)

    def run_ids(self) -> list[str]:
        """The runs that have a folder here and a server that is not over."""
        states = {path.parent.name: look_at(path.parent).state for path in sorted(self._folder.glob(f"*/{RUN}"))}
        return [name.removeprefix(PREFIX) for name, state in states.items() if state in ("starting", "alive")]

    # --- before a start ---------------------------------------------------------------------------------------------
    def _check(self, order: Check) -> dict[str, Any]:
        cwd = Path(order.cwd or Path.cwd()).expanduser()
        return check_here(order.config, order.needs, self._gpus, cwd).model_dump(mode="json")

    def _say(self, **fields: Any) -> None:
        self._write(line_of(fields))

    def _write(self, data: bytes) -> None:
        with self._writing:
            self._said_at_s = time.monotonic()
            view = memoryview(data)
            while view:
                view = view[os.write(self._stdout, view) :]


def _read_run(directory: Path) -> Run:
    return Run.model_validate_json((directory / RUN).read_bytes())


def _as_exit(status: ProcessStatus) -> dict[str, Any]:
    assert status.exit
    return {**asdict(status.exit), "left": [one._asdict() for one in status.exit.left]}

"""Remote side of a launch over ssh: `./pitwall shim -` reads one order and executes it with this machine's shim.

Like a local run, each run has a folder below the data folder, so its server's state outlives the connection. There is
no authorization of its own: a user who can log in here can start any program anyway.
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
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.checks.machine_check import check_here
from launcher.checks.preflight import check_machine
from launcher.checks.prepared_launch import prepare_launch
from launcher.checks.provenance import GpuSnapshot, freeze
from launcher.processes.descendants import DescendantRecord
from launcher.processes.process import (
    SERVER_LOG,
    ProcessSpec,
    ProcessStatus,
    process_status,
    processes_of,
    start_shim,
    write_spec,
)
from launcher.processes.runtimes import backend_of, leftovers_of
from launcher.remote.orders import ORDER, CheckOrder, FollowOrder, ForgetOrder, MachineOrder, StartOrder, StopOrder
from launcher.remote.wire import BEAT_S, GREETING, LOG_CHUNK_BYTES, ORDER_BYTES, RUN_FOLDER_GONE, encode_line
from launcher.teardown import leave_alone, stop_everything
from machine.identity import machine_id
from machine.private_files import FILE_MODE, private_folder, write_private
from machine.regular_file import NotRegularError, open_regular
from machine.shared_file import file_lock

STOPPED_FILE = "stopped"  # in a run's folder: its server is never started again
RUN_FILE = "run.json"
PREFIX = "ssh-"  # of a run's folder, and so of its marker: both sides may be the same machine
LOOK_S = 0.2
KEEP_STOPPED_S = 86_400.0  # for the mark of a stopped run: no start order is in transit for so long
OTHER_VERSION = "The Pitwall on that machine has a different version: update both to the same version."
WAS_STOPPED = "It was stopped before its server was started."


class RemoteShim:
    """Executes one order; `folder` holds the runs, `gpus()` and `machine()` describe this machine."""

    def __init__(
        self,
        folder: Path,
        gpus: Callable[[], GpuSnapshot],
        machine: Callable[[], Machine],
        stdin: int = 0,
        stdout: int = 1,
    ) -> None:
        self._folder, self._gpus, self._machine = folder, gpus, machine
        self._stdin, self._stdout = stdin, stdout
        self._writing = threading.Lock()
        self._last_write_s = 0.0

    def serve(self) -> None:
        """Greet, read one order, execute it. Raises BrokenPipeError if the other side is gone."""
        self._write(GREETING)
        try:
            self._do(ORDER.validate_json(self._read_order()))
        except ValidationError:
            self._send(refused=OTHER_VERSION)
        except PitwallError as refusal:
            self._send(refused=str(refusal))
        except BrokenPipeError:
            raise
        except OSError as error:
            self._send(refused=f"The order failed on that machine: {error.strerror} ({error.filename}).")

    def _run_folder(self, run_id: str) -> Path:
        return self._folder / f"{PREFIX}{run_id}"

    def _new_run_folder(self, run_id: str) -> Path:
        private_folder(self._folder)
        return self._run_folder(run_id)

    def _read_order(self) -> bytes:
        received = bytearray()
        while not received.endswith(b"\n") and (data := os.read(self._stdin, 1 << 16)):
            received += data
            if len(received) > ORDER_BYTES:
                raise PitwallError("The order is too long.")
        return bytes(received)

    def _do(self, order: StartOrder | FollowOrder | StopOrder | ForgetOrder | CheckOrder | MachineOrder) -> None:
        match order:
            case StartOrder():
                self._begin(order)
                self._follow(order.follow)
            case FollowOrder():
                self._follow(order)
            case StopOrder():
                self._send(answer=self.stop(order))
            case ForgetOrder():
                self.forget(order.run_id)
                self._send(answer={})
            case CheckOrder():
                self._send(answer=self._check(order))
            case MachineOrder():
                self._send(answer=asdict(self._machine()))

    # --- starting ---------------------------------------------------------------------------------------------------
    def _begin(self, order: StartOrder) -> None:
        directory = self._new_run_folder(order.run.id)
        with file_lock(directory / RUN_FILE):
            if (directory / STOPPED_FILE).exists():
                raise LaunchRefusedError(WAS_STOPPED)
            if process_status(directory).state == "absent":
                self._start(order, directory)

    def _start(self, order: StartOrder, directory: Path) -> None:
        local_fields = {"run_dir": str(directory), "log_path": str(directory / SERVER_LOG), "machine_id": machine_id()}
        run, cwd = order.run.model_copy(update=local_fields), Path(order.cwd) if order.cwd else None
        request = LaunchRequest(
            run.config, secrets=order.secrets, base_url=run.base_url, cwd=cwd, makes_model=order.makes_model
        )
        launch = prepare_launch(request)
        for limit in check_machine(launch):
            self._send(passed=limit)
        config = launch.config
        argv = backend_of(config, run.id).shim_argv(config.argv)
        spec = ProcessSpec(argv, str(launch.cwd), config.env, leftovers=leftovers_of(config), port=launch.port)
        write_private(directory / RUN_FILE, run.model_dump_json().encode())
        write_spec(spec, directory)
        start_shim(directory, order.secrets)

    # --- following --------------------------------------------------------------------------------------------------
    def _follow(self, order: FollowOrder) -> None:
        """Send the log, the server, its end and a beat until the other side closes the connection."""
        directory = self._run_folder(order.run_id)
        self._send(begun=True)
        if order.wants_about:
            about_thread = threading.Thread(
                target=self._send_about, args=(directory,), name=f"tell-{order.run_id}", daemon=True
            )
            about_thread.start()
        offset, last = order.offset, ProcessStatus("starting")
        record = DescendantRecord(directory)
        while not self._is_cut():
            status = process_status(directory)
            if status.state == "absent":
                raise PitwallError(RUN_FOLDER_GONE)
            if not status.is_supervised:
                record.keep(processes_of(directory))
            if status.state == "alive" and status.pid != last.pid:
                self._send(server={"pid": status.pid, "started_at": status.started_at})
            offset = self._send_log(directory / SERVER_LOG, offset)
            if status.exit and not last.exit:
                self._send(exit={**_as_exit(status), "started_at": status.started_at})
            last = status
            if time.monotonic() - self._last_write_s > BEAT_S:
                self._send(beat=True)

    def _is_cut(self) -> bool:
        """Whether the other side has closed the connection; waits up to LOOK_S."""
        readable, _, _ = select.select([self._stdin], [], [], LOOK_S)
        return bool(readable) and not os.read(self._stdin, 1 << 16)

    def _send_log(self, path: Path, offset: int) -> int:
        """Send the log from the offset on; return the new offset."""
        with suppress(FileNotFoundError, NotRegularError), open_regular(path) as log:
            log.seek(offset)
            while data := log.read(LOG_CHUNK_BYTES):
                self._write(encode_line({"log": len(data)}) + data)
                offset += len(data)
        return offset

    def _send_about(self, directory: Path) -> None:
        """Send the provenance, on a thread of its own, since a driver may take seconds to answer."""
        with suppress(OSError, PitwallError, ValueError):
            run, machine = _read_run(directory), self._machine()
            self._send(about={"machine": asdict(machine), "provenance": freeze(run, self._gpus())})

    # --- ending -----------------------------------------------------------------------------------------------------
    def stop(self, order: StopOrder) -> dict[str, Any]:
        """End all processes of a run; raises OSError, ValidationError for a folder of another version."""
        directory = self._new_run_folder(order.run_id)
        with file_lock(directory / RUN_FILE):
            (directory / STOPPED_FILE).touch(FILE_MODE)
            if order.is_left_alone:
                leave_alone(directory)
        if not (directory / RUN_FILE).exists():
            return {"actions": [], "leftovers": []}
        report, container = stop_everything(_read_run(directory), order.grace_s, self._gpus)
        fields = {"actions": report.actions, "leftovers": report.leftovers}
        return {**fields, "container": asdict(container) if container else None}

    def forget(self, run_id: str) -> None:
        """Remove the folder of a stopped run, except for the mark that it was stopped."""
        directory = self._run_folder(run_id)
        if (directory / STOPPED_FILE).exists() and not processes_of(directory):
            for path in directory.iterdir():
                if path.name != STOPPED_FILE:
                    shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        for mark in self._folder.glob(f"*/{STOPPED_FILE}"):
            if time.time() - mark.stat().st_mtime > KEEP_STOPPED_S and len(list(mark.parent.iterdir())) == 1:
                shutil.rmtree(mark.parent, ignore_errors=True)

    def run_ids(self) -> list[str]:
        """Return the ids of runs with a folder here whose server has not ended."""
        states = {
            path.parent.name: process_status(path.parent).state for path in sorted(self._folder.glob(f"*/{RUN_FILE}"))
        }
        return [name.removeprefix(PREFIX) for name, state in states.items() if state in ("starting", "alive")]

    # --- before a start ---------------------------------------------------------------------------------------------
    def _check(self, order: CheckOrder) -> dict[str, Any]:
        cwd = Path(order.cwd or Path.cwd()).expanduser()
        return check_here(order.config, order.needs, self._gpus, cwd).model_dump(mode="json")

    def _send(self, **fields: Any) -> None:
        self._write(encode_line(fields))

    def _write(self, data: bytes) -> None:
        with self._writing:
            self._last_write_s = time.monotonic()
            view = memoryview(data)
            while view:
                view = view[os.write(self._stdout, view) :]


def _read_run(directory: Path) -> Run:
    return Run.model_validate_json((directory / RUN_FILE).read_bytes())


def _as_exit(status: ProcessStatus) -> dict[str, Any]:
    assert status.exit
    return {**asdict(status.exit), "left": [process._asdict() for process in status.exit.left]}

"""Local process that stands for a server on another machine: `python -m launcher.remote.client RUN_DIR`.

It runs under a local shim like any server. It starts the server on the other machine, copies the server's log to its
own output byte for byte, keeps the forwarded port open, records the reported status (`records.RemoteStatus`), and
reconnects for as long as the server may live. Nothing else waits for it.
"""

from __future__ import annotations

import errno
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

import psutil
from pydantic import ValidationError

from launcher.processes.runtimes import leftovers_of
from launcher.remote.hosts import HostError
from launcher.remote.orders import FollowOrder, RemoteExit, RemoteProvenance, RemoteServer, StartOrder
from launcher.remote.orphans import end_orphan, read_orphan_notes
from launcher.remote.records import read_remote_launch, read_remote_status, write_remote_status
from launcher.remote.ssh import explain, ssh_argv
from launcher.remote.wire import RUN_FOLDER_GONE, SILENCE_S, Frame, Frames, WireError, encode_line, truncate_refusal
from machine.private_files import FILE_MODE
from machine.run_with_timeout import ProcessOutput

STDERR_BYTES = 16 << 10
MOST_LOG_BYTES = 8 << 30  # of one run; later output is dropped
RETRY_AFTER_S = (1.0, 2.0, 4.0, 8.0, 15.0)
FIRST_FRAME_S = 60.0  # until the first frame: a busy machine starts slowly, and checks requirements before a start
OTHER_MACHINE = (
    "{0} reports that it is a different machine than the one that was added, so the run's provenance is not recorded. "
    "If this is correct, add it again: `./pitwall host add {0} {1}`."
)
ENDING_ORPHAN = "Ending the server that an earlier run left on {} first."
MOST_LIMIT_SENTENCES = 20  # kept of one run
LOG_FULL = "The local log has reached {:,} MiB, the limit for a server on another machine: later output is dropped."
SILENT_CONNECTION = "its connection was silent for too long"

T = TypeVar("T")


class SshConnection:
    """One ssh process, its frames and its error output."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._frames, self._stderr_tail, self._unsent = Frames(), bytearray(), b""
        self._last_data_s, self._has_frames = time.monotonic(), False
        self._selector = selectors.DefaultSelector()
        for stream in (self._stdout, self._stderr):
            self._selector.register(stream, selectors.EVENT_READ)

    @property
    def is_greeted(self) -> bool:
        return self._frames.is_greeted

    def send(self, order: bytes) -> None:
        """Send an order, without blocking."""
        self._unsent = order
        os.set_blocking(self._stdin.fileno(), False)
        self._selector.register(self._stdin, selectors.EVENT_WRITE)

    def receive_frames(self) -> list[Frame] | None:
        """Return the frames received meanwhile; None when the connection is closed. Raises WireError."""
        frames = list[Frame]()
        for key, _ in self._selector.select(1.0):
            if key.fileobj is self._stdin:
                self._send_more()
                continue
            data = os.read(key.fd, 1 << 16)
            if key.fileobj is self._stderr:
                self._stderr_tail = (self._stderr_tail + data)[-STDERR_BYTES:]
                if not data:
                    self._selector.unregister(self._stderr)
            elif not data:
                return None
            else:
                self._last_data_s = time.monotonic()
                frames += self._frames.feed(data)
        self._has_frames = self._has_frames or bool(frames)
        if time.monotonic() - self._last_data_s > (SILENCE_S if self._has_frames else FIRST_FRAME_S):
            raise WireError(SILENT_CONNECTION)
        return frames

    def _send_more(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = b""
        if not self._unsent:
            self._selector.unregister(self._stdin)

    def close(self) -> ProcessOutput:
        """End the connection; return its exit status and error output."""
        self._selector.close()
        self._stdin.close()
        with suppress(subprocess.TimeoutExpired):  # its last error output may still arrive
            self._process.wait(1.0)
        if (returncode := self._process.poll()) is None:
            self._process.kill()
        os.set_blocking(self._stderr.fileno(), False)
        with suppress(BlockingIOError, OSError):
            self._stderr_tail += os.read(self._stderr.fileno(), STDERR_BYTES)
        self._process.wait()
        for stream in (self._stdout, self._stderr):
            stream.close()
        return ProcessOutput(returncode, b"", bytes(self._stderr_tail))


class RemoteClient:
    """Follows one run until it is over."""

    def __init__(self, directory: Path, log: int = 1) -> None:
        self._directory, self._log = directory, log
        self._launch, self._status = read_remote_launch(directory), read_remote_status(directory)
        self._copied_bytes = os.fstat(log).st_size
        self._failures = 0

    def run(self) -> int:
        """Return the exit status: 0 when the server's end is known, 1 when it was never started."""
        if not self._status.is_asked:
            self._end_orphans()
        while True:
            trouble = self._follow()
            if self._is_over():
                return 0
            if self._status.refusal:
                return 1
            if not self._status.is_asked:
                self._update_status(refusal=trouble)
                return 1
            self._update_status(trouble=trouble)
            time.sleep(RETRY_AFTER_S[min(self._failures, len(RETRY_AFTER_S) - 1)])
            self._failures += 1

    def _end_orphans(self) -> None:
        """End servers that earlier runs left on this host, which could block the start; failures are ignored."""
        runs_dir, host = self._directory.parent, self._launch.host
        for note in read_orphan_notes(runs_dir):
            if note.host.target == host.target and note.remains is None:
                self._update_status(trouble=ENDING_ORPHAN.format(host.label))
                with suppress(HostError, OSError):
                    end_orphan(runs_dir, note)

    def _follow(self) -> str | None:
        """Follow one connection to its end; return why it ended."""
        host = self._launch.host
        try:
            connection = SshConnection(ssh_argv(host, self._launch.forward))
        except OSError as error:
            return f"ssh could not be started on this machine: {error.strerror}."
        problem = None
        try:
            self._exchange(connection)
        except (WireError, ValidationError) as error:
            reason = error if isinstance(error, WireError) else "its answer is from another version"
            problem = f"Pitwall did not understand {host.label}: {reason}."
        is_greeted, output = connection.is_greeted, connection.close()
        return problem or explain(host, output, is_greeted)

    def _exchange(self, connection: SshConnection) -> None:
        is_order_sent = False
        while (frames := connection.receive_frames()) is not None:
            if connection.is_greeted and not is_order_sent:
                is_order_sent = True
                connection.send(self._order())
            for frame in frames:
                self._handle(frame)
            if self._is_over() or self._status.refusal:
                return

    def _order(self) -> bytes:
        """Return the order to start the server while it is not known to have begun, later to follow it."""
        follow = FollowOrder(
            run_id=self._launch.run.id, offset=self._copied_bytes, wants_about=self._status.about is None
        )
        if self._status.has_begun:
            return encode_line(follow.model_dump(mode="json"))
        self._update_status(is_asked=True)
        launch = self._launch
        order = StartOrder(
            run=launch.run, cwd=launch.cwd, makes_model=launch.makes_model, secrets=self._secrets(), follow=follow
        )
        return encode_line(order.model_dump(mode="json"))

    def _secrets(self) -> dict[str, str]:
        """Return the secrets of the start, from the environment of the parent shim."""
        with suppress(psutil.Error, OSError):
            environ = psutil.Process(os.getppid()).environ()
            return {name: environ[name] for name in self._launch.secret_names if name in environ}
        return {}

    def _handle(self, frame: Frame) -> None:
        """Process one frame; raises ValidationError for invalid fields."""
        if frame.log:
            return self._copy(frame.log)
        for name, value in frame.fields.items():
            match name:
                case "begun":
                    self._failures = 0
                    self._update_status(has_begun=True, trouble=None)
                case "server":
                    self._update_status(server=RemoteServer.model_validate(value))
                case "exit":
                    self._update_status(exit=RemoteExit.model_validate(value))
                case "about":
                    self._note_about(RemoteProvenance.model_validate(value))
                case "passed":
                    self._note_passed(truncate_refusal(value))
                case "refused":
                    self._note_refusal(truncate_refusal(value))
        return None

    def _note_about(self, about: RemoteProvenance) -> None:
        """Record the provenance only if it is of the machine that a person added; a host may claim to be any."""
        expected_id = self._launch.host.machine_id
        if expected_id is not None and about.machine.id != expected_id:
            self._update_status(trouble=OTHER_MACHINE.format(self._launch.host.label, self._launch.host.target))
        else:
            self._update_status(about=about)

    def _note_passed(self, sentence: str) -> None:
        passed = self._status.passed
        if sentence not in passed and len(passed) < MOST_LIMIT_SENTENCES:
            self._update_status(passed=(*passed, sentence))

    def _note_refusal(self, sentence: str) -> None:
        if not self._status.has_begun:
            self._update_status(refusal=sentence)
        elif sentence == RUN_FOLDER_GONE:
            started_at = self._status.server.started_at if self._status.server else None
            self._update_status(
                exit=RemoteExit(
                    exit_code=None, signal=None, cause=RUN_FOLDER_GONE, ended_at=None, started_at=started_at
                )
            )

    def _is_over(self) -> bool:
        """Whether the run is over; the server of an ended script may still need the forwarded port."""
        end = self._status.exit
        has_left = end is not None and end.exit_code == 0 and leftovers_of(self._launch.run.config) == "follow"
        return end is not None and not (has_left and self._launch.forward)

    def _copy(self, data: bytes) -> None:
        """Append to the local log, up to its limit."""
        while data and self._copied_bytes < MOST_LOG_BYTES:
            written_bytes = _retry_when_full(partial(os.write, self._log, data))
            self._copied_bytes += written_bytes
            data = data[written_bytes:]
        if data:
            self._note_passed(LOG_FULL.format(MOST_LOG_BYTES >> 20))

    def _update_status(self, **changes: object) -> None:
        status = self._status.model_copy(update=changes)
        if status != self._status:
            self._status = status
            _retry_when_full(lambda: write_remote_status(self._directory, status))


def _retry_when_full(write: Callable[[], T]) -> T:
    """Return the result of `write`, retried while the disk is full, because nobody else has the data."""
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(1.0)


def main(directory: Path) -> int:
    """Follow the run of this directory; only the server's own bytes go to its log."""
    (path := directory / "client.log").touch(FILE_MODE)
    with path.open("a") as log:
        os.dup2(log.fileno(), 2)
    return RemoteClient(directory).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

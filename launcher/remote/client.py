"""The process here that stands for a server on another machine: `python -m launcher.remote.client RUN_DIR`.

It runs under a shim of this machine like any server. It starts the server on the other machine, copies the server's
log to its own output byte for byte, keeps the forwarded port open, records what it hears (`records.Known`), and
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

from launcher.remote.hosts import HostError
from launcher.remote.left_there import all_left, end_left
from launcher.remote.orders import About, Exit, Follow, Server, Start
from launcher.remote.records import read_asked, read_known, write_known
from launcher.remote.ssh import explain, ssh_argv
from launcher.remote.wire import GONE, SILENCE_S, Frame, Frames, WireError, as_sentence, line_of
from launcher.runs.new_run import leftovers_of
from machine.private_files import FILE_MODE
from machine.run_with_timeout import Output

STDERR_BYTES = 16 << 10
MOST_LOG_BYTES = 8 << 30  # of one run; what comes after it is not kept
AGAIN_AFTER_S = (1.0, 2.0, 4.0, 8.0, 15.0)
FIRST_WORD_S = 60.0  # until the first frame: a busy machine starts slowly, and looks at what it lacks before a start
OTHER_MACHINE = (
    "{0} tells that it is another machine than the one that was added, so what it runs on is not noted: if that is so, "
    "`./pitwall host add {0} {1}` adds it again."
)
EARLIER = "What an earlier run has left on {} is ended first."
MOST_PASSED = 20  # sentences of limits that are kept of one run
LOG_FULL = "The log here has {:,} MiB, the most that is kept of a server on another machine: what follows is not."
ENDED_BY_US = "its connection was silent for too long"

T = TypeVar("T")


class Connection:
    """One ssh process, its frames and what it complains of."""

    def __init__(self, argv: list[str]) -> None:
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._stdin, self._stdout, self._stderr = self._process.stdin, self._process.stdout, self._process.stderr
        self._frames, self._complaint, self._unsent = Frames(), bytearray(), b""
        self._heard_at_s, self._has_spoken = time.monotonic(), False
        self._waiting = selectors.DefaultSelector()
        for stream in (self._stdout, self._stderr):
            self._waiting.register(stream, selectors.EVENT_READ)

    @property
    def is_greeted(self) -> bool:
        return self._frames.is_greeted

    def send(self, order: bytes) -> None:
        """Put an order on its way, as fast as it is taken."""
        self._unsent = order
        os.set_blocking(self._stdin.fileno(), False)
        self._waiting.register(self._stdin, selectors.EVENT_WRITE)

    def hear(self) -> list[Frame] | None:
        """What has come meanwhile; None when the connection is over. Raises WireError."""
        frames = list[Frame]()
        for key, _ in self._waiting.select(1.0):
            if key.fileobj is self._stdin:
                self._send_more()
                continue
            data = os.read(key.fd, 1 << 16)
            if key.fileobj is self._stderr:
                self._complaint = (self._complaint + data)[-STDERR_BYTES:]
                if not data:
                    self._waiting.unregister(self._stderr)
            elif not data:
                return None
            else:
                self._heard_at_s = time.monotonic()
                frames += self._frames.feed(data)
        self._has_spoken = self._has_spoken or bool(frames)
        if time.monotonic() - self._heard_at_s > (SILENCE_S if self._has_spoken else FIRST_WORD_S):
            raise WireError(ENDED_BY_US)
        return frames

    def _send_more(self) -> None:
        try:
            self._unsent = self._unsent[os.write(self._stdin.fileno(), self._unsent) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._unsent = b""
        if not self._unsent:
            self._waiting.unregister(self._stdin)

    def close(self) -> Output:
        """End it; what it said of itself."""
        self._waiting.close()
        self._stdin.close()
        with suppress(subprocess.TimeoutExpired):  # its last words are worth a moment
            self._process.wait(1.0)
        if (returncode := self._process.poll()) is None:
            self._process.kill()
        os.set_blocking(self._stderr.fileno(), False)
        with suppress(BlockingIOError, OSError):
            self._complaint += os.read(self._stderr.fileno(), STDERR_BYTES)
        self._process.wait()
        for stream in (self._stdout, self._stderr):
            stream.close()
        return Output(returncode, b"", bytes(self._complaint))


class Client:
    """Follows one run until it is over."""

    def __init__(self, directory: Path, log: int = 1) -> None:
        self._directory, self._log = directory, log
        self._asked, self._known = read_asked(directory), read_known(directory)
        self._copied = os.fstat(log).st_size
        self._failures = 0

    def run(self) -> int:
        """The exit status: 0 when the server's end is known, 1 when it was never started."""
        if not self._known.is_asked:
            self._end_earlier()
        while True:
            trouble = self._follow()
            if self._is_over():
                return 0
            if self._known.refusal:
                return 1
            if not self._known.is_asked:
                self._know(refusal=trouble)
                return 1
            self._know(trouble=trouble)
            time.sleep(AGAIN_AFTER_S[min(self._failures, len(AGAIN_AFTER_S) - 1)])
            self._failures += 1

    def _end_earlier(self) -> None:
        """What earlier runs left on this host would be in the way of the start; a host that is away says so itself."""
        runs_dir, host = self._directory.parent, self._asked.host
        for left in all_left(runs_dir):
            if left.host.target == host.target and left.remains is None:
                self._know(trouble=EARLIER.format(host.label))
                with suppress(HostError, OSError):
                    end_left(runs_dir, left)

    def _follow(self) -> str | None:
        """One connection, to its end: why it ended, unless all is known by then."""
        host = self._asked.host
        try:
            connection = Connection(ssh_argv(host, self._asked.forward))
        except OSError as error:
            return f"ssh could not be started here: {error.strerror}."
        words = None
        try:
            self._converse(connection)
        except (WireError, ValidationError) as error:
            what = error if isinstance(error, WireError) else "its answer is not of this version"
            words = f"{host.label} was not understood: {what}."
        is_greeted, output = connection.is_greeted, connection.close()
        return words or explain(host, output, is_greeted)

    def _converse(self, connection: Connection) -> None:
        is_asked = False
        while (frames := connection.hear()) is not None:
            if connection.is_greeted and not is_asked:
                is_asked = True
                connection.send(self._order())
            for frame in frames:
                self._take(frame)
            if self._is_over() or self._known.refusal:
                return

    def _order(self) -> bytes:
        """To start it, as long as it is not known to have begun; then to follow it."""
        follow = Follow(run_id=self._asked.run.id, offset=self._copied, wants_about=self._known.about is None)
        if self._known.has_begun:
            return line_of(follow.model_dump(mode="json"))
        self._know(is_asked=True)
        asked = self._asked
        order = Start(
            run=asked.run, cwd=asked.cwd, makes_model=asked.makes_model, secrets=self._secrets(), follow=follow
        )
        return line_of(order.model_dump(mode="json"))

    def _secrets(self) -> dict[str, str]:
        """Those of the start, from the memory of the shim that holds us."""
        with suppress(psutil.Error, OSError):
            held = psutil.Process(os.getppid()).environ()
            return {name: held[name] for name in self._asked.secret_names if name in held}
        return {}

    def _take(self, frame: Frame) -> None:
        """Raises ValidationError for what cannot be meant."""
        if frame.log:
            return self._copy(frame.log)
        for name, value in frame.fields.items():
            match name:
                case "begun":
                    self._failures = 0
                    self._know(has_begun=True, trouble=None)
                case "server":
                    self._know(server=Server.model_validate(value))
                case "exit":
                    self._know(exit=Exit.model_validate(value))
                case "about":
                    self._note_about(About.model_validate(value))
                case "passed":
                    self._note_passed(as_sentence(value))
                case "refused":
                    self._refused(as_sentence(value))
        return None

    def _note_about(self, about: About) -> None:
        """Nothing is noted of a machine that is not the one that a person added: it may claim to be any."""
        added = self._asked.host.machine_id
        if added is not None and about.machine.id != added:
            self._know(trouble=OTHER_MACHINE.format(self._asked.host.label, self._asked.host.target))
        else:
            self._know(about=about)

    def _note_passed(self, words: str) -> None:
        passed = self._known.passed
        if words not in passed and len(passed) < MOST_PASSED:
            self._know(passed=(*passed, words))

    def _refused(self, words: str) -> None:
        if not self._known.has_begun:
            self._know(refusal=words)
        elif words == GONE:
            started_at = self._known.server.started_at if self._known.server else None
            self._know(exit=Exit(exit_code=None, signal=None, cause=GONE, ended_at=None, started_at=started_at))

    def _is_over(self) -> bool:
        """A script that has left its server to itself may need the forwarded port still."""
        end = self._known.exit
        has_left = end is not None and end.exit_code == 0 and leftovers_of(self._asked.run.config) == "follow"
        return end is not None and not (has_left and self._asked.forward)

    def _copy(self, data: bytes) -> None:
        """Append to the log here."""
        while data and self._copied < MOST_LOG_BYTES:
            written = _when_there_is_room(partial(os.write, self._log, data))
            self._copied += written
            data = data[written:]
        if data:
            self._note_passed(LOG_FULL.format(MOST_LOG_BYTES >> 20))

    def _know(self, **news: object) -> None:
        known = self._known.model_copy(update=news)
        if known != self._known:
            self._known = known
            _when_there_is_room(lambda: write_known(self._directory, known))


def _when_there_is_room(write: Callable[[], T]) -> T:
    """What it gives; a full disk is waited for, because nobody else knows what is to be written."""
    while True:
        try:
            return write()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            time.sleep(1.0)


def main(directory: Path) -> int:
    """Follow the run of this directory; nothing but the server's own bytes goes to its log."""
    (path := directory / "client.log").touch(FILE_MODE)
    with path.open("a") as log:
        os.dup2(log.fileno(), 2)
    return Client(directory).run()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

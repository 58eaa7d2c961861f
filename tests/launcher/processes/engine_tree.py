"""A stand-in for the process tree of an engine: `engine_tree.py PORT FOLDER`. No engine runs here.

api: the first process, which serves. core: its child, in a session of its own. worker: the core's child, deaf to
SIGTERM. stray: left to init by a double fork. All but the first wipe their environment as setproctitle does, and hold
the listening socket. Each writes its pid to FOLDER/<role>.
"""

from __future__ import annotations

import ctypes
import http.server
import os
import signal
import sys
import time
from pathlib import Path

ENV_START, ENV_END = 47, 48  # of the fields after the process's name, see proc_pid_stat(5)
FOLDER = Path(sys.argv[2])


def wipe_environment() -> None:
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(fields[ENV_START]), int(fields[ENV_END])
    ctypes.memset(start, 0, end - start)


def say(role: str) -> None:
    (FOLDER / f".{role}").write_text(str(os.getpid()))
    (FOLDER / f".{role}").rename(FOLDER / role)


def become(role: str) -> None:
    wipe_environment()
    say(role)
    while True:
        time.sleep(600)


def core() -> None:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        become("worker")
    become("core")


def stray() -> None:
    os.setsid()
    if os.fork() == 0:
        become("stray")
    os._exit(0)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
for branch in (core, stray):
    if (child := os.fork()) == 0:
        branch()
os.waitpid(child, 0)
say("api")
server.serve_forever()

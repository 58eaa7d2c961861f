"""SIGTERM ends `./pitwall agent` even if it arrives while the main thread holds the lock of the event it sets."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import os, signal, sys, threading
from cli.machines.agent import call_at_signal

stopping = threading.Event()
call_at_signal(stopping.set)

def signal_in_wait(frame, event, _):
    if frame.f_code is threading.Condition.wait.__code__ and frame.f_locals["self"] is stopping._cond:
        sys.setprofile(None)
        assert stopping._cond._is_owned()
        os.kill(os.getpid(), signal.SIGTERM)

sys.setprofile(signal_in_wait)
print(stopping.wait(30))
"""


def test_signal_while_the_main_thread_holds_the_lock() -> None:
    process = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert process.returncode == 0, process.stderr
    assert process.stdout == "True\n"

"""The process ends in bounded time, whatever its threads wait for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from web.server.closing import CUT_SHORT

ROOT = Path(__file__).resolve().parents[3]


def test_a_thread_that_waits_for_ever_does_not_keep_the_process() -> None:
    code = (
        "import threading\nfrom web.server.closing import exit_within\n"
        "threading.Thread(target=threading.Event().wait).start()\nexit_within(0.2)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (1, CUT_SHORT)


def test_one_that_ends_by_itself_says_nothing() -> None:
    code = "from web.server.closing import exit_within\nexit_within(60)\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert (done.returncode, done.stderr) == (0, "")

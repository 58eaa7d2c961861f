"""The wait for a CPU of a real thread, beside a real process that wants the same one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from machine.cpu_wait import cpu_wait


@pytest.fixture
def contested() -> Iterator[None]:
    """This thread and another process on one and the same CPU."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    burner = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        burner.kill()
        burner.wait()
        os.sched_setaffinity(0, allowed)


@pytest.mark.usefixtures("contested")
def test_a_thread_that_shares_its_cpu_waits() -> None:
    with cpu_wait() as waited_s:
        began = waited_s()
        assert began is not None
        while (waited_s() or 0.0) < began + 0.02:
            pass


def test_a_kernel_that_does_not_tell_is_unknown(tmp_path: Path) -> None:
    with cpu_wait(str(tmp_path / "schedstat")) as waited_s:
        assert waited_s() is None

"""One directory, one shim: a Pitwall that is killed as it starts one leaves a start that the next cannot see yet."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launcher.processes.process import ROOT, ProcessSpec, marked_processes, process_status, start_shim, write_spec
from launcher.processes.shim import SHIM_MARKER
from launcher.processes.stopping import stop_process
from tests.launcher.servers import marked, wait_for

WRITES_ITS_START = "import sys, time; open(sys.argv[1], 'a').write('started\\n'); time.sleep(float(sys.argv[2]))"


def lay_down(directory: Path, seconds: float) -> Path:
    """A process that writes a line when it starts and sleeps; where it writes."""
    starts = directory.parent / f"{directory.name}.starts"
    starts.touch()
    write_spec(ProcessSpec([sys.executable, "-c", WRITES_ITS_START, str(starts), str(seconds)], "/", {}), directory)
    return starts


def test_two_shims_at_once_start_one_server(tmp_path: Path) -> None:
    directory = tmp_path / "twice"
    starts = lay_down(directory, 600)
    shims = [start_shim(directory, {}) for _ in range(4)]
    try:
        wait_for(lambda: sum(shim.poll() == 0 for shim in shims) == 3)
        wait_for(lambda: process_status(directory).state == "alive" and starts.read_text())
        [living] = [shim.pid for shim in shims if shim.poll() is None]
        assert [marked_process.pid for marked_process in marked_processes("twice", SHIM_MARKER)] == [living]
        assert starts.read_text() == "started\n" and len(marked("twice")) == 1
    finally:
        stop_process(directory, 1.0)
        for shim in shims:
            shim.wait(10)
    assert process_status(directory).state == "ended" and marked("twice") == []


def test_shim_after_the_end_starts_nothing(tmp_path: Path) -> None:
    directory = tmp_path / "late"
    starts = lay_down(directory, 0)
    assert start_shim(directory, {}).wait(30) == 0
    ended = process_status(directory)
    assert start_shim(directory, {}).wait(30) == 0
    assert process_status(directory) == ended and starts.read_text() == "started\n"


def test_shim_stays_small() -> None:
    code = "import sys, launcher.processes.shim; print(sorted({'pydantic', 'httpx', 'duckdb'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True).stdout == "[]\n"

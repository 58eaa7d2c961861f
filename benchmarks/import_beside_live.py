"""Effect of a large import on a live run: `.venv/bin/python -m benchmarks.import_beside_live [SECONDS]`.

One attached run is scraped once a second. After a phase in which nothing else happens, each foreign file is imported by
`./pitwall import` in turn: 3 GB of zeros, 3 GB of vLLM's lines, 200 MB of an ordinary application's log and 200 MB of
JSON in one line. Each phase lasts SECONDS (60); an import that takes longer is cancelled. The samples of the live run
and the answers of /healthz are counted meanwhile. Loopback only; the files are deleted afterwards.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

from benchmarks.large_log import make_log
from demo.presets import free_ports
from settings import Settings
from tests.e2e.pitwall_process import ROOT, Pitwall
from tests.e2e.stand_ins import StandIns

LINE = "2026-11-27 12:00:00,123 INFO worker-3 com.example.app.Service - handled request id=12 status=200 took=31 ms\n"
ROW = '{"id": 12, "value": "abc def", "ratio": 1.5}, '
SMALL_MB, LARGE_GB = 200, 3


def make_files(folder: Path) -> dict[str, Path]:
    """Return title -> file, each written into the folder."""
    zeros, vllm, application, one_line = (
        folder / name for name in ("zeros.log", "vllm.log", "application.log", "one.json")
    )
    with zeros.open("wb") as file:
        file.truncate(LARGE_GB * 10**9)
    make_log(vllm, LARGE_GB)
    application.write_text(LINE * (SMALL_MB * 10**6 // len(LINE)))
    one_line.write_text(f'{{"a": [{ROW * (SMALL_MB * 10**6 // len(ROW))}')
    return {
        f"{LARGE_GB} GB of zeros": zeros,
        f"{SMALL_MB} MB of an application's log": application,
        f"{SMALL_MB} MB of JSON in one line": one_line,
        f"{LARGE_GB} GB of vLLM's lines": vllm,
    }


def phase(pitwall: Pitwall, seconds: float) -> str:
    """Return samples per second of the live run and the answers of /healthz over these seconds, as table cells."""
    waits_ms: list[float] = []
    unhealthy = 0
    before, began_s = count_samples(pitwall), time.monotonic()
    while time.monotonic() - began_s < seconds:
        asked_s = time.monotonic()
        unhealthy += not httpx.get(f"{pitwall.url}/healthz", timeout=60).json()["ok"]
        waits_ms.append(1000 * (time.monotonic() - asked_s))
        time.sleep(0.5)
    lasted_s = time.monotonic() - began_s
    rate = (count_samples(pitwall) - before) / lasted_s
    return f"{rate:.2f}/s | {unhealthy} of {len(waits_ms)} | {max(waits_ms):.0f} ms"


def count_samples(pitwall: Pitwall) -> int:
    count: int = pitwall.sql("SELECT count(*) FROM counter_samples")[0][0]
    return count


def import_file(pitwall: Pitwall, path: Path) -> subprocess.Popen[str]:
    """Start the command that imports the file."""
    environ = os.environ | {"PITWALL_DATA": str(pitwall.data)}
    return subprocess.Popen(
        [str(ROOT / "pitwall"), "import", str(path)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def outcome(command: subprocess.Popen[str]) -> str:
    """Return what the import said; one that is not over is cancelled by Ctrl-C."""
    if command.poll() is None:
        command.send_signal(signal.SIGINT)
        command.communicate()
        return "cancelled at the end"
    return " ".join(command.communicate()[0].split())[:90]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    with tempfile.TemporaryDirectory() as folder:
        files = make_files(Path(folder))
        pitwall = Pitwall(Path(folder) / "data", free_ports(1)[0])
        with StandIns(Settings(data_dir=pitwall.data), Path(folder) / "logs", count=1, lines_per_s=2):
            pitwall.start()
            time.sleep(5.0)
            print("| meanwhile | samples of the live run | /healthz not ok | its slowest answer | the import |")
            print("|---|---|---|---|---|")
            print(f"| nothing | {phase(pitwall, seconds)} | |", flush=True)
            for title, path in files.items():
                command = import_file(pitwall, path)
                print(f"| {title} | {phase(pitwall, seconds)} | {outcome(command)} |", flush=True)
        pitwall.end_everything()


if __name__ == "__main__":
    main()

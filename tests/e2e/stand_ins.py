"""Stand-ins for vLLM servers that write their logs without a pause, each watched as an attached run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Self

from domain import Config
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store
from tests.e2e.pitwall_process import ROOT, wait_until
from tests.ports import free_ports

PROGRAM = ROOT / "tests/e2e/stand_in.py"


class StandIns:
    """Start them, and attach them in a store that no Pitwall has open yet; `with` ends them, whatever happens."""

    def __init__(
        self, settings: Settings, folder: Path, count: int, lines_per_s: float, environ: Mapping[str, str] = os.environ
    ) -> None:
        folder.mkdir()
        store = Store.open(settings)
        supervisor = Supervisor(store, settings.runs_dir, events=store.write)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.logs: list[Path] = []
        self.run_ids: list[str] = []
        for number, port in enumerate(free_ports(count)):
            log = folder / f"{number}.log"
            argv = [sys.executable, str(PROGRAM), str(port), str(log), str(lines_per_s)]
            process = subprocess.Popen(argv, env=environ)
            self.processes.append(process)
            wait_until(log.exists, 60)  # by then it listens
            url = f"http://127.0.0.1:{port}"
            self.run_ids.append(supervisor.attach(url, Config(engine="vllm"), log_path=log, pid=process.pid).id)
            self.logs.append(log)
        store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def count_lines(self) -> int:
        """Every line is a sample of its own."""
        return sum(log.read_bytes().count(b"\n") for log in self.logs)

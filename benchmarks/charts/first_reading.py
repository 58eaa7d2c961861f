"""The first reading of a day of uncached runs, for Live and its charts, in two checkouts by turns.

    python -m benchmarks.charts.first_reading [--other PATH] [--runs 8] [--turns 3]

Each checkout fills a store of its own (benchmarks/charts/day_at_1hz.py) and reads it in a new process for each turn.
Where other work shares the machine, the CPU seconds of the two are comparable, their waiting times are not.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.e2e.pitwall_process import ROOT

FILL = """
import sys
from pathlib import Path
from benchmarks.charts.day_at_1hz import filled
folder = Path(sys.argv[1])
filled(folder / "data", folder, int(sys.argv[2]))
"""
READ = """
import sys, time
from pathlib import Path
from benchmarks.charts.day_at_1hz import questions
from settings import Settings
from storage.store import Store
store = Store.open(Settings(data_dir=Path(sys.argv[1]) / "data"))
read = next(iter(questions(store, [f"day-{number}" for number in range(int(sys.argv[2]))]).values()))
began_s, cpu_s = time.perf_counter(), time.process_time()
read()
print(f"{time.perf_counter() - began_s:.1f} s | {time.process_time() - cpu_s:.1f} s")
store.close()
"""


def run(root: Path, script: str, folder: Path, runs: int) -> str:
    """Run a script with a checkout's own code; return what it prints."""
    argv = [str(root / ".venv" / "bin" / "python"), "-c", script, str(folder), str(runs)]
    return subprocess.run(argv, cwd=root, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--other", type=Path, help="another checkout, measured by turns with this one")
    parser.add_argument("--runs", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    roots = {"this": ROOT} | ({"other": arguments.other.resolve()} if arguments.other else {})
    with tempfile.TemporaryDirectory() as name:
        folders = {checkout: Path(name) / checkout for checkout in roots}
        for checkout, root in roots.items():
            folders[checkout].mkdir()
            run(root, FILL, folders[checkout], arguments.runs)
        print(f"| a day of {arguments.runs} runs, first time | checkout | wall | CPU |\n|---|---|---|---|")
        for turn in range(arguments.turns):
            for checkout, root in roots.items():
                figures = run(root, READ, folders[checkout], arguments.runs)
                print(f"| turn {turn + 1} | {checkout} | {figures} |", flush=True)
    print(f"\nload average {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

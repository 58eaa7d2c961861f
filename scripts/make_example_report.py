"""Make docs/example-report.html: the demo's nine server starts, as `./pitwall report` shows them.

`.venv/bin/python -m scripts.make_example_report [DATA]` (two minutes on two quiet cores; a busy machine is not ranked).
DATA: the folder of a demo that has run already. Folders of this machine are written as those of a user.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from demo.presets import demo_configs
from launcher.checks.launch_request import LaunchRequest
from scripts.whole_pitwall import ROOT, put_in_queue, runs_by_arm, work_off
from web.guided_demo.start import PARAMS, REPEATS, WORKLOAD
from workloads import spec_for

TARGET = ROOT / "docs" / "example-report.html"
LIMIT_S = 1800.0
MOST_BYTES = 1_500_000


def run_demo(data: Path) -> None:
    """Run what the demo's button starts, without a browser."""
    workload = spec_for(WORKLOAD, PARAMS)
    requests = [
        LaunchRequest(config=config.config, name=config.name, workload=workload, makes_model=True)
        for config in demo_configs(data)
    ]
    put_in_queue(data, requests, REPEATS)
    work_off(data, LIMIT_S)


def write_report(data: Path) -> None:
    """Write the report; the baseline does not speculate, as Compare proposes."""
    arms = runs_by_arm(data)
    names = [config.name for config in demo_configs(data)]
    argv = [sys.executable, str(ROOT / "pitwall"), "report", *(run for name in names for run in arms[name])]
    env = os.environ | {"PITWALL_DATA": str(data)}
    subprocess.run([*argv, "--html", str(TARGET), "--by", "scripts/make_example_report.py"], env=env, check=True)
    text = TARGET.read_text()
    for folder, replacement in ((str(data), "/home/user/pitwall-data"), (str(ROOT), "/home/user/pitwall")):
        text = text.replace(folder, replacement)
    TARGET.write_text(text)
    if len(text.encode()) > MOST_BYTES:
        sys.exit(f"{TARGET} has more than {MOST_BYTES:,} bytes.")


def main() -> int:
    if len(sys.argv) > 1:
        write_report(Path(sys.argv[1]).absolute())
        return 0
    with tempfile.TemporaryDirectory() as folder:
        run_demo(Path(folder) / "data")
        write_report(Path(folder) / "data")
    return 0


if __name__ == "__main__":
    sys.exit(main())

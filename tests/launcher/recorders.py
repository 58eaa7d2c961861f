"""Stand-ins for the programs of launch commands: each writes down how it was called, and waits. Nothing is served."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

NAMES = ("vllm", "python3", "llama-server", "docker", "podman")
RECORD = f"""#!{sys.executable} -S
import json, os, sys, time
tool, words = os.path.basename(sys.argv[0]), sys.argv[1:]
if tool in ("docker", "podman") and words[:1] != ["run"]:  # what Pitwall asks a runtime: there is nothing
    sys.exit(words[:1] == ["container"])
place = os.environ["RECORD_TO"]
with open(place + ".new", "w") as file:
    json.dump({{"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd()}}, file)
os.rename(place + ".new", place)
time.sleep(0 if "RECORD_ONLY" in os.environ else 600)
"""


def make_recorders(folder: Path, names: Sequence[str] = NAMES) -> None:
    """Put the stand-ins into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(RECORD)
        (folder / name).chmod(0o755)


def read_record(path: Path) -> dict[str, Any] | None:
    """What a stand-in wrote; None while it has not been called."""
    return json.loads(path.read_text()) if path.exists() else None


def environ_for(bin_folder: Path, home: Path, record: Path) -> dict[str, str]:
    """The variables under which the stand-ins are found and write."""
    return {"PATH": f"{bin_folder}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(home), "RECORD_TO": str(record)}

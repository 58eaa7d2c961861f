"""Print docs/licences.md: every package that constraints.txt pins, with the licence its metadata states."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, files, metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Licences of what Pitwall installs
Made by `python scripts/list_licences.py > docs/licences.md` from the packages' own metadata. Nothing here is copyleft
beyond MPL-2.0. `requirements.txt` is the product, `requirements-demo.txt` the demo engine, `requirements-dev.txt` the
checks.

| package | version | licence |
|---|---|---|"""


def licence_of(name: str) -> str:
    """The licence expression, else the classifiers', else the first line of the licence field."""
    found = metadata(name)
    stated = found.get("License-Expression")
    classified = [c.rsplit(" :: ", 1)[-1] for c in found.get_all("Classifier") or [] if c.startswith("License ::")]
    if not (stated or classified) and found.get_all("License-File"):
        return _title_of(name)
    short = (found.get("License") or "").strip().splitlines()
    return stated or ", ".join(classified) or (short[0][:60] if short else "not stated")


def _title_of(name: str) -> str:
    """The first line of the licence file that a package ships, where its metadata states nothing."""
    paths = [path for path in files(name) or [] if path.name.upper().startswith("LICENSE")]
    return paths[0].read_text().strip().splitlines()[0] if paths else "not stated"


def main() -> int:
    print(HEAD)
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        match = re.match(r"([\w.-]+)==([^\s;]+)", line)
        if match:
            try:
                print(f"| {match[1]} | {match[2]} | {licence_of(match[1])} |")
            except PackageNotFoundError:
                print(f"| {match[1]} | {match[2]} | not installed here |")
    return 0


if __name__ == "__main__":
    sys.exit(main())

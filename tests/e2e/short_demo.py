"""Pitwall with a demo of a third of the tokens: `python tests/e2e/short_demo.py`, as `./pitwall run`.

The whole demo keeps two cores busy for a minute and more: `make test-long` has it, in test_whole_demo.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PARAMS = {"requests": 2, "tokens": 300}


def main() -> None:
    """Shorten the demo, then become Pitwall; its pages run in this process."""
    sys.path[0] = str(ROOT)
    from cli.main import main as pitwall
    from web.guided_demo import start

    start.PARAMS = PARAMS
    sys.exit(pitwall(["run"]))


if __name__ == "__main__":
    main()

"""`python -m demo serve ...` runs the demo engine's server; `python -m demo model --dir DIR` makes its model files.

`python -m demo paced ...` is a stand-in of known truth, which runs no model.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from demo import paced
from demo.model import DEMO
from demo.server import CannotServeError, add_serve_flags, make_demo_model, serve


def main() -> int:
    """Run the command line; the exit status is 1, with a message, if it cannot be done."""
    if sys.argv[1:2] == ["paced"]:
        return paced.main(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    add_serve_flags(commands.add_parser("serve", help="serve a model file over HTTP, with the flags of llama-server"))
    model = commands.add_parser("model", help="make the demo model's files and print their paths")
    model.add_argument("--dir", type=Path, required=True)
    flags = parser.parse_args()
    try:
        if flags.command == "serve":
            serve(flags)
        else:
            print(*make_demo_model(flags.dir, DEMO), sep="\n")
    except CannotServeError as refusal:
        print(f"demo: {refusal}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""`./pitwall run`: checks that Pitwall can start, then serves it."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from pathlib import Path

from cli.exit_status import REFUSED

ROOT = Path(__file__).resolve().parents[1]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall run` to the parser."""
    help_text = "serve the pages, as `make run` does; PITWALL_HOST, PITWALL_PORT and PITWALL_DATA set address and data"
    commands.add_parser("run", help=help_text, description=help_text).set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Serve until Pitwall is stopped; raises SettingsError."""
    from machine.ports import describe_busy_port, is_port_free
    from settings import load_settings

    settings = load_settings()
    if not is_port_free(settings.port, settings.host):
        busy = describe_busy_port(settings.port)
        print(f"Pitwall cannot start: {busy} Choose another with PITWALL_PORT.", file=sys.stderr)
        return REFUSED
    os.chdir(ROOT)
    gc.disable()  # imports create little garbage but many objects to scan; web/server/warm_up.py turns it on again
    from web.server.listener import serve

    serve(settings.host, settings.port, settings.base_path)
    return 0

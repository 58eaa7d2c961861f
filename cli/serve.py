"""`./pitwall run`: see that Pitwall can start, then become its server."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import REFUSED

if TYPE_CHECKING:
    from settings import Settings

ROOT = Path(__file__).resolve().parents[1]


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    words = "serve the pages (what `make run` starts); PITWALL_HOST, PITWALL_PORT and PITWALL_DATA say where"
    commands.add_parser("run", help=words, description=words).set_defaults(run=run)


def server_command(settings: Settings) -> list[str]:
    """The argv that serves Pitwall where the settings say."""
    where = ["--server.port", str(settings.port), "--server.address", settings.host]
    return [sys.executable, "-m", "streamlit", "run", "app.py", *where]


def run(arguments: argparse.Namespace) -> int:
    """Does not return when Pitwall can start; raises SettingsError."""
    from machine.ports import describe_busy_port, is_port_free
    from settings import load_settings

    settings = load_settings()
    if not is_port_free(settings.port, settings.host):
        busy = describe_busy_port(settings.port)
        print(f"Pitwall cannot start: {busy} Choose another with PITWALL_PORT.", file=sys.stderr)
        return REFUSED
    os.chdir(ROOT)
    argv = server_command(settings)
    return os.execv(argv[0], argv)

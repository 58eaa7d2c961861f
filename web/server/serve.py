"""See that Pitwall can start, then become `streamlit run app.py` on the address that was set."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from machine.ports import describe_busy_port, is_port_free
from settings import Settings, SettingsError, load_settings

ROOT = Path(__file__).resolve().parents[2]


def command(settings: Settings) -> list[str]:
    """The argv that serves Pitwall where the settings say."""
    where = ["--server.port", str(settings.port), "--server.address", settings.host]
    return [sys.executable, "-m", "streamlit", "run", "app.py", *where]


def main() -> None:
    """Exits with one sentence when a setting or the port cannot be used."""
    try:
        settings = load_settings()
    except SettingsError as error:
        sys.exit(f"Pitwall cannot start: {error}")
    if not is_port_free(settings.port, settings.host):
        sys.exit(f"Pitwall cannot start: {describe_busy_port(settings.port)} Choose another with PITWALL_PORT.")
    os.chdir(ROOT)
    argv = command(settings)
    os.execv(argv[0], argv)


if __name__ == "__main__":
    main()

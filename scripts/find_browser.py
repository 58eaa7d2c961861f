"""Print the path of a Chromium that the browser tests can use, installing one if there is none.

Order: PITWALL_BROWSER, an installed Chrome or Chromium, playwright's own download, Debian's package when root.
Exit 1 with one sentence when none can be had: the browser tests are never skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def installed() -> str | None:
    """A browser that is there already."""
    named = os.environ.get("PITWALL_BROWSER")
    if named and Path(named).exists():
        return named
    return next((path for name in NAMES if (path := shutil.which(name))), None)


def playwrights_own() -> str | None:
    """Playwright's own browser, downloaded if it can be."""
    done = subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, check=False)
    if done.returncode:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        path = p.chromium.executable_path
    return path if Path(path).exists() else None


def debians() -> str | None:
    """Debian's chromium, where we are root and apt is there."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    quiet = {"stdout": subprocess.DEVNULL, "check": False}
    subprocess.run(["apt-get", "update", "-qq"], **quiet)  # type: ignore[call-overload]
    subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], **quiet)  # type: ignore[call-overload]
    return installed()


def main() -> int:
    path = installed() or playwrights_own() or debians()
    if not path:
        sys.stderr.write("no Chrome or Chromium found and none could be installed: set PITWALL_BROWSER to one\n")
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

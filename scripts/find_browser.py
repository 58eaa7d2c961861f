"""Print the path of a Chromium that the browser tests can use, installing one if there is none.

Order: PITWALL_BROWSER, an installed headless shell (the same Chromium without its window, for a third less CPU a
page), an installed Chrome or Chromium, playwright's own download; as root, Debian's shell or its Chromium.
Exit 1 with one sentence if there is none: the browser tests are never skipped.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SHELL = "chromium-headless-shell"
BRIEFLY = ("-o", "Acquire::Retries=0", "-o", "Acquire::http::Timeout=10")  # without a network it is soon given up


def browser_of_environment() -> str | None:
    """Return the browser that PITWALL_BROWSER names."""
    path = os.environ.get("PITWALL_BROWSER")
    return path if path and Path(path).exists() else None


def installed() -> str | None:
    """Return an installed browser."""
    return browser_of_environment() or next((path for name in NAMES if (path := shutil.which(name))), None)


def playwrights_own() -> str | None:
    """Return Playwright's own browser, downloaded if possible."""
    process = subprocess.run(
        [sys.executable, "-m", "playwright", "install", "chromium"], capture_output=True, check=False
    )
    if process.returncode:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        path = p.chromium.executable_path
    return path if Path(path).exists() else None


def debians(package: str) -> str | None:
    """Install one of Debian's packages, as root with apt-get."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    for arguments in (["update"], ["install", "-y", package]):
        subprocess.run(["apt-get", "-qq", *BRIEFLY, *arguments], stdout=subprocess.DEVNULL, check=False)
    return shutil.which(package)


def main() -> int:
    path = (
        browser_of_environment()
        or shutil.which(SHELL)
        or installed()
        or playwrights_own()
        or debians(SHELL)
        or debians("chromium")
    )
    if not path:
        sys.stderr.write("no Chrome or Chromium found and none could be installed: set PITWALL_BROWSER to one\n")
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())

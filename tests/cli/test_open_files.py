"""Pitwall may open as many files as the machine allows, from a shell with the usual soft limit of 1,024."""

from __future__ import annotations

import subprocess
import sys

RAISED = "import resource; from machine.open_files import *; print(LIMIT_AT_START, raise_open_file_limit(), end=' ')\n"
NOW = "print(*resource.getrlimit(resource.RLIMIT_NOFILE))"


def test_the_soft_limit_is_lifted_to_the_hard_one() -> None:
    command = ["prlimit", "--nofile=200:400", sys.executable, "-c", RAISED + NOW]
    stdout = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert stdout.split() == ["200", "400", "400", "400"]

"""How many files and sockets this process may have open."""

from __future__ import annotations

import resource

AT_START, _ = resource.getrlimit(resource.RLIMIT_NOFILE)  # before it is raised: what whoever started this process has


def raise_open_file_limit() -> int:
    """Lift the soft limit to the hard one; the number of files that may be open now.

    The usual soft limit, 1,024, is meant for programs that call select(); the hard one is what the machine allows.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def set_open_file_limit(limit: int) -> None:
    """The soft limit of this process and its children; above the hard one it is the hard one."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

"""Limit on the open files and sockets of this process."""

from __future__ import annotations

import resource

LIMIT_AT_START, _ = resource.getrlimit(resource.RLIMIT_NOFILE)  # before it is raised: the limit of the parent process


def raise_open_file_limit() -> int:
    """Raise the soft limit to the hard one and return it.

    The usual soft limit of 1,024 is meant for programs that call select(); the hard one is what the machine allows.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def set_open_file_limit(limit: int) -> None:
    """Set the soft limit of this process and its children, at most to the hard limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

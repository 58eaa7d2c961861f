"""How many files and sockets this process may have open."""

from __future__ import annotations

import resource


def raise_open_file_limit() -> int:
    """Lift the soft limit to the hard one; the number of files that may be open now.

    The usual soft limit, 1,024, is meant for programs that call select(); the hard one is what the machine allows.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard

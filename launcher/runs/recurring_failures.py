"""Recurrence of failed starts, which decides whether the other runs of a batch are asked about."""

from __future__ import annotations

import re

from domain import Run, RunState

# Causes that may be gone at the next start: a port or memory that others use, the network, a signal, a slow download.
_PASSING = re.compile(
    r"(?:[Aa]ddress|[Pp]ort) .{0,60}in use|[Pp]ort \d+ (?:is (?:not available|occupied)|belongs to)|"
    r"Free memory on device|GPU memory were free at the start|"
    r"timed? ?out|[Tt]imeout|not ready: no progress|Temporary failure|name resolution|reset by peer|"
    r"[Nn]etwork is unreachable|[Nn]o route to host|Too Many Requests|Max retries exceeded|"
    r"Service Unavailable|Bad Gateway|Gateway Time-?out|"
    r"SIGTERM|SIGINT|SIGKILL|KeyboardInterrupt|"
    r"run directory is gone|not everything was released"
)


def would_fail_again(run: Run) -> bool:
    """Whether the run failed before it was ready, for a cause that is not known to pass by itself."""
    if run.state is not RunState.FAILED or run.ready_at is not None or run.is_failed_by_pitwall:
        return False
    return _PASSING.search(f"{run.cause or ''}\n{run.cause_line or ''}") is None

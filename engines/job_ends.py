"""Ends of a server that Slurm or systemd reports: at its job's time limit, for another job, or for memory."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

NEEDLES = r"CANCELLED AT \S+ DUE TO |Detected \d+ oom_kill event|killed by the OOM"  # in every such line; RE2 syntax
_MAX_TEXT = 2000
_CANCELLED = re.compile(
    r"\*\*\* (?:JOB|STEP) \S{1,40} (?:ON \S{1,253} )?CANCELLED AT \S{1,40} DUE TO (?P<reason>[A-Z ]{3,40}) \*\*\*"
)
_KILLED = re.compile(
    r"error: Detected \d{1,6} oom_kill events? in \S|process of this unit has been killed by the OOM killer"
)


def read_job_end(text: str, cause_rank: int) -> LogFailure | None:
    """Return the failure of a message by Slurm or systemd; None for others, as of a job that its user cancelled."""
    if len(text) > _MAX_TEXT:
        return None
    if match := _CANCELLED.search(text):
        return LogFailure(cause_rank, text.strip(), f"Slurm ended the job: {match['reason'].lower()}. {text.strip()}")
    if _KILLED.search(text):
        return LogFailure(cause_rank, text.strip(), f"A process was killed because memory ran out. {text.strip()}")
    return None

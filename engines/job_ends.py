"""Ends of a server's job that Slurm forced: at its time limit, for another job, or for memory."""

from __future__ import annotations

import re

from engines.line_reader import LogFailure

NEEDLES = r"CANCELLED AT \S+ DUE TO |Detected \d+ oom_kill event"  # in every such line; RE2 syntax
_MAX_TEXT = 2000
_CANCELLED = re.compile(
    r"\*\*\* (?:JOB|STEP) \S{1,40} (?:ON \S{1,253} )?CANCELLED AT \S{1,40} DUE TO (?P<reason>[A-Z ]{3,40}) \*\*\*"
)
_KILLED = re.compile(r"error: Detected \d{1,6} oom_kill events? in \S")


def read_job_end(text: str, cause_rank: int) -> LogFailure | None:
    """Return the failure of a message by Slurm; None for other messages, as of a job that its user cancelled."""
    if len(text) > _MAX_TEXT:
        return None
    if match := _CANCELLED.search(text):
        return LogFailure(cause_rank, text.strip(), f"Slurm ended the job: {match['reason'].lower()}. {text.strip()}")
    if _KILLED.search(text):
        return LogFailure(cause_rank, text.strip(), f"Slurm's limit of memory ended a process. {text.strip()}")
    return None

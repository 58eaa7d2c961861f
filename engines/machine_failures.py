"""Failures that the machine reports, not the engine: deaths by a signal and errors of GPUs, in any engine's log."""

from __future__ import annotations

from engines import gpu_errors, signals
from engines.gpu_errors import read_gpu_error
from engines.line_reader import LogFailure
from engines.signals import read_signal

NEEDLES = f"{gpu_errors.NEEDLES}|{signals.NEEDLES}"


def read_machine_failure(text: str, cause_rank: int, echo_rank: int) -> LogFailure | None:
    """Return the failure of a message by the kernel, a shell or a launcher; None for other messages."""
    return read_gpu_error(text) or read_signal(text, cause_rank, echo_rank)

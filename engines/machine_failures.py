"""Failures that the machine or the C library reports: deaths by a signal, ends of a job, errors of GPUs, failed
assertions, kernels that could not be built."""

from __future__ import annotations

from engines import build_failures, gpu_errors, job_ends, native_assertions, signals
from engines.build_failures import read_build_failure
from engines.gpu_errors import read_gpu_error, read_native_error
from engines.job_ends import read_job_end
from engines.line_reader import LogFailure
from engines.native_assertions import read_native_assertion
from engines.signals import read_signal

NEEDLES = "|".join(module.NEEDLES for module in (gpu_errors, signals, job_ends, native_assertions, build_failures))


def read_machine_failure(text: str, cause_rank: int, echo_rank: int) -> LogFailure | None:
    """Return the failure of a message by the kernel, a shell or a launcher; None for other messages."""
    return (
        read_gpu_error(text)
        or read_native_error(text, cause_rank)
        or read_signal(text, cause_rank, echo_rank)
        or read_job_end(text, cause_rank)
        or read_native_assertion(text, cause_rank)
        or read_build_failure(text, cause_rank)
    )

"""Checks a configuration on this machine within one deadline, because a user waits for the result."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from commands.presets import Needs
from domain import Config, Run
from launcher.checks.check_result import MachineCheckResult
from launcher.checks.file_patterns import resolve_patterns
from launcher.checks.launch_request import LaunchRefusedError
from launcher.checks.provenance import GpuSnapshot
from launcher.checks.requirements import find_doubts, find_lacks, find_unknowns, gpu_facts
from launcher.processes.containers import ImageLookup
from machine.detached_calls import DetachedCalls

CHECK_S = 4.0
RUNTIME_S = 3.0  # of it, for all queries to a container runtime
NO_ANSWER = "an answer within {:g} s: {} does not respond"
_CALLS = DetachedCalls("check", 1024)


def config_with_files(config: Config, cwd: Path) -> Config:
    """Return the config with its file patterns resolved; unchanged if the disk does not respond in time."""
    try:
        return _CALLS.call_within(lambda: resolve_patterns(config, os.environ, cwd), CHECK_S)
    except (TimeoutError, LaunchRefusedError):  # check_here reports the reason
        return config


def check_here(
    config: Config, needs: Needs, gpus: Callable[[], GpuSnapshot], cwd: Path, live: Sequence[Run] = ()
) -> MachineCheckResult:
    """Check the configuration here; if one of the checks hangs, the result holds only that one."""
    pending = "the GPU driver"

    def check() -> MachineCheckResult:
        nonlocal pending
        facts = gpu_facts(gpus())
        pending = "a disk or mount that the command names"
        images = ImageLookup(RUNTIME_S)
        return MachineCheckResult(
            lacks=tuple(find_lacks(config, needs, facts, cwd, live, images)),
            doubts=tuple(find_doubts(config, needs, facts, cwd, images)),
            unknown=tuple(find_unknowns(config, needs, facts)),
        )

    try:
        return _CALLS.call_within(check, CHECK_S)
    except TimeoutError:
        return MachineCheckResult(lacks=(NO_ANSWER.format(CHECK_S, pending),), doubts=(), unknown=())

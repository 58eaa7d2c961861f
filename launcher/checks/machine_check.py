"""The check of a configuration on this machine that somebody waits for: all of it has one deadline."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

from commands.presets import Needs
from domain import Config, Run
from launcher.checks.file_patterns import name_files
from launcher.checks.preflight import LaunchRefusedError
from launcher.checks.requirements import find_doubts, find_lacks, find_unknowns, gpu_facts
from launcher.processes.containers import Images
from launcher.remote.orders import Lacks
from launcher.runs.provenance import GpusNow
from machine.asides import Asides

CHECK_S = 4.0
RUNTIME_S = 3.0  # of it, for all that a container runtime is asked
NO_ANSWER = "an answer within {:g} s: {} does not come back"
_CHECKS = Asides("check", 1024)


def files_named(config: Config, cwd: Path) -> Config:
    """The config with its file patterns replaced by what matches now; as it is where the disk does not say in time."""
    try:
        return _CHECKS.ask(lambda: name_files(config, os.environ, cwd), CHECK_S)
    except (TimeoutError, LaunchRefusedError):  # what the machine lacks says why
        return config


def check_here(config: Config, needs: Needs, gpus: Callable[[], GpusNow], cwd: Path, live: Sequence[Run] = ()) -> Lacks:
    """What this machine lacks; where a part of it hangs, that alone, and nothing is claimed of the others."""
    under_way = "the GPU driver"

    def look() -> Lacks:
        nonlocal under_way
        facts = gpu_facts(gpus())
        under_way = "a disk or mount that the command names"
        images = Images(RUNTIME_S)
        return Lacks(
            lacks=tuple(find_lacks(config, needs, facts, cwd, live, images)),
            doubts=tuple(find_doubts(config, needs, facts, cwd, images)),
            unknown=tuple(find_unknowns(config, needs, facts)),
        )

    try:
        return _CHECKS.ask(look, CHECK_S)
    except TimeoutError:
        return Lacks(lacks=(NO_ANSWER.format(CHECK_S, under_way),), doubts=(), unknown=())

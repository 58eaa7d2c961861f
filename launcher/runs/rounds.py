"""Repeats of configurations, in rounds of one run each, so that drift over time affects all of them alike."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.comparison.arms import NUMBERED
from commands.naming import describe
from commands.secrets import missing_secrets, quoted
from domain import WATCH, Run, WorkloadSpec
from launcher.checks.preflight import LaunchRefusedError, LaunchRequest
from launcher.processes.process import read_spec
from launcher.remote.records import read_asked

MOST_REPEATS = 50
NO_LOAD = "Repeats need a workload: without one a run goes on until it is stopped."


def rounds(n_arms: int, repeats: int, seed: int) -> list[list[int]]:
    """The order of the arms, by number, in each of the rounds.

    The first round is drawn by `seed`, every second one is the round before it reversed, and each such pair begins one
    arm further on: over an even number of rounds all arms have the same mean position, over 2 x `n_arms` each arm has
    been twice in each position.
    """
    drawn = random.Random(seed).sample(range(n_arms), n_arms)
    turned = [drawn[pair % n_arms :] + drawn[: pair % n_arms] for pair in range((repeats + 1) // 2)]
    return [order for forward in turned for order in (forward, forward[::-1])][:repeats]


def new_seed() -> int:
    """A seed for the order of one batch; it is kept with its runs."""
    return secrets.randbelow(2**31)


def repeated(requests: Sequence[LaunchRequest], repeats: int, seed: int) -> list[LaunchRequest]:
    """The requests, each so many times, in the order of their start: a server start each, named '<name> #2'.

    Raises LaunchRefusedError for a number of repeats that is none, and for repeats without a workload.
    """
    _check_repeats(repeats)
    if repeats == 1:
        return list(requests)
    if not all(_has_end(request.workload) for request in requests):
        raise LaunchRefusedError(NO_LOAD)
    order = enumerate(rounds(len(requests), repeats, seed), start=1)
    return [_numbered(requests[arm], number, seed) for number, arms in order for arm in arms]


def repeats_of(run: Run, times: int, batch: Sequence[Run]) -> list[LaunchRequest]:
    """Further repeats of a run that has ended: the same command and workload, numbered on from those in its batch.

    Raises LaunchRefusedError for a run that cannot be repeated as it was.
    """
    _check_repeats(times)
    if run.kind != "launched":
        raise LaunchRefusedError(f"Pitwall did not start '{run.name}', so it cannot start it again.")
    if not run.state.is_final:
        raise LaunchRefusedError(f"'{run.name}' has not ended yet: repeat it then.")
    if not _has_end(run.workload):
        raise LaunchRefusedError(NO_LOAD)
    if missing := missing_secrets(run.config, os.environ):
        words = f"The value of {quoted(missing)} is a secret that Pitwall no longer has"
        raise LaunchRefusedError(f"{words}: relaunch '{run.name}' from the Launch page, and give it.")
    request = LaunchRequest(
        config=run.config,
        name=NUMBERED.sub("", run.name),
        workload=run.workload,
        later_workloads=run.later_workloads,
        ready_path=run.ready_path,
        ready_timeout_s=run.ready_timeout_s,
        **_place_of(run),
    )
    last = max(one.round or 1 for one in (run, *batch) if _is_alike(one, run))
    return [_numbered(request, last + n, run.round_seed) for n in range(1, times + 1)]


def batch_of(run: Run) -> str:
    """What a run shares with its repeats; one that was launched alone gives them its own id."""
    return run.batch_id or run.id


def _check_repeats(repeats: int) -> None:
    if not 1 <= repeats <= MOST_REPEATS:
        raise LaunchRefusedError(f"A run is repeated 1 to {MOST_REPEATS} times, not {repeats}.")


def _has_end(workload: WorkloadSpec | None) -> bool:
    return workload is not None and workload.name != WATCH.name


def _numbered(request: LaunchRequest, number: int, seed: int | None) -> LaunchRequest:
    name = f"{request.name or describe(request.config)} #{number}"
    return replace(request, name=name, round=number, round_seed=seed, stop_when_done=True)


def _is_alike(one: Run, run: Run) -> bool:
    return (one.config, one.workloads) == (run.config, run.workloads)


def _place_of(run: Run) -> dict[str, Any]:
    """The machine, the folder and the URL of its command, by the names of a LaunchRequest."""
    directory = Path(run.run_dir or "")
    try:
        if run.on_host is None:
            return {"cwd": Path(read_spec(directory)["cwd"]), "base_url": run.base_url}
        asked = read_asked(directory)
        cwd = Path(asked.cwd) if asked.cwd else None
        return {"cwd": cwd, "base_url": asked.run.base_url, "on_host": run.on_host}
    except OSError as error:
        raise LaunchRefusedError(f"The run directory of '{run.name}' is gone: relaunch it instead.") from error

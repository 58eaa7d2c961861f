"""Repeats of configurations, in rounds with one run of each, so that drift over time affects all of them equally."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.comparison.arm_names import REPEAT_NUMBER
from commands.naming import describe
from commands.secrets import missing_secrets, quoted
from domain import WATCH, Run, WorkloadSpec
from launcher.checks.launch_request import LaunchRefusedError, LaunchRequest
from launcher.processes.process import read_spec
from launcher.remote.records import read_remote_launch

MOST_REPEATS = 50
NO_LOAD = "Repeats need a workload: without one, a run continues until it is stopped."


def round_orders(n_arms: int, repeats: int, seed: int) -> list[list[int]]:
    """Return the order of the arms, by number, in each round.

    `seed` shuffles the first round; every second round reverses the one before, and each such pair is rotated by one
    arm. Over an even number of rounds all arms have the same mean position; over 2 x `n_arms` rounds each arm has been
    in each position twice.
    """
    first_order = random.Random(seed).sample(range(n_arms), n_arms)
    forward_orders = [first_order[pair % n_arms :] + first_order[: pair % n_arms] for pair in range((repeats + 1) // 2)]
    return [order for forward in forward_orders for order in (forward, forward[::-1])][:repeats]


def new_seed() -> int:
    """Return a seed for the order of one batch; it is stored with its runs."""
    return secrets.randbelow(2**31)


def repeat_requests(requests: Sequence[LaunchRequest], repeats: int, seed: int) -> list[LaunchRequest]:
    """Return each request `repeats` times, in the order of their start, named '<name> #2'.

    Raises LaunchRefusedError for an invalid number of repeats, and for repeats without a workload.
    """
    _check_repeats(repeats)
    if repeats == 1:
        return list(requests)
    if not all(_has_end(request.workload) for request in requests):
        raise LaunchRefusedError(NO_LOAD)
    order = enumerate(round_orders(len(requests), repeats, seed), start=1)
    return [_numbered(requests[arm], number, seed) for number, arms in order for arm in arms]


def repeats_of(run: Run, times: int, batch: Sequence[Run]) -> list[LaunchRequest]:
    """Return requests for further repeats of an ended run, numbered after those in its batch.

    Raises LaunchRefusedError for a run that cannot be repeated unchanged.
    """
    _check_repeats(times)
    if run.kind != "launched":
        raise LaunchRefusedError(f"Pitwall did not start '{run.name}', so it cannot start it again.")
    if not run.state.is_final:
        raise LaunchRefusedError(f"'{run.name}' has not ended yet: repeat it afterwards.")
    if not _has_end(run.workload):
        raise LaunchRefusedError(NO_LOAD)
    if missing := missing_secrets(run.config, os.environ):
        problem = f"The value of {quoted(missing)} is a secret that Pitwall no longer has"
        raise LaunchRefusedError(f"{problem}: relaunch '{run.name}' from the Launch page and enter it.")
    request = LaunchRequest(
        config=run.config,
        name=REPEAT_NUMBER.sub("", run.name),
        workload=run.workload,
        later_workloads=run.later_workloads,
        ready_path=run.ready_path,
        ready_timeout_s=run.ready_timeout_s,
        color=run.color,
        **_launch_location(run),
    )
    last_round = max(batch_run.round or 1 for batch_run in (run, *batch) if _is_same_setup(batch_run, run))
    return [_numbered(request, last_round + n, run.round_seed) for n in range(1, times + 1)]


def batch_of(run: Run) -> str:
    """Return the batch id that a run shares with its repeats; its own id if it was launched alone."""
    return run.batch_id or run.id


def _check_repeats(repeats: int) -> None:
    if not 1 <= repeats <= MOST_REPEATS:
        raise LaunchRefusedError(f"A run is repeated 1 to {MOST_REPEATS} times, not {repeats}.")


def _has_end(workload: WorkloadSpec | None) -> bool:
    return workload is not None and workload.name != WATCH.name


def _numbered(request: LaunchRequest, number: int, seed: int | None) -> LaunchRequest:
    name = f"{request.name or describe(request.config)} #{number}"
    return replace(request, name=name, round=number, round_seed=seed, stop_when_done=True)


def _is_same_setup(candidate: Run, run: Run) -> bool:
    return (candidate.config, candidate.workloads) == (run.config, run.workloads)


def _launch_location(run: Run) -> dict[str, Any]:
    """Return host, directory and URL of the run's command, as fields of a LaunchRequest."""
    directory = Path(run.run_dir or "")
    try:
        if run.on_host is None:
            return {"cwd": Path(read_spec(directory)["cwd"]), "base_url": run.base_url}
        remote_launch = read_remote_launch(directory)
        cwd = Path(remote_launch.cwd) if remote_launch.cwd else None
        return {"cwd": cwd, "base_url": remote_launch.run.base_url, "on_host": run.on_host}
    except OSError as error:
        raise LaunchRefusedError(f"The run directory of '{run.name}' is gone: relaunch it instead.") from error

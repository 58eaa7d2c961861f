"""Servers in real podman containers under kill -9 at random moments of their lives, whoever it hits."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from domain import RunState
from launcher.processes.process import server_process, shim_process
from tests.launcher.processes.podman import (
    check_nothing_is_left,
    container_process,
    containers,
    monitor_process,
    podman,
)
from tests.launcher.runs.test_chaos import ANYBODY, Holder, Victims, storm
from tests.launcher.servers import marked

pytestmark = [
    pytest.mark.podman,
    pytest.mark.long,
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
    pytest.mark.timeout(1800),
]
LAUNCHES = 20
EVERYBODY: Victims = {
    "client": server_process,
    "shim": shim_process,
    "container": lambda directory: container_process(directory.name),
    "monitor": lambda directory: monitor_process(directory.name),
    "workload": ANYBODY["workload"],
}


def test_container_storm_leaves_none_behind(
    image: str, tmp_path: Path, record_testsuite_property: Callable[[str, object], None]
) -> None:
    pitwall = Holder(tmp_path, image)
    try:
        hits = storm(pitwall, LAUNCHES, EVERYBODY, within_s=3.0)
    finally:
        pitwall.kill()
        for run in pitwall.store.runs():
            podman("rm", "-f", "-i", *containers(run.id), "none-of-ours")
            for process in marked(run.id):
                process.kill()
    runs = pitwall.store.runs()
    assert len(runs) == LAUNCHES and hits.total() == LAUNCHES
    for run in runs:
        check_nothing_is_left(run)
        assert run.state is RunState.FINISHED or run.cause, run
    record_testsuite_property("container launches, hits", dict(hits))
    record_testsuite_property("container launches, states", dict(Counter(run.state.value for run in runs)))

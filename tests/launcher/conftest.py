"""A Supervisor on a store that is a dict; whatever a test leaves running is ended."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.runs.supervisor import Supervisor
from tests.launcher.processes.podman import bare_image
from tests.launcher.servers import DictStore, marked


@pytest.fixture
def store() -> DictStore:
    return DictStore()


@pytest.fixture
def make_supervisor(store: DictStore, tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    supervisors: list[Supervisor] = []

    def make(**given: Any) -> Supervisor:
        supervisor = Supervisor(store, tmp_path / "runs", **{"events": store.take, "stop_grace_s": 5.0, **given})
        supervisor.adopt_all()
        supervisor.start()
        supervisors.append(supervisor)
        return supervisor

    yield make
    for supervisor in supervisors:
        supervisor.close(stop_servers=True)
    for run in store.runs():
        for process in marked(run.id):
            process.kill()


@pytest.fixture
def supervisor(make_supervisor: Callable[..., Supervisor]) -> Supervisor:
    return make_supervisor()


@pytest.fixture
def locked() -> Iterator[Path]:
    """A folder 'locked' that may not be entered, in one that may; as root it is nobody who looks."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        (folder := Path(place) / "locked").mkdir(mode=0)
        is_root = os.geteuid() == 0
        if is_root:
            os.seteuid(65534)
        yield folder
        if is_root:
            os.seteuid(0)
        folder.chmod(0o700)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an image for real podman containers."""
    with bare_image(tmp_path_factory.mktemp("image")) as name:
        yield name

"""A Supervisor on a store that is a dict; whatever a test leaves running is ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from launcher.supervisor import Supervisor
from tests.launcher.podman import bare_image
from tests.launcher.servers import DictStore, marked


@pytest.fixture
def store() -> DictStore:
    return DictStore()


@pytest.fixture
def make_supervisor(store: DictStore, tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    made: list[Supervisor] = []

    def make(**given: Any) -> Supervisor:
        supervisor = Supervisor(store, tmp_path / "runs", **{"events": store.take, "stop_grace_s": 5.0, **given})
        supervisor.adopt_all()
        supervisor.start()
        made.append(supervisor)
        return supervisor

    yield make
    for supervisor in made:
        supervisor.close(stop_servers=True)
    for run in store.runs():
        for process in marked(run.id):
            process.kill()


@pytest.fixture
def supervisor(make_supervisor: Callable[..., Supervisor]) -> Supervisor:
    return make_supervisor()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of an image for real podman containers."""
    with bare_image(tmp_path_factory.mktemp("image")) as name:
        yield name

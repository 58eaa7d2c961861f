"""The real engine for every test that wants one: llama.cpp's server on a tiny model, started once per session."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.model import TINY, ModelFiles, make_model
from demo.presets import free_ports
from tests.demo_engine import DemoServer, running_demo


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> ModelFiles:
    pytest.importorskip("gguf")
    return make_model(tmp_path_factory.mktemp("model"), TINY)


@pytest.fixture(scope="session")
def demo_server(tiny_model: ModelFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """The tiny model with its draft, four slots of 4,096 tokens."""
    log = tmp_path_factory.mktemp("demo") / "server.log"
    argv = ["-m", str(tiny_model.target), "-md", str(tiny_model.draft), "-np", "4", "-c", "16384"]
    with running_demo(argv, free_ports(1)[0], log) as server:
        yield server

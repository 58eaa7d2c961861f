"""What is real for every test that wants it: llama.cpp's server on a tiny model, and Chromium."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from demo.model import TINY, ModelFiles, make_model
from demo.presets import free_ports
from settings import Settings
from storage.store import Store
from tests.demo_engine import DemoServer, running_demo

BROWSER_ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
hypothesis.settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault of the code
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "data")


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """A store in a folder of its own."""
    opened = Store.open(settings)
    yield opened
    opened.close()


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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One a module: while it is open, its event loop runs in this thread and no other can."""
    with sync_playwright() as playwright:
        path = os.environ.get("PITWALL_BROWSER", "/usr/bin/chromium")
        browser = playwright.chromium.launch(executable_path=path, args=BROWSER_ARGS)
        yield browser
        browser.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a small file system is refused here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)

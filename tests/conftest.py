"""Real parts for every test that needs them: llama.cpp's server on a tiny model, and Chromium."""

from __future__ import annotations

import gc
import os
import shutil
import ssl
import subprocess
from collections.abc import Generator, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import certifi
import hypothesis
import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from streamlit.components.v2 import manifest_scanner

import storage.store
from demo.model import TINY, ModelFiles, make_model
from machine.private_files import private_folder
from settings import Settings
from storage.database import Database, StoreError
from storage.files.publish import Publisher
from storage.store import Store
from tests.demo_engine import DemoServer, running_demo
from tests.ports import free_ports

BROWSER_ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--renderer-process-limit=1",  # a process that is there has the pages' scripts compiled: half the CPU of a page
    # A page is looked at for seconds: optimizing its code takes a sixth of its CPU and is never made up for.
    "--js-flags=--invocation-count-for-maglev=4000 --invocation-count-for-turbofan=30000",
]
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)
hypothesis.settings.register_profile("unhurried", deadline=None)  # a busy machine is no fault of the code
hypothesis.settings.load_profile("unhurried")


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store that was opened and closed, with nothing in it."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("empty") / "data")
    Store.open(settings).close()
    return settings.store_path


@pytest.fixture(autouse=True, scope="session")
def stores_begin_as_copies(empty_store: Path) -> Iterator[None]:
    """A new store is a copy of an empty one, whose tables and views are those that opening it would make or look at."""
    opened = storage.store.open_database

    def opened_copy(settings: Settings) -> Database:
        if settings.store_path.exists() or settings.published_path.exists():
            return opened(settings)
        with suppress(OSError, StoreError):  # the store says itself why its folder cannot be written
            private_folder(settings.data_dir)
            shutil.copyfile(empty_store, settings.store_path)
            return Database(settings.store_path)
        return opened(settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(storage.store, "open_database", opened_copy)
        yield


@pytest.fixture(autouse=True, scope="session")
def installed_components_are_looked_for_once() -> Iterator[None]:
    """Each AppTest reads the metadata of all that is installed: longer than most pages take, and never another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(manifest_scanner, "scan_component_manifests", cache(manifest_scanner.scan_component_manifests))
        yield


@pytest.fixture(autouse=True, scope="session")
def certificates_are_read_once() -> Iterator[None]:
    """A client of httpx reads all that are known to it, which takes longer than what is asked of this machine."""
    made = ssl.create_default_context

    def made_once(*purpose: ssl.Purpose, cafile: str | None = None, **others: Any) -> ssl.SSLContext:
        is_httpx = cafile == certifi.where() and not purpose and not others
        return known_cache() if is_httpx else made(*purpose, cafile=cafile, **others)

    known_cache = cache(lambda: made(cafile=certifi.where()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ssl, "create_default_context", made_once)
        yield


@pytest.fixture(autouse=True)
def published_where_it_is_read(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test's stores publish by themselves only where it is marked `publishes`, elsewhere when they are asked to.

    It is half of what a store costs: when it is opened, after its first commit and when it is closed.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not request.node.get_closest_marker("publishes"):
            patch.setattr(Publisher, "try_publish", lambda publisher: setattr(publisher, "_changed_s", None))
        yield


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
    """A file system of 28 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=28m", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a small file system is refused here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing of thousands of tests is garbage: each worker would look through it all, while it collects and later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What waits for containers, browsers and other machines begins first, and goes on beside what computes."""
    waits = ("podman", "browser", "ssh", "engine")

    def by_module(item: pytest.Item) -> tuple[int, str]:
        module = item.nodeid.partition("::")[0]
        return min((waits.index(name) for name in kinds[module]), default=len(waits)), module

    kinds: dict[str, set[str]] = {}
    for item in items:
        names = {mark.name for mark in item.iter_markers()}
        kinds.setdefault(item.nodeid.partition("::")[0], set()).update(names & set(waits))
    items.sort(key=by_module)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests measured on the way, whichever process ran them: record_property("told", ...)."""
    for report in terminalreporter.getreports("passed"):
        for name, said in report.user_properties:
            if name == "told":
                terminalreporter.write_line(f"{report.nodeid}: {said}")

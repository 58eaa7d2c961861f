"""Opening time of a shared link in a fresh browser profile, from the click to the first number and beyond.

`python -m benchmarks.share_open [--turns 10]` prints a table. Pitwall (app.py) runs as a process of its own and watches
a real llama.cpp server that generates continuously; every turn uses a new profile, without cookies or cache. The first
number is part of the page's HTML (web/server/first_look.py); the live ones are pushed. CPU time is Chromium's up to the
live numbers: on a loaded machine it is more reliable than the clock. Next to each visit a plain Streamlit page with a
single number is opened.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple

import httpx
import psutil
from playwright.sync_api import Browser, Page, sync_playwright

from demo.model import TINY, make_model
from demo.presets import free_ports
from domain import Config, Run, RunState, new_run_id
from machine.identity import machine_id
from scripts.find_browser import installed
from settings import Settings
from storage.store import Store
from tests.demo_engine import running_demo
from tests.e2e.pitwall_process import ROOT, Pitwall, wait_until
from web.access.shares import ShareBook
from web.access.signing_key import load_secret

IS_LIVE = "/[0-9]/.test(document.querySelector('.lv-speed')?.textContent ?? '')"
IS_PAINTED = "document.querySelector('.pw-first .pw-big') && performance.getEntriesByType('paint').length > 1"
NUMBER = f"() => {IS_LIVE}"
FIRST = f"() => ({IS_PAINTED}) || {IS_LIVE}"  # of a moment without decoding the first look shows none
CHARTS = """() => document.querySelector('.lv-wide .lv-plot .main-svg') !== null"""
PATIENCE_MS = 120_000
SAMPLES = 15  # seconds of the run that are there to be shown
HEAD = "| visit | first number | live numbers | charts | CPU | bare Streamlit: number | CPU | first number to bare |\n"


class Turn(NamedTuple):
    """Seconds since the click, and Chromium's CPU seconds up to the live numbers."""

    first_s: float
    live_s: float
    charts_s: float
    cpu_s: float
    bare_s: float
    bare_cpu_s: float


@contextmanager
def generating(base_url: str) -> Iterator[None]:
    """Keep the server generating."""
    enough = Event()

    def work() -> None:
        while not enough.is_set():
            httpx.post(f"{base_url}/v1/completions", json={"prompt": "once", "max_tokens": 300}, timeout=120)

    busy = Thread(target=work)
    busy.start()
    try:
        yield
    finally:
        enough.set()
        busy.join()


def seed(settings: Settings, base_url: str, log: Path, url: str) -> str:
    """Create a run that watches the server, and a link to it."""
    now = datetime.now(UTC)
    run = Run(
        id=new_run_id(now), name="Shared", color=0, kind="attached", state=RunState.READY, machine_id=machine_id(),
        config=Config(engine="llamacpp", launcher="attach"), created_at=now, started_at=now, ready_at=now,
        base_url=base_url, log_path=str(log),
    )  # fmt: skip
    store = Store.open(settings)
    store.save_run(run)
    shares = ShareBook(load_secret(settings.secret_path), url)
    shares.load(store)
    link = shares.link(shares.make([run.id], "live", timedelta(days=1), "operator"))
    store.close()
    return link


def chromium_cpu_s() -> float:
    """Return user and system time of the browser's living processes."""
    total_s = 0.0
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # of the profile before
            total_s += sum(process.cpu_times()[:2]) if "chrom" in process.name() else 0.0
    return total_s


@dataclass(frozen=True)
class Visit:
    """Page in a profile of its own."""

    page: Page
    clicked_s: float
    cpu_before_s: float

    def seconds_until(self, holds: str) -> float:
        """Wait until the page shows it; return the seconds since the click."""
        self.page.wait_for_function(holds, polling=20, timeout=PATIENCE_MS)
        return time.monotonic() - self.clicked_s

    def cpu_s(self) -> float:
        return chromium_cpu_s() - self.cpu_before_s


@contextmanager
def opened(browser: Browser, url: str) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    visit = Visit(context.new_page(), time.monotonic(), chromium_cpu_s())
    visit.page.goto(url, wait_until="commit")
    yield visit
    context.close()


def visit(browser: Browser, link: str, bare_url: str) -> Turn:
    """Visit both pages, one after the other."""
    with opened(browser, bare_url) as bare:
        bare_s, bare_cpu_s = bare.seconds_until(NUMBER), bare.cpu_s()
    with opened(browser, link) as pitwall_page:
        first_s, live_s, cpu_s = (
            pitwall_page.seconds_until(FIRST),
            pitwall_page.seconds_until(NUMBER),
            pitwall_page.cpu_s(),
        )
        return Turn(first_s, live_s, pitwall_page.seconds_until(CHARTS), cpu_s, bare_s, bare_cpu_s)


@contextmanager
def bare_streamlit(folder: Path) -> Iterator[str]:
    """Yield the URL of a Streamlit page that shows one number."""
    script, port = folder / "bare.py", free_ports(1)[0]
    script.write_text("import streamlit as st\nst.html('<p class=\"lv-speed\">42</p>')\n")
    argv = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: is_up(port), 60)
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(20)


def is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/_stcore/health").is_success
    except httpx.HTTPError:
        return False


def measure(folder: Path, turns: int) -> list[Turn]:
    """Return the visits, including the first one after Pitwall's start."""
    model = make_model(folder / "model", TINY)
    argv = ["-m", str(model.target), "-md", str(model.draft), "-np", "1", "-c", "4096"]
    pitwall = Pitwall(folder / "data", free_ports(1)[0])
    with running_demo(argv, free_ports(1)[0], folder / "server.log") as server, generating(server.base_url):
        link = seed(Settings(data_dir=pitwall.data), server.base_url, server.log, pitwall.url)
        pitwall.start()
        try:
            wait_until(lambda: len(pitwall.sql("FROM engine_samples")) > SAMPLES, 120)
            with bare_streamlit(folder) as bare_url, sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=installed(), args=["--no-sandbox", "--headless"])
                return [visit(browser, link, bare_url) for _ in range(turns)]
        finally:
            pitwall.end_everything()


def row(name: str, turns: list[Turn]) -> str:
    medians = [statistics.median(column) for column in zip(*turns, strict=True)]
    ratio = statistics.median(turn.first_s / turn.bare_s for turn in turns)
    return f"| {name} | {' | '.join(f'{median:.2f} s' for median in medians)} | {ratio:.2f} |\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--turns", type=int, default=10)
    with tempfile.TemporaryDirectory() as folder:
        turns = measure(Path(folder), parser.parse_args().turns)
    out = sys.stdout.write
    out(f"Load average {os.getloadavg()[0]:.1f}\n\n{HEAD}|---|---|---|---|---|---|---|---|\n")
    out(row("the first after Pitwall's start", turns[:1]) + row(f"median of {len(turns) - 1} more", turns[1:]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

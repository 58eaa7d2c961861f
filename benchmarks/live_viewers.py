"""Cost of live viewers: server CPU with 0, 1 and 20 of them, and latency from a log line to its point in the browser.

`python benchmarks/live_viewers.py [--lines 60] [--seconds 15] [--browser /usr/bin/chromium]` prints a table.
Pitwall itself (app.py: real store, collectors, access check, hub) runs as a process of its own and watches an attached
server. That server is a stand-in: it answers /health, and this process writes its log in vLLM's format, a throughput
line and the speculation line after it in one write. A viewer is a WebSocket that reads what the Live page reads; the
latency is measured in a real Chromium on the same clock, when Plotly's data has the value.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import httpx
import psutil
from playwright.sync_api import sync_playwright
from websockets.asyncio.client import connect

from domain import Config
from launcher.runs.supervisor import Supervisor
from settings import Settings
from storage.store import Store

ROOT = Path(__file__).resolve().parent.parent
LINE = (
    "(APIServer pid=1) INFO {now:%m-%d %H:%M:%S} [loggers.py:310] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: {speed:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.2%, "
    "Prefix cache hit rate: 0.0%\n(APIServer pid=1) INFO {now:%m-%d %H:%M:%S} [metrics.py:120] SpecDecoding metrics: "
    "Mean acceptance length: 4.28, Accepted throughput: 82.00 tokens/s, Drafted throughput: 100.00 tokens/s, "
    "Accepted: 820 tokens, Drafted: 1000 tokens, Per-position acceptance rate: 0.950, 0.870, 0.780, 0.680, "
    "Avg Draft acceptance rate: 82.0%\n"
)
WATCH = """() => {
  window.seen = {};
  const plot = document.querySelector('.lv-wide .lv-plot');
  const look = () => {
    for (const speed of plot.data[0].y.slice(-5)) window.seen[speed] ??= Date.now();
    requestAnimationFrame(look);
  };
  look();
}"""


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/health" else 404)
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def attach_run(settings: Settings, base_url: str, log: Path) -> str:
    store = Store.open(settings)
    supervisor = Supervisor(store, settings.runs_dir, events=store.write)
    run = supervisor.attach(base_url, Config(engine="vllm"), log_path=log)
    store.close()
    return run.id


@contextlib.contextmanager
def pitwall(settings: Settings) -> Iterator[tuple[psutil.Process, str]]:
    """Run app.py as a process, and yield the URL that it prints."""
    env = os.environ | {"PITWALL_DATA": str(settings.data_dir), "PITWALL_PORT": str(settings.port)}
    command = [sys.executable, "pitwall", "run"]
    with subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = next(match[1] for line in process.stdout if (match := re.search(r"Open (\S+)", line)))
        try:
            yield psutil.Process(process.pid), url
        finally:
            process.terminate()
            process.communicate()


def write_lines(log: Path, stop: threading.Event) -> None:
    """Write one stats line per second, for the CPU measurement."""
    while not stop.wait(1):
        with log.open("a") as file:
            file.write(LINE.format(now=datetime.now(UTC), speed=random.uniform(90, 110)))


async def watch(address: str, run_id: str, cookie: str, received: list[int]) -> None:
    async with connect(f"{address}/ws/live?run={run_id}", additional_headers={"cookie": cookie}) as socket:
        await socket.send("{}")
        async for message in socket:
            received.append(len(message))


async def cpu_with(viewers: int, seconds: float, server: psutil.Process, url: str, run_id: str) -> tuple[float, float]:
    """Return server CPU as a share of one core, and bytes per second to each viewer."""
    answer = httpx.get(url)
    cookie = answer.headers["set-cookie"].split(";")[0]
    address = url.split("/?")[0].replace("http", "ws")
    received: list[int] = []
    tasks = [asyncio.create_task(watch(address, run_id, cookie, received)) for _ in range(viewers)]
    await asyncio.sleep(3)
    received.clear()
    before, began = sum(server.cpu_times()[:2]), time.monotonic()
    await asyncio.sleep(seconds)
    cpu_s, lasted = sum(server.cpu_times()[:2]) - before, time.monotonic() - began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return cpu_s / lasted, sum(received) / lasted / max(viewers, 1)


def latencies_ms(url: str, run_id: str, log: Path, count: int, browser_path: str) -> list[float]:
    """Return the latency from the write of each line to its value in the chart of a real browser."""
    written_at: dict[float, float] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000})
        page.goto(url.replace("/?", f"/live?run={run_id}&"))
        page.wait_for_selector(".lv-wide .lv-plot .main-svg", timeout=60_000)
        page.evaluate(WATCH)
        for number in range(count):
            speed = round(200 + number / 10, 1)
            with log.open("a") as file:
                file.write(LINE.format(now=datetime.now(UTC), speed=speed))
            written_at[speed] = time.time() * 1000
            page.wait_for_timeout(random.uniform(1000, 1400))
        page.wait_for_timeout(2000)
        seen_at = {float(speed): at for speed, at in page.evaluate("window.seen").items() if speed != "null"}
        browser.close()
    return sorted(seen_at[speed] - at for speed, at in written_at.items() if speed in seen_at)


def measure(lines: int, seconds: float, browser: str, folder: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Healthy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    settings = Settings(data_dir=folder / "data", port=free_port())
    settings.data_dir.mkdir()
    log = folder / "server.log"
    log.write_text(LINE.format(now=datetime.now(UTC), speed=1.0))
    run_id = attach_run(settings, f"http://127.0.0.1:{server.server_port}", log)
    with pitwall(settings) as (process, url):
        stop = threading.Event()
        threading.Thread(target=write_lines, args=(log, stop), daemon=True).start()
        print("| viewers | server CPU, share of one core | to each viewer |\n|---|---|---|")
        for viewers in (0, 1, 20):
            cpu, rate = asyncio.run(cpu_with(viewers, seconds, process, url, run_id))
            print(f"| {viewers} | {cpu:.1%} | {rate:,.0f} B/s |", flush=True)
        stop.set()
        latencies = latencies_ms(url, run_id, log, lines, browser)
        p95 = statistics.quantiles(latencies, n=20)[-1]
        print(f"\nLog line written to its point in the browser, {len(latencies)} of {lines} lines seen:")
        print(f"p50 {statistics.median(latencies):.0f} ms, p95 {p95:.0f} ms, worst {latencies[-1]:.0f} ms")
    server.shutdown()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", type=int, default=60)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--browser", default=os.environ.get("PITWALL_BROWSER", "/usr/bin/chromium"))
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments.lines, arguments.seconds, arguments.browser, Path(folder))


if __name__ == "__main__":
    main()

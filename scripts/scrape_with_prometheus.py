"""Scrapes a whole Pitwall with a real Prometheus for some minutes, and counts series.

`.venv/bin/python -m scripts.scrape_with_prometheus [--minutes N]` needs `prometheus` and `promtool` (Debian: `apt
install prometheus`). Meanwhile the demo's server is started and put under load again and again, one start for every
five minutes. Prints one row per minute, and exits 1 if a scrape failed, promtool objects, a number that must be there
is missing, or the series of one scrape exceed the limit.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import yaml

from demo.presets import demo_configs, free_ports
from launcher.checks.launch_request import LaunchRequest
from scripts.whole_pitwall import ROOT, put_in_queue, supervising
from tests.e2e.pitwall_process import Pitwall, wait_until
from web.access.tokens import Scope, TokenBook
from web.guided_demo.start import PARAMS, WORKLOAD
from workloads import spec_for

INTERVAL_S = 15
LOOK_EVERY_S = 60.0
MINUTES_PER_START = 5
MOST_SERIES = 1_000  # of one scrape; two or three runs are live or ended within the hour's last minutes
DEMANDED = (
    "pitwall_run_decode_tokens_per_second", "pitwall_run_steps_per_second", "pitwall_run_data_age_seconds",
    "pitwall_run_stream_tokens_per_second", "pitwall_run_position_acceptance_ratio", "pitwall_run_state",
)  # fmt: skip


def alert_rules() -> str:
    """Return the alert rules of docs/prometheus.md."""
    document = (ROOT / "docs/prometheus.md").read_text()
    (rules,) = re.findall(r"```yaml\n(groups:.*?)```", document, re.DOTALL)
    return str(rules)


@contextmanager
def prometheus(folder: Path, target: str, token: str) -> Iterator[str]:
    """Run Prometheus against a target; yields its address."""
    (folder / "token").write_text(token)
    (folder / "rules.yml").write_text(alert_rules())
    config = {
        "global": {"scrape_interval": f"{INTERVAL_S}s"},
        "rule_files": ["rules.yml"],
        "scrape_configs": [
            {
                "job_name": "pitwall",
                "authorization": {"credentials_file": str(folder / "token")},
                "static_configs": [{"targets": [target]}],
            }
        ],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    subprocess.run(["promtool", "check", "config", str(folder / "prometheus.yml")], check=True)
    address = f"127.0.0.1:{free_ports(1)[0]}"
    argv = ["prometheus", f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([*argv, f"--web.listen-address={address}"], stdout=log, stderr=log)
        try:
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(60)


def ask(address: str, query: str) -> list[dict[str, Any]]:
    """Return the result of an instant query."""
    answer = httpx.get(f"{address}/api/v1/query", params={"query": query}, timeout=30)
    result: list[dict[str, Any]] = answer.json()["data"]["result"]
    return result


def number(address: str, query: str) -> float:
    """Return the only value of a query, NaN without one."""
    result = ask(address, query)
    return float(result[0]["value"][1]) if result else float("nan")


def check_text(url: str, token: str) -> str:
    """Return what promtool objects to in the answer, '' if nothing."""
    text = httpx.get(url, headers={"authorization": f"Bearer {token}", "accept": "text/plain"}, timeout=60).text
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=60)
    return checked.stdout + checked.stderr if checked.returncode or checked.stdout or checked.stderr else ""


def look_on(address: str, metrics_url: str, token: str, minutes: float) -> list[str]:
    """Print a row per minute until the time is up; returns what is wrong."""
    problems, seen, end = [], set[str](), time.monotonic() + minutes * 60
    print("minute  series of a scrape  series in memory  slowest scrape, s", flush=True)
    while (left_s := end - time.monotonic()) > 0:
        time.sleep(min(LOOK_EVERY_S, left_s))
        series = number(address, "max_over_time(scrape_samples_scraped[2m])")
        head = json.loads(httpx.get(f"{address}/api/v1/status/tsdb").text)["data"]["headStats"]["numSeries"]
        slowest = number(address, "max_over_time(scrape_duration_seconds[2m])")
        print(f"{minutes - (end - time.monotonic()) / 60:6.1f}  {series:18.0f}  {head:16}  {slowest:17.3f}", flush=True)
        seen |= {name for name in DEMANDED if ask(address, f"count_over_time({name}[2m])")}
        if series > MOST_SERIES:
            problems.append(f"{series:.0f} series in one scrape")
        if objection := check_text(metrics_url, token):
            problems.append(f"promtool: {objection}")
    failed = number(address, f"count_over_time((up == 0)[{minutes:.0f}m:{INTERVAL_S}s])")
    if failed > 0:
        problems.append(f"{failed:.0f} scrapes failed")
    scrapes = number(address, f"count_over_time(up[{max(1, minutes):.0f}m])")
    print(f"{scrapes:.0f} scrapes, {failed if failed > 0 else 0:.0f} failed")
    return [*problems, *(f"no value of {name}" for name in DEMANDED if name not in seen)]


def main() -> int:
    """Run everything and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    minutes = parser.parse_args().minutes
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        sys.exit("prometheus and promtool are not installed: apt install prometheus")
    with tempfile.TemporaryDirectory() as name:
        folder, data = Path(name), Path(name) / "data"
        draft_model = demo_configs(data)[1]
        request = LaunchRequest(draft_model.config, draft_model.name, spec_for(WORKLOAD, PARAMS), makes_model=True)
        put_in_queue(data, [request], max(3, round(minutes / MINUTES_PER_START)))
        _, token = TokenBook(data / "tokens.json").make([Scope.METRICS], None, timedelta(days=1), "", "a check")
        pitwall = Pitwall(data, free_ports(1)[0])
        try:
            pitwall.start()
            metrics_url = f"{pitwall.url}/metrics"
            with prometheus(folder, f"127.0.0.1:{pitwall.port}", token) as address:
                wait_until(lambda: _is_up(address), 60)
                problems = look_on(address, metrics_url, token, minutes)
        finally:
            pitwall.end_everything()
            with supervising(data) as supervisor:
                supervisor.close(stop_servers=True)
    print("\n".join(problems) or "Prometheus and promtool are content.")
    return 1 if problems else 0


def _is_up(address: str) -> bool:
    try:
        return number(address, "up") == 1.0
    except (httpx.HTTPError, KeyError):
        return False


if __name__ == "__main__":
    sys.exit(main())

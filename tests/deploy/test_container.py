"""The image of the Containerfile in real podman: no root inside, healthy, and the demo runs to its answer.

It needs the image localhost/pitwall (docs/installation.md), or the base image to build it from; no registry is asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, expect

from pitwall_client import PitwallClient
from tests.launcher.processes.podman import write_settings
from tests.ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
IMAGE, BASE = "localhost/pitwall", "docker.io/library/debian:bookworm-slim"
PATIENCE_S, DEMO_S, BUILD_S = 90.0, 1500.0, 1200.0
NAME = f"pitwall-test-{os.getpid()}"

pytestmark = [
    pytest.mark.podman,
    pytest.mark.long,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]


def podman(*words: str, timeout_s: float = PATIENCE_S) -> str:
    return subprocess.run(
        ["podman", *words], capture_output=True, text=True, check=True, timeout=timeout_s, cwd=ROOT
    ).stdout


def has_image(name: str) -> bool:
    return subprocess.run(["podman", "image", "exists", name], cwd=ROOT).returncode == 0


def wait_until(holds: Callable[[], object], patience_s: float = PATIENCE_S, every_s: float = 0.5) -> None:
    end_s = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(every_s)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        if "CONTAINERS_CONF" not in os.environ:
            patch.setenv("CONTAINERS_CONF", str(write_settings(tmp_path_factory.mktemp("podman"))))
        if not has_image(IMAGE):
            if not has_image(BASE):
                pytest.skip(f"neither {IMAGE} nor {BASE} is here, and no registry is asked")
            podman("build", "--pull=never", "--format", "docker", "-t", IMAGE, ".", timeout_s=BUILD_S)
        yield IMAGE


@pytest.fixture(scope="module")
def port(image: str) -> Iterator[int]:
    """The port of a container that has everything that the documents recommend: no capability, its data in a volume."""
    port = free_ports(1)[0]
    address = ("-e", f"PITWALL_PORT={port}", "-e", "PITWALL_HOST=127.0.0.1")
    limits = ("--cap-drop=ALL", "--security-opt=no-new-privileges")
    podman("run", "-d", "--name", NAME, "--network=host", *address, *limits, "-v", f"{NAME}:/data", image)
    try:
        wait_until(lambda: "token=" in podman("logs", NAME))
        yield port
    finally:
        podman("rm", "-f", NAME)
        podman("volume", "rm", "-f", NAME)


def test_no_root_inside_and_healthy(port: int) -> None:
    assert podman("exec", NAME, "id", "-u") == "1000\n"
    assert podman("exec", NAME, "stat", "-c", "%a %U", "/data") == "700 pitwall\n"
    assert httpx.get(f"http://127.0.0.1:{port}/healthz").json()["ok"]
    (described,) = json.loads(podman("image", "inspect", IMAGE))
    check = next(value for name, value in described.items() if name.lower() == "healthcheck")["Test"]
    assert subprocess.run(["podman", "exec", NAME, *check[1:]], cwd=ROOT).returncode == 0
    broken = ["podman", "exec", "-e", f"PITWALL_PORT={free_ports(1)[0]}", NAME, *check[1:]]
    assert subprocess.run(broken, cwd=ROOT, capture_output=True).returncode == 1


@pytest.mark.browser
@pytest.mark.engine
def test_the_demo_runs_in_it(port: int, browser: Browser) -> None:
    match = re.search(r"token=(\S+)", podman("logs", NAME))
    assert match
    page = browser.new_page()
    page.goto(f"http://127.0.0.1:{port}/?token={match[1]}")
    page.get_by_role("button", name="Run the demo").click()
    token = podman("exec", NAME, "/opt/pitwall/pitwall", "token", "make", "sql:read")
    with PitwallClient(f"http://127.0.0.1:{port}", token) as pitwall:
        wait_until(lambda: len(pitwall.runs()) == 9)

        def has_ended() -> bool:
            states = {run.state for run in pitwall.runs()}
            assert "failed" not in states, podman("exec", NAME, "sh", "-c", "tail -n 20 /data/runs/*/server.log")
            return states == {"finished"}

        wait_until(has_ended, DEMO_S, every_s=3.0)
        comparison = pitwall.compare([run.run_id for run in pitwall.runs()])
    assert len(comparison.answers) == 2 and all(len(arm["runs"]) == 3 for arm in comparison.fields["arms"])
    page.wait_for_url(re.compile(r"/compare\?run="))
    expect(page.locator(".pw-say").first).to_be_visible()
    page.close()


def test_data_outlives_the_container(port: int) -> None:
    """An upgrade is a new container on the same volume; SIGTERM ends the old one in time."""
    began_s = time.monotonic()
    podman("stop", "-t", "15", NAME)
    assert time.monotonic() - began_s < 15
    podman("start", NAME)
    wait_until(lambda: podman("logs", NAME).count("token=") == 2)
    assert json.loads(podman("exec", NAME, "/opt/pitwall/pitwall", "token", "list", "--json")) is not None

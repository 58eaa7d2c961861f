"""Upgrade and way back in real podman, as docs/installation.md says them: an older image's volume, a newer image.

The older image is today's with the code of an older commit in it: its packages are today's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pitwall_client import PitwallClient
from tests.deploy.test_container import ROOT, image, podman, wait_until
from tests.ports import free_ports

__all__ = ["image"]

OLDER_COMMIT = "a1753a8296d45d3bc90f4f335571a9d9c59455af"  # the oldest whose stores are upgraded
OLDER, NAME = f"localhost/pitwall-older-{os.getpid()}", f"pitwall-upgrade-{os.getpid()}"
OLDER_FILE = """FROM {image}
USER root
RUN find /opt/pitwall -mindepth 1 -maxdepth 1 ! -name .venv -exec rm -rf {{}} +
COPY . /opt/pitwall/
USER pitwall
"""
LOGS = [ROOT / "tests/fixtures/vllm" / name for name in ("0.32-dp2.log", "0.32-ngram.log")]
BUILD_S = 600.0
COMMAND = "/opt/pitwall/pitwall"

pytestmark = [
    pytest.mark.podman,
    pytest.mark.long,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed"),
]


@pytest.fixture(scope="module")
def newer(image: str) -> Iterator[str]:
    """The image of this checkout; its packages come from the layers of the one that is here."""
    name = f"localhost/pitwall-newer-{os.getpid()}"
    podman("build", "--pull=never", "--format", "docker", "-t", name, ".", timeout_s=BUILD_S)
    yield name
    podman("rmi", "-f", name)


@pytest.fixture(scope="module")
def older(newer: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if subprocess.run(["git", "cat-file", "-e", OLDER_COMMIT], cwd=ROOT, capture_output=True).returncode:
        pytest.skip("the older commit is not in this clone")
    folder = tmp_path_factory.mktemp("older")
    archive = subprocess.run(["git", "archive", OLDER_COMMIT], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    (folder / "Containerfile").write_text(OLDER_FILE.format(image=newer))
    podman("build", "--pull=never", "--format", "docker", "-t", OLDER, str(folder), timeout_s=BUILD_S)
    yield OLDER
    podman("rmi", "-f", OLDER)


@contextmanager
def running(image: str, volume: str, data: str = "/data") -> Iterator[int]:
    """A container of this image on the volume, up; its port. data: the data folder in it."""
    port = free_ports(1)[0]
    address = ("-e", f"PITWALL_PORT={port}", "-e", "PITWALL_HOST=127.0.0.1", "-e", f"PITWALL_DATA={data}")
    podman("run", "-d", "--name", NAME, "--network=host", *address, "--cap-drop=ALL", "-v", f"{volume}:/data", image)
    try:
        wait_until(lambda: "token=" in podman("logs", NAME))
        yield port
    finally:
        podman("rm", "-f", "-t", "15", NAME)


def restore(image: str, volume: str, target: str, data: str) -> None:
    """Restore the volume's backup into another volume, as the document says."""
    volumes = ("-v", f"{volume}:/from:ro", "-v", f"{target}:/data", "-e", f"PITWALL_DATA={data}")
    podman("run", "--rm", *volumes, image, "restore", "/from/before.backup", timeout_s=180.0)


def run_names(port: int) -> list[str]:
    token = podman("exec", NAME, COMMAND, "token", "make", "sql:read")
    with PitwallClient(f"http://127.0.0.1:{port}", token) as pitwall:
        return sorted(run.name for run in pitwall.runs())


def import_log(log: Path) -> None:
    podman("cp", str(log), f"{NAME}:/tmp/{log.name}")
    podman("exec", NAME, COMMAND, "import", f"/tmp/{log.name}")


def test_older_data_opens_in_the_newer_image_and_the_way_back_is_a_restored_volume(older: str, newer: str) -> None:
    volume, restored, text = NAME, f"{NAME}-restored", f"{NAME}-whole"
    try:
        with running(older, volume) as port:
            import_log(LOGS[0])
            wait_until(lambda: run_names(port))
            before = run_names(port)
            podman("exec", NAME, COMMAND, "backup", "/data/before.backup")
        with running(newer, volume) as port:
            assert run_names(port) == before, "what the older image stored"
            import_log(LOGS[1])
            wait_until(lambda: len(run_names(port)) == 2)
        refused = subprocess.run(
            ["podman", "run", "--rm", "-v", f"{volume}:/data", older], capture_output=True, text=True, timeout=180
        )
        assert refused.returncode != 0 and "newer" in refused.stdout + refused.stderr
        restore(older, volume, restored, "/data/restored")
        with running(older, restored, "/data/restored") as port:
            assert run_names(port) == before, "and nothing of later"
        restore(newer, volume, text, "/data")
        with running(newer, text) as port:
            assert run_names(port) == before, "a volume as a whole is filled too"
    finally:
        for name in (volume, restored, text):
            podman("volume", "rm", "-f", name)

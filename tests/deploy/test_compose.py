"""The compose file and the quadlet in the tools that read them, where they are installed.

podman-compose (`pip install podman-compose`) starts Pitwall without GPUs, which a test machine need not have.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
import yaml

from tests.deploy.test_container import ROOT, image, podman, wait_until
from tests.ports import free_ports

__all__ = ["image"]

COMPOSE = shutil.which("podman-compose")
GENERATOR = Path("/usr/lib/systemd/system-generators/podman-system-generator")  # since podman 4.4
PATIENCE_S = 120.0

pytestmark = [pytest.mark.podman, pytest.mark.long, pytest.mark.timeout(1800)]


@pytest.mark.skipif(not (COMPOSE and shutil.which("podman")), reason="podman-compose is not installed")
def test_compose_starts_pitwall_on_this_machine_only(image: str, tmp_path: Path) -> None:
    port, project = free_ports(1)[0], f"pitwall-compose-{os.getpid()}"
    document = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text())
    document["name"], service = project, document["services"]["pitwall"]
    del service["devices"], service["build"]
    service |= {"image": image, "ports": [service["ports"][0].replace(":8501:", f":{port}:")]}
    file = tmp_path / "compose.yaml"
    file.write_text(yaml.safe_dump(document))
    environ = os.environ | {"MODELS": str(tmp_path), "MODEL": "none"}

    def compose(*words: str) -> None:
        argv = [str(COMPOSE), "-f", str(file), *words]
        subprocess.run(argv, env=environ, check=True, capture_output=True, timeout=PATIENCE_S, cwd=tmp_path)

    try:
        compose("up", "-d", "--no-build", "pitwall")
        wait_until(lambda: is_healthy(port))
        assert f"127.0.0.1:{port}->8501" in podman("ps", "--format", "{{.Ports}}")
    finally:
        compose("down", "-v")


def is_healthy(port: int) -> bool:
    try:
        return bool(httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).json()["ok"])
    except (httpx.HTTPError, ValueError):
        return False


@pytest.mark.skipif(not GENERATOR.exists(), reason="podman has no quadlets here: they came with 4.4")
def test_podman_makes_a_unit_of_the_quadlet(tmp_path: Path) -> None:
    shutil.copy(ROOT / "deploy/pitwall.container", tmp_path)
    environ = os.environ | {"QUADLET_UNIT_DIRS": str(tmp_path)}
    argv = [str(GENERATOR), "--user", "--dryrun"]
    process = subprocess.run(argv, env=environ, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert "--publish 127.0.0.1:8501:8501" in process.stdout and "localhost/pitwall" in process.stdout

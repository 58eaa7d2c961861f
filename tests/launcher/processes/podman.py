"""Real podman for tests: an image imported from a bare root file system, the machine's own Python mounted into it."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from domain import Config, Run
from launcher.checks.launch_request import LaunchRequest
from launcher.processes.process import ROOT
from launcher.processes.runtimes import LABEL
from machine.ports import is_port_free
from tests.launcher.servers import marked, server_argv
from tests.ports import free_ports

IMAGE = f"localhost/pitwall-bare-{os.getpid()}"  # each test process has its own: removing one ends its containers
MOUNTED = ("/usr", "/lib", "/lib64", "/bin", sys.base_prefix, sys.prefix, str(ROOT))
ROOT_FOLDERS = ("tmp", "etc", "proc", "dev", "sys")


def write_settings(folder: Path) -> Path:
    """podman's settings for machines that let no limit be raised; runc if there, for it bears hybrid cgroups."""
    limits = '[containers]\ndefault_ulimits=["nofile=1024:1024","nproc=1024:1024"]\n'
    file = folder / "containers.conf"
    file.write_text(limits + ('[engine]\nruntime="runc"\n' if shutil.which("runc") else ""))
    return file


@contextmanager
def bare_image(folder: Path) -> Iterator[str]:
    """An image of a few empty directories; no registry is asked."""
    before = os.environ.get("CONTAINERS_CONF")
    os.environ["CONTAINERS_CONF"] = before or str(write_settings(folder))
    with tarfile.open(folder / "root.tar", "w") as archive:
        for name in ROOT_FOLDERS:
            directory = tarfile.TarInfo(name)
            directory.type, directory.mode = tarfile.DIRTYPE, 0o755
            archive.addfile(directory)
        archive.addfile(tarfile.TarInfo("etc/hosts"), io.BytesIO())
        archive.addfile(tarfile.TarInfo(f"etc/of-process-{os.getpid()}"), io.BytesIO())
    podman("import", str(folder / "root.tar"), IMAGE)
    yield IMAGE
    podman("rmi", "-f", IMAGE)
    if before is None:
        del os.environ["CONTAINERS_CONF"]


def podman(*words: str) -> str:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout


def containers(run_id: str) -> list[str]:
    return podman("ps", "-aq", "--filter", f"label={LABEL}={run_id}").split()


def running(image: str) -> list[str]:
    """All containers of this test process, whoever started them."""
    return podman("ps", "-q", "--no-trunc", "--filter", f"ancestor={image}").split()


def container_process(run_id: str) -> psutil.Process | None:
    """The first process of the run's container as this machine sees it; None while there is none."""
    actual_containers = containers(run_id)
    pids = (
        podman("inspect", "--type", "container", "-f", "{{.State.Pid}}", *actual_containers).split()
        if actual_containers
        else ["0"]
    )
    return psutil.Process(int(pids[0])) if pids[0] != "0" else None


def monitor_process(run_id: str) -> psutil.Process | None:
    """What podman leaves beside the container to wait for its end."""
    process = container_process(run_id)
    return psutil.Process(process.ppid()) if process else None


def command(image: str, *inside: str, flags: tuple[str, ...] = ("--rm", "-d")) -> tuple[str, ...]:
    mounts = [word for path in dict.fromkeys(MOUNTED) if Path(path).is_dir() for word in ("-v", f"{path}:{path}:ro")]
    return ("podman", "run", *flags, "--network=host", *mounts, image, *inside)


def request(image: str, kind: str = "plain", **given: Any) -> LaunchRequest:
    port = free_ports(1)[0]
    argv = command(image, *server_argv(port, kind), **given)
    config = Config(argv=argv, launcher="podman", image=image, host="127.0.0.1", port=port)
    return LaunchRequest(config=config, name=kind, ready_path="/health")


def check_nothing_is_left(run: Run) -> None:
    assert containers(run.id) == [] and marked(run.id) == []
    assert run.config.port and is_port_free(run.config.port)

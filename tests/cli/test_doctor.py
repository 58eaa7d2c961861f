"""`./pitwall doctor` names each planted fault with what to do, and no secret.

podman, docker, timedatectl and the GPU driver are stand-ins that show the fault; everything else is real.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from cli.main import main
from collectors.machine.gpu_status import GpuStatus
from launcher.remote.hosts import Host, HostBook
from service.doctor import installation, surroundings
from service.doctor.diagnosis import Diagnosis, Severity
from settings import load_settings
from tests.ports import free_ports

SECRET = "sk-abcdefghijklmnopqrstuvwx12345678"
ONE_GPU = GpuStatus("580.1", "13.0", [{"name": "NVIDIA H100"}])


class Machine:
    """This machine with a data folder and a PATH of its own, in which faults are planted."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.patch, self.opened = folder, monkeypatch, ExitStack()
        self.data, self.bin = folder / "data", folder / "bin"
        self.bin.mkdir()
        self.data.mkdir(mode=0o700)
        self.set_gpus(GpuStatus(reason="no NVIDIA driver on this machine"))
        for name, value in {"DATA": self.data, "PORT": free_ports(1)[0]}.items():
            monkeypatch.setenv(f"PITWALL_{name}", str(value))
        monkeypatch.setenv("PATH", f"{self.bin}:/usr/bin:/bin")
        monkeypatch.setattr(
            surroundings.shutil, "which", lambda tool: str(self.bin / tool) if (self.bin / tool).exists() else None
        )
        monkeypatch.setattr(surroundings, "CDI_FOLDERS", (folder / "cdi",))
        monkeypatch.setattr(surroundings, "NVIDIA_DEVICES", folder / "dev")
        monkeypatch.setattr(installation, "LEAST_FREE_BYTES", 0)

    def add_tool(self, name: str, script: str) -> None:
        path = self.bin / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def set_gpus(self, status: GpuStatus) -> None:
        self.patch.setattr(surroundings.check_gpus, "__defaults__", (lambda: status,))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def results_of(capsys: pytest.CaptureFixture[str], status: int) -> list[Diagnosis]:
    assert main(["doctor", "--json"]) == status
    return [Diagnosis(**result) for result in json.loads(capsys.readouterr().out)["checks"]]


def wrong_package(machine: Machine) -> None:
    (machine.folder / "requirements.txt").write_text("duckdb==0.0.1\nno-such-package==1.0\n")
    machine.patch.setattr("service.doctor.examination.examine.__defaults__", (machine.folder,))


def data_folder_in_a_file(machine: Machine) -> None:
    (machine.folder / "file").write_text("")
    machine.patch.setenv("PITWALL_DATA", str(machine.folder / "file" / "data"))


def full_disk(machine: Machine) -> None:
    machine.patch.setattr(installation, "LEAST_FREE_BYTES", 1 << 60)


def open_secret(machine: Machine) -> None:
    (machine.data / "lake.toml").write_text("")
    (machine.data / "lake.toml").chmod(0o644)


def damaged_store(machine: Machine) -> None:
    (machine.data / "monitor.duckdb").write_text("no database")


def taken_port(machine: Machine) -> None:
    listener = machine.opened.enter_context(socket.socket())
    listener.bind(("127.0.0.1", load_settings().port))
    listener.listen(1)


def wrong_variable(machine: Machine) -> None:
    machine.patch.setenv("PITWALL_PORT", "eighty")


def few_files(machine: Machine) -> None:
    machine.patch.setattr(resource, "getrlimit", lambda which: (256, 512))


def driver_without_gpus(machine: Machine) -> None:
    (machine.folder / "dev").mkdir()
    (machine.folder / "dev" / "nvidia0").write_text("")
    machine.set_gpus(GpuStatus(reason="driver/library version mismatch"))


def podman_without_ids(machine: Machine) -> None:
    machine.add_tool("podman", f"echo 'Error: no subuid ranges found, key {SECRET}' >&2; exit 125")


def docker_without_gpus(machine: Machine) -> None:
    machine.add_tool("docker", """case "$1" in info) echo '{"runc": {}}';; esac""")
    machine.set_gpus(ONE_GPU)


def host_away(machine: Machine) -> None:
    (machine.folder / "ssh_config").write_text("")
    host = Host(label="box-2", target="nobody@127.0.0.1", ssh_config=str(machine.folder / "ssh_config"))
    HostBook(machine.data / "hosts.json").add(host)


def wrong_lake(machine: Machine) -> None:
    (machine.data / "lake.toml").write_text(f"password = '{SECRET}'")
    (machine.data / "lake.toml").chmod(0o600)


def no_openmp(machine: Machine) -> None:
    def missing(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    machine.patch.setattr(surroundings.check_libraries, "__defaults__", (missing,))


def clock_adrift(machine: Machine) -> None:
    machine.add_tool("timedatectl", "echo NTPSynchronized=no")


FAULTS: dict[Callable[[Machine], None], tuple[str, str, str]] = {  # fault -> subject, words of its text and advice
    wrong_package: ("packages", "no-such-package is missing", "make install"),
    data_folder_in_a_file: ("data folder", "cannot be created", "PITWALL_DATA"),
    full_disk: ("disk", "GiB are free", "Delete runs"),
    open_secret: ("secrets", "lake.toml", "chmod 600"),
    damaged_store: ("store", "cannot be read", "check --repair"),
    taken_port: ("port", "is in use by", "PITWALL_PORT"),
    wrong_variable: ("settings", "PITWALL_PORT is 'eighty'", "Correct or unset"),
    few_files: ("open files", "Only 512 files", "LimitNOFILE"),
    driver_without_gpus: ("gpus", "version mismatch", "nvidia-smi"),
    podman_without_ids: ("podman", "no subuid ranges", "subuid"),
    docker_without_gpus: ("docker", "get no GPU", "Container Toolkit"),
    host_away: ("host box-2", "", "ssh nobody@127.0.0.1 true"),
    wrong_lake: ("lake", "lake.toml", "docs/fleet.md"),
    no_openmp: ("libraries", "libgomp.so.1 is missing", "apt install libgomp1"),
    clock_adrift: ("clock", "not synchronized", "set-ntp true"),
}


@pytest.mark.parametrize("plant", FAULTS, ids=lambda plant: plant.__name__)
def test_planted_fault_is_named(
    plant: Callable[[Machine], None], machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(machine)
    subject, text, advice = FAULTS[plant]
    with machine.opened:
        results = results_of(capsys, status=1)
    problems = {result.subject: result for result in results if result.severity == Severity.PROBLEM}
    expected = {subject, "lake"} if plant is open_secret else {subject}
    assert set(problems) == expected, "and nothing else"
    assert text in problems[subject].text and advice in problems[subject].advice
    assert SECRET not in str(results)


def test_healthy_machine_has_no_problem(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.add_tool("docker", """case "$1" in info) echo '{"nvidia": {}}';; esac""")
    machine.add_tool("timedatectl", "echo NTPSynchronized=yes")
    machine.set_gpus(ONE_GPU)
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    assert "NVIDIA H100; driver 580.1, CUDA 13.0." in output and "PROBLEM" not in output


def test_clock_that_went_back_is_named(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    import duckdb

    path = machine.data / "monitor.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE SCHEMA raw; CREATE TABLE raw.runs (state VARCHAR)")
    later = time.time() + 3600
    os.utime(path, (later, later))
    results = results_of(capsys, status=1)
    assert any("clock went back" in result.text for result in results)

"""Checks of what is around Pitwall: GPUs, container runtimes, hosts reached by ssh, the lake, the clock."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from ctypes import CDLL
from pathlib import Path

from collectors.machine.gpu_status import GpuStatus, read_gpu_status
from errors import PitwallError
from launcher.remote.hosts import Host, HostBook, HostError
from launcher.remote.remote_checks import read_machine
from machine.detached_calls import DetachedCalls
from machine.run_with_timeout import ProcessOutput, ask_bounded
from service.doctor.diagnosis import Diagnosis, note, problem, well
from settings import Settings

TOOL_S, TOOL_BYTES = 10.0, 1 << 20
GPU_S = 10.0
LAKE_S = 20.0
RUNTIMES = ("podman", "docker")
CDI_FOLDERS = (Path("/etc/cdi"), Path("/var/run/cdi"))
NVIDIA_DEVICES = Path("/dev")
DRIVER_ADVICE = (
    "`nvidia-smi` should list the GPUs: install or reload the driver (after an update, reboot), or pass the devices "
    "into this container."
)
TOOLKIT_ADVICE = (
    "Install the NVIDIA Container Toolkit; then `nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` for podman, "
    "`nvidia-ctk runtime configure --runtime=docker` for docker."
)
OPENMP = "libgomp.so.1"
OPENMP_ADVICE = "`apt install libgomp1` (Debian, Ubuntu), `dnf install libgomp` (Fedora); the demo needs it."
_CALLS = DetachedCalls("check", 8)


def check_gpus(read: Callable[[], GpuStatus] = read_gpu_status) -> Iterator[Diagnosis]:
    """Check what the NVIDIA driver reports."""
    try:
        status = _CALLS.call_within(read, GPU_S)
    except TimeoutError:
        advice = "Look for GPU errors with `dmesg | grep -i nvrm`; a reboot usually helps."
        yield problem("gpus", f"The GPU driver does not respond within {GPU_S:g} s.", advice)
        return
    if status.gpus:
        names = ", ".join(str(gpu.get("name") or gpu.get("gpu_name") or "a GPU") for gpu in status.gpus)
        yield well("gpus", f"{names}; driver {status.driver_version}, CUDA {status.cuda_version}.")
    elif devices := sorted(path.name for path in NVIDIA_DEVICES.glob("nvidia[0-9]*")):
        text = f"There are devices ({', '.join(devices)}), but the driver reports no GPU: {status.reason}."
        yield problem("gpus", text, DRIVER_ADVICE)
    else:
        yield note("gpus", f"There is no NVIDIA GPU here: {status.reason}.", "Servers on the CPU work without one.")


def check_libraries(load: Callable[[str], object] = CDLL) -> Iterator[Diagnosis]:
    """Check the library that llama.cpp and vLLM need on the CPU, which minimal systems lack."""
    if sys.platform != "linux":
        return
    try:
        load(OPENMP)
        yield well("libraries", f"{OPENMP} is installed.")
    except OSError:
        yield problem("libraries", f"{OPENMP} is missing, which llama.cpp and vLLM need.", OPENMP_ADVICE)


def check_containers(has_gpus: bool) -> Iterator[Diagnosis]:
    """Check the container runtimes, and on a machine with GPUs that containers get them."""
    present = [tool for tool in RUNTIMES if shutil.which(tool)]
    if not present:
        yield note("containers", "Neither podman nor docker is installed.", "Needed only for servers in containers.")
    for tool in present:
        output = _ask([tool, "version", "--format", "json"] if tool == "podman" else [tool, "version"])
        if output is None or output.returncode != 0:
            yield problem(tool, f"{tool} does not work: {_last_line(output)}", _runtime_advice(tool))
            continue
        yield well(tool, f"{tool} works.")
        if has_gpus and not _has_gpu_support(tool):
            yield problem(
                tool, f"Containers of {tool} get no GPU: it has neither CDI nor the nvidia runtime.", TOOLKIT_ADVICE
            )


def _runtime_advice(tool: str) -> str:
    if tool == "docker":
        return "Start its service (`systemctl start docker`), and add this user to the group docker, or use podman."
    return "`podman info` shows what is missing, often subordinate user ids (/etc/subuid) or a runtime (runc, crun)."


def _has_gpu_support(tool: str) -> bool:
    if any(list(folder.glob("*nvidia*")) for folder in CDI_FOLDERS if folder.is_dir()):
        return True
    output = _ask(["docker", "info", "--format", "{{json .Runtimes}}"]) if tool == "docker" else None
    try:
        return output is not None and "nvidia" in json.loads(output.stdout or b"{}")
    except ValueError:
        return False


def check_hosts(settings: Settings, ask: Callable[[Host], object] = read_machine) -> Iterator[Diagnosis]:
    """Contact each host on which servers may be started."""
    hosts = HostBook(settings.hosts_path).all()
    if not hosts:
        yield note("hosts", "No hosts for launches by ssh were added.")
    for host in hosts:
        subject = f"host {host.label}"
        try:
            ask(host)
            yield well(subject, "It answers.")
        except (HostError, OSError) as error:
            advice = f"Try `ssh {host.target} true`, then `./pitwall host add {host.label} {host.target}` again."
            yield problem(subject, str(error), advice)


def check_lake(settings: Settings) -> Iterator[Diagnosis]:
    """Check lake.toml and whether the lake answers."""
    if not settings.lake_path.exists():
        yield note("lake", "There is no lake.toml.")
        return
    try:
        _CALLS.call_within(lambda: _open_lake(settings), LAKE_S)
        yield well("lake", "It answers.")
    except TimeoutError:
        yield problem("lake", f"It does not answer within {LAKE_S:g} s.", "Check the network and both servers.")
    except PitwallError as error:
        yield problem("lake", str(error), "Correct lake.toml (docs/fleet.md), then run `./pitwall lake status`.")


def _open_lake(settings: Settings) -> None:
    from storage.lake.config import required_config
    from storage.lake.connection import errors_without_secrets, opened_lake

    config = required_config(settings)
    with opened_lake(config, read_only=True), errors_without_secrets(config):
        pass


def check_clock() -> Iterator[Diagnosis]:
    """Check that the system synchronizes its clock, as comparing samples of several machines needs."""
    output = _ask(["timedatectl", "show", "--property=NTPSynchronized"]) if shutil.which("timedatectl") else None
    if output is None or output.returncode != 0:
        yield note("clock", "It is not known whether the clock is synchronized (timedatectl does not tell).")
    elif b"=yes" in output.stdout:
        yield well("clock", "The clock is synchronized.")
    else:
        advice = "Run `timedatectl set-ntp true`; samples of several machines are compared by time."
        yield problem("clock", "The clock is not synchronized.", advice)


def _ask(argv: Sequence[str]) -> ProcessOutput | None:
    """Return what a tool prints; None if it cannot be started."""
    try:
        return ask_bounded(argv, b"", TOOL_S, TOOL_BYTES)
    except OSError:
        return None


def _last_line(output: ProcessOutput | None) -> str:
    if output is None:
        return "it cannot be started."
    if output.returncode is None:
        return f"it does not respond within {TOOL_S:g} s."
    lines = output.stderr.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:300] if lines else f"it exited with code {output.returncode}."

"""Container commands as they are run; docker is a labelled fake here, for no Docker engine runs in a test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run, RunState, utc_now
from launcher.checks.launch_request import LaunchRequest
from launcher.processes import containers, runtimes
from launcher.processes.process import ProcessExit, ProcessStatus
from launcher.processes.runtimes import ContainerBackend, ProcessBackend, backend_of, read_facts
from launcher.processes.stopping import StopReport
from launcher.runs.supervisor import Supervisor
from launcher.teardown import final_fields
from samples import Event
from tests.launcher.servers import DictStore, server_argv, wait_for, wait_for_state
from tests.ports import free_ports

OURS = ["--name", "pitwall-r1", "--label", "pitwall.run=r1", "--env", "PITWALL_RUN_ID=r1"]
FAKE_DOCKER = """#!/bin/sh
# FAKE: keeps what it is asked; 'run' becomes the server itself, as the foreground client would stand for it.
for word in "$@"; do printf '%s\\n' "$word" >> "$DOCKER_FAKE/$$"; done
case "$1" in
run) while [ "$1" != image:1 ]; do shift; done; shift; touch "$DOCKER_FAKE/there"; exec "$@" ;;
ps) [ -e "$DOCKER_FAKE/there" ] && echo c0ffee; exit 0 ;;
inspect) cat "$DOCKER_FAKE/inspect.json" ;;
image)
    [ -e "$DOCKER_FAKE/passes" ] && exec $(cat "$DOCKER_FAKE/passes")
    echo '[{"RepoDigests": ["image@sha256:abc"]}]' ;;
rm) rm "$DOCKER_FAKE/there" ;;
esac
"""
INSPECTED = {
    "Id": "c0ffee",
    "Name": "/pitwall-r1",
    "Image": "sha256:1d",
    "Config": {"Image": "image:1"},
    "State": {"Running": False, "ExitCode": 137, "OOMKilled": True, "Pid": 0},
}


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ("docker run --rm -d image:1 serve --rm", ["docker", "run", *OURS, "image:1", "serve", "--rm"]),
        ("podman run -dit -p 80:80 image:1", ["podman", "run", *OURS, "-p", "80:80", "image:1"]),
        ("podman run -itp 80:80 image:1", ["podman", "run", *OURS, "-p", "80:80", "image:1"]),
        ("podman run -d=true --restart always image:1", ["podman", "run", *OURS, "image:1"]),
        ("sudo docker run --name mine image:1", ["sudo", "docker", "run", *OURS[2:], "--name", "mine", "image:1"]),
        ("podman exec -it box vllm serve m", ["podman", "exec", "-it", "box", "vllm", "serve", "m"]),
        ("./launch-cluster.sh -d exec vllm serve m", ["./launch-cluster.sh", "-d", "exec", "vllm", "serve", "m"]),
    ],
)
def test_command_runs_in_foreground_with_marker(argv: str, words: list[str]) -> None:
    assert backend_of(Config(argv=tuple(argv.split())), "r1").shim_argv(argv.split()) == words


def test_only_a_run_container_has_a_runtime() -> None:
    assert isinstance(backend_of(Config(argv=("vllm", "serve", "podman")), "r1"), ProcessBackend)


@pytest.mark.parametrize(
    ("exit_code", "line", "cause"),
    [
        (125, "Error: x: image not known", "podman could not start the container: Error: x: image not known."),
        (126, "Error: OCI runtime error: crun: cgroups in hybrid mode not supported",
         "podman could not start the container: Error: OCI runtime error: crun: cgroups in hybrid mode not supported."),
        (126, "Error: open executable: Permission denied",
         "The command in the image is not executable: Error: open executable: Permission denied."),
        (127, 'exec: "x": executable file not found in $PATH',
         'The command was not found in the image: exec: "x": executable file not found in $PATH.'),
        (127, "nvidia-container-cli: initialization error: nvml error: driver not loaded",
         "podman could not start the container: nvidia-container-cli: initialization error: nvml error: driver not "
         "loaded."),
        (126, "docker: permission denied while trying to connect to the Docker daemon socket at unix:///x.sock",
         "podman could not start the container: docker: permission denied while trying to connect to the Docker "
         "daemon socket at unix:///x.sock."),
        (127, "docker: Error response from daemon: exec: \"x\": executable file not found in $PATH.",
         "The command was not found in the image: docker: Error response from daemon: exec: \"x\": executable file "
         "not found in $PATH."),
        (125, "docker: Cannot connect to the Docker daemon. Is the docker daemon running?.",
         "podman could not start the container: docker: Cannot connect to the Docker daemon. Is the docker daemon "
         "running?"),
        (125, "", None),
        (1, "Traceback", None),
    ],
)  # fmt: skip
def test_client_fault_has_its_message(exit_code: int, line: str, cause: str | None) -> None:
    backend = backend_of(Config(argv=("podman", "run", "image:1")), "r1")
    assert backend.describe_client_exit(exit_code, line) == cause


@pytest.mark.parametrize(
    ("looks", "left"),
    [
        (["a b", ""], ()),
        (["a b", "b"], ("The podman container b could not be removed.",)),
        (["a b", None], ("podman no longer answers: its container may still exist.",)),
        ([None], ("podman does not answer: a container of this run may still exist.",)),
    ],
)
def test_container_leftovers_and_unknowns_shown(
    looks: list[str | None], left: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    actual_looks = iter(looks)
    monkeypatch.setattr(runtimes, "ask", lambda argv, *_: next(actual_looks) if argv[1] == "ps" else None)
    backend = backend_of(Config(argv=("podman", "run", "image:1")), "r1")
    assert isinstance(backend, ContainerBackend)
    report, _ = backend.end(1.0)
    assert report.leftovers == left


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [
        ({"ExitCode": 0, "StartedAt": "2026-11-24T00:00:00Z"}, 0),
        ({"ExitCode": 0, "StartedAt": "0001-01-01T00:00:00Z"}, 127),
        (None, 127),
    ],
)
def test_unstarted_container_has_no_exit_code(state: dict[str, Any] | None, exit_code: int) -> None:
    run = Run(id="r1", name="r", color=0, machine_id="m", config=Config(), created_at=utc_now())
    facts = read_facts("podman", {**INSPECTED, "State": state}, lambda _: None) if state else None
    status = ProcessStatus("ended", exit=ProcessExit(127, None, None, utc_now()))
    ended = final_fields(run, None, status, (StopReport(), facts), utc_now())
    assert ended["exit_code"] == exit_code


@pytest.fixture
def docker_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the fake docker on the PATH was asked, a file a call; its answers are there too."""
    fake, requested_tmp_path = tmp_path / "bin" / "docker", tmp_path / "asked"
    for folder in (fake.parent, requested_tmp_path):
        folder.mkdir()
    fake.write_text(FAKE_DOCKER)
    fake.chmod(0o755)
    (requested_tmp_path / "inspect.json").write_text(json.dumps([INSPECTED]))
    monkeypatch.setenv("PATH", f"{fake.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_FAKE", str(requested_tmp_path))
    return requested_tmp_path


@pytest.mark.parametrize(
    ("does", "limit"),
    [
        ("yes", "it printed more than the limit of 1 MiB"),
        pytest.param("sleep 600", "it took longer than 10 s", marks=pytest.mark.wide),
    ],
)
def test_limit_breach_is_reported_once_by_name(
    does: str,
    limit: str,
    supervisor: Supervisor,
    store: DictStore,
    docker_calls: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(containers, "MOST_BYTES", 1 << 20)
    (docker_calls / "passes").write_text(does)
    port = free_ports(1)[0]
    argv = ("docker", "run", "--rm", "image:1", *server_argv(port))
    config = Config(argv=argv, launcher="docker", image="image:1", host="127.0.0.1", port=port)
    run = supervisor.launch(LaunchRequest(config=config, name="d", ready_path="/health"))
    noted = wait_for(lambda: (one := store.run(run.id)) and "container" in (one.provenance or {}) and one)
    assert noted.provenance["container"]["image_digest"] is None, "the rest is known"
    (docker_calls / "passes").unlink()
    supervisor.stop(run.id)
    wait_for_state(store, run.id, RunState.FINISHED, RunState.FAILED)
    warnings = [event.text for event in store.events if isinstance(event, Event) and event.kind == "warning"]
    assert warnings == [f"The output of `docker image inspect sha256:1d` is unknown: {limit}."]


def test_docker_works_alike_and_reports_oom(supervisor: Supervisor, store: DictStore, docker_calls: Path) -> None:
    argv = ("docker", "run", "--rm", "--gpus", "all", "image:1", *server_argv(1, "exits"))
    config = Config(argv=argv, launcher="docker", image="image:1", port=18097)
    run = supervisor.launch(LaunchRequest(config=config, name="d"))
    ended = wait_for_state(store, run.id, RunState.FINISHED, RunState.FAILED)
    calls = [path.read_text().splitlines() for path in docker_calls.iterdir() if path.name.isdigit()]
    verbs = [call[0] for call in calls]
    (ran,) = [call for call in calls if call[0] == "run"]
    assert ran[1:7] == ["--name", f"pitwall-{run.id}", "--label", f"pitwall.run={run.id}", "--env", ran[6]]
    assert ran[7:10] == ["--gpus", "all", "image:1"]
    assert ["rm", "-f", "-v", "c0ffee"] in calls and "stop" not in verbs, "it had ended by itself"
    assert ended.state is RunState.FAILED and ended.exit_code == 137
    assert ended.cause and ended.cause.endswith("The kernel killed it because it ran out of memory (OOM).")
    assert ended.provenance and ended.provenance["container"]["image_digest"] == "sha256:abc"

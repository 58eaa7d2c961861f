"""Servers found on the machine. Real processes and containers; what they serve is a stand-in with an engine's name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from launcher.checks.discover import FoundServer, find_server_at, find_servers, has_metrics, plain_command, read_command
from launcher.processes.containers import containers_of, list_containers, read_inspection
from tests.launcher.processes.podman import write_settings
from tests.launcher.servers import SERVER, wait_for
from tests.ports import free_ports

STAND_IN = f"#!{sys.executable}\n" + SERVER.replace("sys.argv[1]", "sys.argv[sys.argv.index('--port') + 1]").replace(
    "sys.argv[2]", "'plain'"
).replace("class Handler", "if os.fork() == 0: time.sleep(600)\nclass Handler")  # a worker with the same command line


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], int, Path]]:
    """A process called llama-server, with a worker, that logs to a file."""
    program, log, port = tmp_path / "llama-server", tmp_path / "out.log", free_ports(1)[0]
    program.write_text(STAND_IN)
    program.chmod(0o755)
    argv = [str(program), "-m", "/models/tiny.gguf", "--port", str(port), "--metrics", "--api-key", "s3cr3t"]
    with log.open("ab") as output:
        process = subprocess.Popen(argv, stdout=output, stderr=output, start_new_session=True)
    wait_for(lambda: any(c.laddr.port == port for c in psutil.Process(process.pid).net_connections()))
    yield process, port, log
    os.killpg(process.pid, 9)
    process.wait()


def found_at(port: int) -> list[FoundServer]:
    return [server for server in find_servers() if server.base_url == f"http://127.0.0.1:{port}"]


def test_running_server_found_once_with_details(
    stand_in: tuple[subprocess.Popen[bytes], int, Path],
) -> None:
    process, port, log = stand_in
    (server,) = found_at(port)
    assert (server.engine, server.model, server.pid) == ("llamacpp", "/models/tiny.gguf", process.pid)
    assert server.log_path == log and server.metrics is True
    assert server.container is None and server.run_id is None and server.started_at
    assert find_server_at(f"http://localhost:{port}/") == server and find_server_at("http://127.0.0.1:1") is None
    assert server.config.launcher == "attach" and "s3cr3t" not in repr(server)
    assert server.config.argv[-2:] == ("--api-key", "<secret>")


def test_models_of_a_router_are_servers_of_their_own(
    stand_in: tuple[subprocess.Popen[bytes], int, Path], tmp_path: Path
) -> None:
    """The stand-in for llama.cpp's router starts the server of a model as its child, as the router does."""
    port, model_port = free_ports(2)
    child = [str(tmp_path / "llama-server"), "-m", "/models/alpha.gguf", "--port", str(model_port)]
    (folder := tmp_path / "router").mkdir()
    program = folder / "llama-server"
    program.write_text(f"#!{sys.executable}\nimport subprocess, time\nsubprocess.Popen({child})\ntime.sleep(600)\n")
    program.chmod(0o755)
    router = subprocess.Popen([str(program), "--models-dir", "/models", "--port", str(port)], start_new_session=True)
    try:
        wait_for(lambda: found_at(model_port))
        (server,) = found_at(model_port)
        assert server.model == "/models/alpha.gguf" and not server.is_router
        assert any(server.pid == router.pid and server.is_router for server in find_servers())
    finally:
        os.killpg(router.pid, 9)
        router.wait()


@pytest.mark.parametrize(
    ("argv", "plain"),
    [
        (["/usr/bin/python3.11", "/venv/bin/vllm", "serve", "m"], ["vllm", "serve", "m"]),
        (["/opt/venv/bin/python", "-m", "demo", "serve"], ["python", "-m", "demo", "serve"]),
        (["python3", "-m", "sglang.launch_server"], ["python3", "-m", "sglang.launch_server"]),
        (["/opt/llama/llama-server", "-m", "a.gguf"], ["llama-server", "-m", "a.gguf"]),
    ],
)
def test_running_command_is_read_as_typed(argv: list[str], plain: list[str]) -> None:
    assert plain_command(argv) == plain


@pytest.mark.parametrize("argv", [[], ["tail", "-f", "vllm.log"], ["vim", "vllm.py"], ["VLLM::EngineCore"], ["bash"]])
def test_other_processes_are_no_servers(argv: list[str]) -> None:
    assert read_command(argv) is None


@pytest.mark.parametrize(
    ("argv", "metrics"),
    [
        (["python3", "-m", "sglang.launch_server", "--model-path", "m"], False),
        (["python3", "-m", "sglang.launch_server", "--model-path", "m", "--enable-metrics"], True),
        (["llama-server", "-m", "a.gguf"], False),
        (["vllm", "serve", "m"], True),
    ],
)
def test_metrics_state_is_read_from_the_command(argv: list[str], metrics: bool) -> None:
    config = read_command(argv)
    assert config and has_metrics(config) is metrics


def test_what_docker_says_is_read() -> None:
    """The form of `docker inspect` after its API description: no docker can run beside these tests."""
    container = read_inspection(
        "docker",
        {
            "Name": "/served",
            "Path": "vllm",
            "Args": ["serve", "org/m"],
            "State": {"Pid": 41, "StartedAt": "2026-11-20T20:00:00.123456789Z"},
            "Config": {"Image": "vllm/vllm-openai:v0.30.0"},
            "HostConfig": {"NetworkMode": "bridge"},
            "NetworkSettings": {"Ports": {"8000/tcp": [{"HostIp": "0.0.0.0", "HostPort": "18000"}], "9/udp": None}},
            "LogPath": "/var/lib/docker/containers/1/1-json.log",
        },
    )
    assert (container.name, container.argv, container.pid) == ("served", ["vllm", "serve", "org/m"], 41)
    assert container.published_port(8000) == 18000 and container.published_port(9) is None
    assert container.image == "vllm/vllm-openai:v0.30.0" and container.log_path is None, "it cannot be read"
    assert container.started_at and container.started_at.tzinfo


def test_absent_or_refusing_tool_lists_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert containers_of("no-such-tool") == []
    assert containers_of("false") == []
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list_containers() == []


@pytest.fixture
def podman_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A podman container, of an image made from this machine's shell, whose command is called vllm."""
    if not shutil.which("podman"):
        pytest.skip("podman is not installed")
    root = tmp_path / "root"
    for program in ("/bin/sh", "/bin/sleep"):
        linked = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.split()
        for path in [program, *(word for word in linked if word.startswith("/"))]:
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
    (root / "tmp").mkdir()
    (root / "bin/vllm").write_text("#!/bin/sh\nexec /bin/sleep 600\n")
    (root / "bin/vllm").chmod(0o755)
    monkeypatch.setenv("CONTAINERS_CONF", str(write_settings(tmp_path)))
    name = f"pitwall-test-{os.getpid()}"
    subprocess.run(["tar", "-C", str(root), "-cf", str(tmp_path / "root.tar"), "."], check=True)
    subprocess.run(["podman", "import", "-q", str(tmp_path / "root.tar"), f"localhost/{name}"], check=True)
    command = ["/bin/vllm", "serve", "org/model", "--port", "8000"]
    run = ["podman", "run", "-d", "--name", name, "-p", "127.0.0.1:18237:8000", f"localhost/{name}", *command]
    if subprocess.run(run, check=False).returncode:
        subprocess.run(["podman", "rm", "-f", name], check=False)
        pytest.skip("podman cannot run a container on this machine")
    yield name
    subprocess.run(["podman", "rm", "-f", "-t", "0", name], check=True, capture_output=True)
    subprocess.run(["podman", "rmi", f"localhost/{name}"], check=True, capture_output=True)


@pytest.mark.slow
def test_container_is_found_with_published_port(podman_server: str) -> None:
    (server,) = [server for server in find_servers() if server.container == podman_server]
    assert (server.engine, server.model, server.base_url) == ("vllm", "org/model", "http://127.0.0.1:18237")
    assert server.pid and server.log_path and server.config.image == f"localhost/{podman_server}:latest"
    assert server.pid not in [server.pid for server in find_servers() if not server.container]

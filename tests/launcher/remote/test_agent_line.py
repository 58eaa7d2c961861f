"""The line that starts an agent on a host: one shell reads it here, another over there."""

from __future__ import annotations

import shlex

import pytest

from launcher.remote.agent_line import SERVER, agent_line, find_server_pid
from launcher.remote.hosts import Host

HOST = Host(label="gpu-box", target="me@gpu-box", folder="pit wall")


def parts(line: str) -> tuple[list[str], list[str], list[str]]:
    """The command here, ssh's own words, and the command over there."""
    words = shlex.split(line)
    bar = words.index("|")
    *ssh, over_there = words[bar + 1 :]
    return words[:bar], ssh, shlex.split(over_there)


def test_http_agent_uses_the_ssh_connection() -> None:
    made, ssh, agent = parts(agent_line(HOST, "r1", "http://127.0.0.1:8501", 42))
    assert made == ["./pitwall", "token", "make", "agent:write", "--run", "r1", "--days", "7"]
    assert ssh[ssh.index("-R") + 1] == "127.0.0.1:18501:127.0.0.1:8501"
    assert ssh[-2:] == ["--", "me@gpu-box"]
    assert agent == [
        "cd", "pit wall", "&&", "./pitwall", "agent", "--run", "r1", "--to", "http://127.0.0.1:18501",
        "--token-file", "-", "--pid", "42",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "forwarded", "to"),
    [
        ("http://[::1]:60000", "127.0.0.1:50000:[::1]:60000", "http://127.0.0.1:50000"),
        ("http://gpu.lan/pitwall", "127.0.0.1:10080:gpu.lan:80", "http://127.0.0.1:10080/pitwall"),
        ("https://gpu.example/pitwall", None, "https://gpu.example/pitwall"),
    ],
)
def test_where_it_goes(url: str, forwarded: str | None, to: str) -> None:
    _, ssh, agent = parts(agent_line(HOST, "r1", url, None))
    assert (ssh[ssh.index("-R") + 1] if "-R" in ssh else None) == forwarded
    assert agent[agent.index("--to") + 1] == to and "--pid" not in agent


def test_latest_server_process_counts() -> None:
    texts = ["ready", SERVER.format(41, "gpu-box"), "a line", SERVER.format(42, "gpu-box"), "finished"]
    assert find_server_pid(texts) == 42
    assert find_server_pid(["ready"]) is None

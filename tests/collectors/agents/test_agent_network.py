"""A real agent in a network of its own: its samples come by TLS alone."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.collectors.agents.test_agent_process import PATIENCE_S, Box, number_kept, opened, stop, wait_for
from tests.ports import free_ports

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]


def may_make_namespaces() -> bool:
    if os.geteuid() or not shutil.which("ip") or not shutil.which("openssl"):
        return False
    name = f"pw-probe-{os.getpid()}"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True).returncode == 0
    subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return made


@pytest.fixture
def two_networks(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A namespace joined to this one by a veth pair: (its name, our address in it)."""
    if not may_make_namespaces():
        pytest.skip("network namespaces need root, ip and openssl")
    name, text = f"pw{os.getpid()}", f"pwv{os.getpid()}"
    for words in (
        f"netns add {name}",
        f"link add {text} type veth peer name inside netns {name}",
        f"addr add 10.213.77.1/24 dev {text}",
        f"link set {text} up",
        f"-n {name} addr add 10.213.77.2/24 dev inside",
        f"-n {name} link set inside up",
    ):
        process = subprocess.run(["ip", *words.split()], capture_output=True, text=True)
        if process.returncode:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
            pytest.skip(f"no two networks here: {process.stderr.strip()}")
    yield name, "10.213.77.1"
    subprocess.run(["ip", "netns", "del", name], check=True)


def certificate(folder: Path, address: str) -> tuple[str, str]:
    paths = str(folder / "cert.pem"), str(folder / "key.pem")
    argv = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=pitwall"]
    argv += ["-addext", f"subjectAltName=IP:{address}", "-out", paths[0], "-keyout", paths[1]]
    subprocess.run(argv, check=True, capture_output=True)
    return paths


def test_samples_between_networks_need_tls(two_networks: tuple[str, str], tmp_path: Path) -> None:
    namespace, address = two_networks
    tls = certificate(tmp_path, address)
    inside = ("ip", "netns", "exec", namespace)
    box = Box(tmp_path, free_ports(1)[0], address, tls, trusted=tls[0], before=inside)
    box.make_run()
    try:
        taker = box.take()
        agent = box.agent("worker")
        wait_for(lambda: number_kept(box, "worker") > 20, "nothing was measured")
        stop(agent)
        untrusted = Box(tmp_path, box.port, address, tls, before=inside, token=box.token)
        stranger = untrusted.agent("stranger")
        wait_for(lambda: number_kept(box, "stranger") > 5, "nothing was measured")
        assert "does not accept samples now" in stop(stranger), "a certificate that nobody vouches for"
        stop(taker)
        box.tls = ()
        box.trusted = None
        plain = box.take()
        argv = [
            *inside,
            "curl",
            "-sS",
            "-H",
            f"Authorization: Bearer {box.token}",
            f"{box.url}/api/agent?agent={'a' * 32}",
        ]
        if shutil.which("curl"):
            refused = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S).stdout
            assert "unencrypted" in refused, "the route itself refuses what came by http"
        stop(plain)
    finally:
        box.end()
    with opened(box.settings) as store:
        rows = store.query("SELECT DISTINCT machine_id FROM gpu_samples")["machine_id"].to_pylist()
    assert rows == ["worker"]

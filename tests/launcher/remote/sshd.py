"""A real ssh server of the test's own on loopback, with its own host key and its own user key, and a Pitwall behind it.

The other machine is this one: its Pitwall is this checkout with a data folder of its own.
"""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from launcher.processes.descendants import descendants, name_of
from launcher.processes.process import ROOT, processes_of, shim_process
from launcher.remote.hosts import Host, HostBook
from tests.launcher.servers import wait_for
from tests.ports import free_ports

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
needs_sshd = pytest.mark.skipif(
    not (SSHD and shutil.which("ssh") and shutil.which("ssh-keygen")),
    reason="sshd is not installed (Debian: apt install openssh-server)",
)
TARGET = "box"
ANOTHER = "b0b0b0b0b0b0"
AS_ANOTHER = f"""import machine.identity  # FAKE: this machine says that it is another
machine.identity.machine_id = lambda *given: {ANOTHER!r}
from cli.main"""


@dataclass
class Box:
    """The other machine; `place` holds its keys, its checkout and its data folder."""

    place: Path
    port: int = field(default_factory=lambda: free_ports(1)[0])
    _server: subprocess.Popen[bytes] | None = None

    def __post_init__(self) -> None:
        self.place.mkdir(parents=True)
        self.make_key("host")
        self.make_key("user")
        shutil.copy(self.place / "user.pub", self.place / "authorized")
        self.know_host_key()
        self._write_checkout()
        self._write_settings()

    @property
    def checkout(self) -> Path:
        return self.place / "pit wall"

    @property
    def shims(self) -> Path:
        return self.place / "data" / "shims"

    @property
    def host(self) -> Host:
        return Host(label="gpu-box", target=TARGET, folder=str(self.checkout), ssh_config=str(self.place / "config"))

    def make_key(self, name: str) -> None:
        for path in self.place.glob(f"{name}*"):
            path.unlink()
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.place / name)]
        subprocess.run(argv, check=True)

    def know_host_key(self) -> None:
        key = " ".join((self.place / "host.pub").read_text().split()[:2])
        (self.place / "known_hosts").write_text(f"[127.0.0.1]:{self.port} {key}\n")

    def _write_checkout(self) -> None:
        """A `pitwall` that runs this checkout with the box's data folder."""
        self.checkout.mkdir()
        script = self.checkout / "pitwall"
        body = f"import os, runpy\nos.environ['PITWALL_DATA'] = {str(self.place / 'data')!r}\n"
        body += (
            f"import sys\nsys.path.insert(0, {str(ROOT)!r})\nfrom cli.main import main\nsys.exit(main(sys.argv[1:]))\n"
        )
        script.write_text(f"#!{sys.executable}\n{body}")
        script.chmod(0o755)

    def is_another(self) -> None:
        """From now on it says that it is not the machine it is."""
        script = self.checkout / "pitwall"
        script.write_text(script.read_text().replace("from cli.main", AS_ANOTHER))

    def _write_settings(self) -> None:
        user = pwd.getpwuid(os.geteuid()).pw_name
        lines = {
            "sshd_config": [
                f"Port {self.port}",
                "ListenAddress 127.0.0.1",
                f"HostKey {self.place / 'host'}",
                f"AuthorizedKeysFile {self.place / 'authorized'}",
                f"PidFile {self.place / 'sshd.pid'}",
                "UsePAM no",
                "StrictModes no",
                "PasswordAuthentication no",
                "PermitRootLogin prohibit-password",
                "MaxStartups 100",
            ],
            "config": [
                f"Host {TARGET}",
                "  HostName 127.0.0.1",
                f"  Port {self.port}",
                f"  User {user}",
                f"  IdentityFile {self.place / 'user'}",
                "  IdentitiesOnly yes",
                "  IdentityAgent none",
                f"  UserKnownHostsFile {self.place / 'known_hosts'}",
                "  GlobalKnownHostsFile /dev/null",
                "  StrictHostKeyChecking no",  # as careless users have it: Pitwall must not follow
            ],
        }
        for name, content in lines.items():
            (self.place / name).write_text("\n".join(content) + "\n")

    def start(self) -> None:
        """Listen; it is up when a connection is taken."""
        assert SSHD
        Path("/run/sshd").mkdir(exist_ok=True) if os.geteuid() == 0 else None
        argv = [SSHD, "-D", "-f", str(self.place / "sshd_config"), "-E", str(self.place / "sshd.log")]
        self._server = subprocess.Popen(argv)
        wait_for(self._listens)

    def stop(self) -> None:
        """Nothing listens any more, and every connection is cut; what was started over there goes on."""
        if self._server:
            listener = psutil.Process(self._server.pid)
            listener.suspend()  # it takes no connection while its sessions are looked for
            sessions = [descendant for descendant in descendants(listener) if name_of(descendant).startswith("sshd")]
            kill_all([listener, *sessions])
            self._server.wait()
            self._server = None

    def _listens(self) -> bool:
        assert self._server and self._server.poll() is None, (self.place / "sshd.log").read_text()
        with suppress(OSError), closing(socket.create_connection(("127.0.0.1", self.port), timeout=1)):
            return True
        return False


@contextmanager
def running_box(place: Path) -> Iterator[Box]:
    """A box that listens; whatever runs below it at the end is ended."""
    box = Box(place)
    box.start()
    try:
        yield box
    finally:
        box.stop()
        for folder in box.shims.glob("*"):
            kill_all([*filter(None, [shim_process(folder)]), *processes_of(folder)])


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """As the kernel would, until they are gone; one that has ended meanwhile is as good."""
    killed = list(processes)
    for process in killed:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(killed, timeout=60)


def book_with(path: Path, *hosts: Host) -> HostBook:
    book = HostBook(path)
    for host in hosts:
        book.add(host)
    return book

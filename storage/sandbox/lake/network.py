"""Isolates a process in its own network namespace, with only a private loopback (network_namespaces(7))."""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import socket
import struct

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
CAPABILITY_VERSION_3 = 0x20080522
PR_SET_PDEATHSIG = 1


def can_isolate() -> bool:
    """Whether this machine permits isolation; tried in a child process, because it cannot be undone."""
    child = os.fork()
    if child == 0:
        os._exit(0 if isolate() else 1)
    return os.waitpid(child, 0)[1] == 0


def isolate() -> bool:
    """Give this process only a private loopback; False if not permitted. The process must have a single thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    except OSError:
        return False
    # A new user namespace begins with every capability over itself.
    header, no_capabilities = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), struct.pack("=6I", *([0] * 6))
    return bool(libc.capset(header, no_capabilities) == 0)


def end_with(parent: int) -> None:
    """Let the kernel end this process when `parent` ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

"""A network of its own for a process: nothing but its loopback, which nobody else shares (network_namespaces(7))."""

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
    """Whether this machine permits it; tried in a process of its own, for there is no way back."""
    child = os.fork()
    if child == 0:
        os._exit(0 if isolate() else 1)
    return os.waitpid(child, 0)[1] == 0


def isolate() -> bool:
    """Leave this process only a loopback of its own; false where that is not permitted. It may have one thread."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET):
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", IFF_UP))
    except OSError:
        return False
    # A new user namespace begins with every capability over itself.
    header, none = struct.pack("=Ii", CAPABILITY_VERSION_3, 0), struct.pack("=6I", *([0] * 6))
    return bool(libc.capset(header, none) == 0)


def end_with(parent: int) -> None:
    """Have the kernel end this process when that one ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)

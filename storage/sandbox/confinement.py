"""Confines a sandboxed process: limits on memory and time, no file writes, reads only of the store's files.

Landlock (Linux 5.13 and later, https://docs.kernel.org/userspace-api/landlock.html) also applies to root. Without it,
file modes, the resource limits and DuckDB's own settings remain.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import signal
import struct
from collections.abc import Iterable
from pathlib import Path

from storage.sandbox.job import SandboxLimits

OVERHEAD_BYTES = 1024 * 1024 * 1024  # Python, Arrow and the result, in addition to DuckDB's limit
# The same numbers on every architecture.
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
VERSION_FLAG = 1
RULE_PATH_BENEATH, RULE_NET_PORT = 1, 2
READ_FILE, READ_DIR = 1 << 2, 1 << 3
# All file rights by Landlock version (refer was added in 2, truncate in 3, ioctl in 5).
FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
BIND, CONNECT = 1 << 0, 1 << 1  # of TCP
KNOWS_PORTS = 4  # the first version with TCP rights
PR_SET_NO_NEW_PRIVS = 38


def limit_resources(limits: SandboxLimits) -> None:
    """Make this process the OOM killer's first choice, forbid file writes, and end it at its time limit."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    memory = limits.memory_bytes + limits.most_bytes + OVERHEAD_BYTES
    for limit, maximum in (
        (resource.RLIMIT_DATA, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(limits.seconds) + 1),
    ):
        resource.setrlimit(limit, (maximum, maximum))
    # The kernel's alarm also ends a C++ loop, and a process whose caller is gone.
    signal.setitimer(signal.ITIMER_REAL, limits.seconds)


def knows_ports() -> bool:
    """Whether the kernel can restrict a thread to given TCP ports."""
    return _version(ctypes.CDLL(None)) >= KNOWS_PORTS


def _version(libc: ctypes.CDLL) -> int:
    """The version of the kernel's Landlock; below 1 if it has none."""
    return int(libc.syscall(CREATE_RULESET, None, 0, VERSION_FLAG))


def confine_files(readable: Iterable[Path], ports: Iterable[int] = ()) -> bool:
    """Restrict this thread and its children to reading these files and folders; False without Landlock.

    `ports`: TCP ports to which it may still connect, from Landlock 4 on. This cannot be undone. Threads that already
    run keep their rights, so this thread must do the work.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    version = _version(libc)
    if version < 1:
        return False
    rights = FILE_RIGHTS[min(version, max(FILE_RIGHTS))]
    has_ports = version >= KNOWS_PORTS
    rules = struct.pack("=QQ", rights, BIND | CONNECT) if has_ports else struct.pack("=Q", rights)
    ruleset = _checked(libc.syscall(CREATE_RULESET, rules, len(rules), 0))
    for path in readable:
        _allow_reading(libc, ruleset, path)
    for port in ports if has_ports else ():
        _checked(libc.syscall(ADD_RULE, ruleset, RULE_NET_PORT, struct.pack("=QQ", CONNECT, port), 0))
    _checked(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(libc.syscall(RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)
    return True


def _allow_reading(libc: ctypes.CDLL, ruleset: int, path: Path) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rights = READ_FILE | (READ_DIR if path.is_dir() else 0)
        rule = struct.pack("=Qi", rights, handle)
        _checked(libc.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, rule, 0))
    finally:
        os.close(handle)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), f"Landlock: {os.strerror(ctypes.get_errno())}")
    return result

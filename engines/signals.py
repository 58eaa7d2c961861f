"""Deaths by a signal, as UCX, MPI, Slurm, systemd, shells, Python and the kernel report them in any engine's log."""

from __future__ import annotations

import re
from typing import NamedTuple

from engines.line_reader import LogFailure

# In every line that reports a death by a signal; RE2 syntax.
NEEDLES = (
    r"aught signal|[Ss]ignal: |on signal \d|\(signal \d|[Ss]egmentation fault|Bus error|Illegal instruction|Aborted|"
    r"segfault at [0-9a-f]+ ip |received by PID |general protection|trap invalid opcode|srun: error|"
    r"ode=killed, |ode=dumped, |Floating.point exc"
)
_NEEDLE = re.compile(NEEDLES)
_NAMES = {
    4: "illegal instruction",
    6: "abort",
    7: "bus error",
    8: "floating-point exception",
    9: "kill",
    11: "segmentation fault",
}
_SENT = (1, 2, 6, 15)  # by a process that gives up, or to one that shall end
_NUMBERS = {"aborted": 6, "killed": 9} | {name: number for number, name in _NAMES.items()}
_WORDS = r"[Ss]egmentation fault|Bus error|Illegal instruction|Aborted|Floating[ -]point exception"
_HOST = r"(?P<host>(?=[\d.-]*[A-Za-z])\w[\w.-]{0,252})"  # a container is named by hexadecimal digits
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"^\[{_HOST}:\d+(?: *:\d+)*\] Caught signal (?P<number>\d{{1,2}})\b",  # UCX
        r"^(?:\*\*\* )?Caught signal (?P<number>\d{1,2})\b",
        rf"^\[{_HOST}:\d+\] Signal: [\w ]+ \((?P<number>\d{{1,2}})\)",  # Open MPI
        rf"noticed that process rank \d+ with PID \d+ on node {_HOST} exited on signal (?P<number>\d{{1,2}})\b",
        r"exited on signal (?P<number>\d{1,2})\b",
        r"EXIT STRING: [\w ]+ \(signal (?P<number>\d{1,2})\)",  # MPICH
        rf"^srun: error: {_HOST}: tasks? [\d,-]+: (?P<words>{_WORDS}|Killed)",
        rf"^(?:\S+: line \d+: +\d+ )?(?P<words>{_WORDS})(?: +\(core dumped\)|$)",
        rf"^Fatal Python error: (?P<words>{_WORDS})",
        r"\bcode=(?:killed|dumped), status=(?!15/)(?P<number>\d{1,2})/[A-Z]",  # systemd
        r"^Signal (?P<number>\d{1,2}) \(SIG\w+\) received by PID ",  # torchrun
        r"\bsegfault at [0-9a-f]+ ip |\btraps: .{1,80}?\b(?P<trap>general protection|trap invalid opcode)\b",
    )
)


class _Death(NamedTuple):
    number: int
    host: str | None


def read_signal(text: str, cause_rank: int, echo_rank: int) -> LogFailure | None:
    """Return the failure of a message that reports a death by a signal; one that a process sends is an echo."""
    if _NEEDLE.search(text) is None:
        return None
    death = next((_death(match) for pattern in _PATTERNS if (match := pattern.search(text))), None)
    if death is None:
        return None
    name, place = _NAMES.get(death.number), f" on {death.host}" if death.host else ""
    called = f" ({name})" if name else ""
    sentence = f"A process died of signal {death.number}{called}{place}. {text.strip()}"
    return LogFailure(echo_rank if death.number in _SENT else cause_rank, text.strip(), sentence)


def _death(match: re.Match[str]) -> _Death:
    groups = match.groupdict()
    number = groups.get("number")
    if number is None:
        words = (groups.get("words") or "").lower().replace("floating point", "floating-point")
        return _Death(_NUMBERS.get(words, 4 if "opcode" in (groups.get("trap") or "") else 11), groups.get("host"))
    return _Death(int(number), groups.get("host"))

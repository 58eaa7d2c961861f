"""How long the control groups of a process tree were held back by their CPU limits (CFS bandwidth, v2 and v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from collectors.machine.run_queue import PROC, NotMeasurableError

NO_GROUP = "the server's control group is not seen from here"
NO_LIMIT = "no control group of the server tells of a CPU limit"


class Mount(NamedTuple):
    """A mounted hierarchy of control groups that may limit CPU."""

    folder: Path
    root: str  # what of the hierarchy is mounted there
    is_v2: bool


class Throttled(NamedTuple):
    """Cumulative, summed over the groups and over the CPUs that they were held back on."""

    seconds: float
    periods: int  # in which a group was held back


@dataclass(slots=True)
class GroupTimes:
    """The groups of one tree with their ancestors, a group found once for each process."""

    proc: Path = PROC
    _mounts: list[Mount] | None = None
    _of_process: dict[int, tuple[Path, ...]] = field(default_factory=dict)

    def look(self, pids: Iterable[int]) -> Throttled:
        """The sums now; raises NotMeasurableError where no group says."""
        living = set(pids)
        self._of_process = {pid: self._of_process.get(pid) or self._files(pid) for pid in living}
        files = {file for found in self._of_process.values() for file in found}
        if not files:
            raise NotMeasurableError(NO_GROUP)
        groups = [throttled for file in files if (throttled := _read(file))]
        if not groups:
            raise NotMeasurableError(NO_LIMIT)
        return Throttled(sum(one.seconds for one in groups), sum(one.periods for one in groups))

    def _files(self, pid: int) -> tuple[Path, ...]:
        """cpu.stat of the process's group and of those around it: a limit of any of them holds it back."""
        if self._mounts is None:
            self._mounts = list(_mounts(self.proc / "self" / "mountinfo"))
        try:
            lines = (self.proc / str(pid) / "cgroup").read_text().splitlines()
        except OSError:
            return ()
        return tuple(file for line in lines for mount in self._mounts for file in _chain(line, mount))


def _mounts(path: Path) -> Iterator[Mount]:
    """From mountinfo: 'id parent device root folder options - type source super-options'."""
    for line in path.read_text().splitlines() if path.exists() else ():
        left, _, right = line.partition(" - ")
        words, kind = left.split(), right.split()
        if kind[0] == "cgroup2" or (kind[0] == "cgroup" and "cpu" in kind[2].split(",")):
            yield Mount(Path(words[4]), words[3].rstrip("/"), kind[0] == "cgroup2")


def _chain(line: str, mount: Mount) -> Iterator[Path]:
    """'0::/a/b' (v2) or '2:cpu,cpuacct:/a/b' (v1), looked up under its mount: a/b, a and the mount itself."""
    number, controllers, path = line.split(":", 2)
    is_same = number == "0" if mount.is_v2 else "cpu" in controllers.split(",")
    if not is_same or not path.startswith(mount.root) or "/.." in path:
        return
    group = mount.folder / path.removeprefix(mount.root).strip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(mount.folder):
            yield folder / "cpu.stat"


def _read(path: Path) -> Throttled | None:
    """What one group says; None where it has no limit's accounting."""
    try:
        stat = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in stat:
        return Throttled(int(stat["throttled_usec"]) * 1e-6, int(stat["nr_throttled"]))
    if "throttled_time" in stat:
        return Throttled(int(stat["throttled_time"]) * 1e-9, int(stat["nr_throttled"]))
    return None

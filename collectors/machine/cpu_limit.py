"""CPU throttling of a process tree's control groups by their CPU limits (CFS bandwidth, cgroup v2 and v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from collectors.machine.run_queue import PROC, NotMeasurableError

NO_GROUP = "the server's control group is not visible here"
NO_LIMIT = "no control group of the server reports a CPU limit"


class Mount(NamedTuple):
    """A mounted control group hierarchy that may limit CPU."""

    folder: Path
    root: str  # the mounted subtree of the hierarchy
    is_v2: bool


class Throttling(NamedTuple):
    """Cumulative throttling, summed over groups and CPUs."""

    seconds: float
    periods: int  # in which a group was throttled


@dataclass(slots=True)
class GroupTimes:
    """Control groups of one process tree and their ancestors, looked up once per process."""

    proc: Path = PROC
    _mounts: list[Mount] | None = None
    _files_by_pid: dict[int, tuple[Path, ...]] = field(default_factory=dict)

    def read(self, pids: Iterable[int]) -> Throttling:
        """Return the current sums; raises NotMeasurableError if no group reports them."""
        current_pids = set(pids)
        self._files_by_pid = {pid: self._files_by_pid.get(pid) or self._files(pid) for pid in current_pids}
        files = {file for process_files in self._files_by_pid.values() for file in process_files}
        if not files:
            raise NotMeasurableError(NO_GROUP)
        readings = [throttled for file in files if (throttled := _read(file))]
        if not readings:
            raise NotMeasurableError(NO_LIMIT)
        return Throttling(sum(reading.seconds for reading in readings), sum(reading.periods for reading in readings))

    def _files(self, pid: int) -> tuple[Path, ...]:
        """Return cpu.stat of the process's group and its ancestors: a limit of any of them throttles the process."""
        if self._mounts is None:
            self._mounts = list(_mounts(self.proc / "self" / "mountinfo"))
        try:
            lines = (self.proc / str(pid) / "cgroup").read_text().splitlines()
        except OSError:
            return ()
        return tuple(file for line in lines for mount in self._mounts for file in _chain(line, mount))


def _mounts(path: Path) -> Iterator[Mount]:
    """Parse mountinfo lines: 'id parent device root folder options - type source super-options'."""
    for line in path.read_text().splitlines() if path.exists() else ():
        mount_text, _, source_text = line.partition(" - ")
        fields, source_fields = mount_text.split(), source_text.split()
        if source_fields[0] == "cgroup2" or (source_fields[0] == "cgroup" and "cpu" in source_fields[2].split(",")):
            yield Mount(Path(fields[4]), fields[3].rstrip("/"), source_fields[0] == "cgroup2")


def _chain(line: str, mount: Mount) -> Iterator[Path]:
    """Yield cpu.stat of '0::/a/b' (v2) or '2:cpu,cpuacct:/a/b' (v1) under its mount: a/b, a and the mount itself."""
    number, controllers, path = line.split(":", 2)
    is_same = number == "0" if mount.is_v2 else "cpu" in controllers.split(",")
    if not is_same or not path.startswith(mount.root) or "/.." in path:
        return
    group = mount.folder / path.removeprefix(mount.root).strip("/")
    for folder in (group, *group.parents):
        if folder.is_relative_to(mount.folder):
            yield folder / "cpu.stat"


def _read(path: Path) -> Throttling | None:
    """Return one group's throttling; None if it has no CPU limit accounting."""
    try:
        stat = dict(line.split() for line in path.read_text().splitlines())
    except (OSError, ValueError):
        return None
    if "throttled_usec" in stat:
        return Throttling(int(stat["throttled_usec"]) * 1e-6, int(stat["nr_throttled"]))
    if "throttled_time" in stat:
        return Throttling(int(stat["throttled_time"]) * 1e-9, int(stat["nr_throttled"]))
    return None

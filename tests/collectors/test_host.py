"""Real processes: a tree that works, grows and ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from collectors.base import IncompleteError, UnavailableError
from collectors.machine.cpu_limit import GroupTimes
from collectors.machine.host import HostCollector
from collectors.machine.processes import ProcessTable
from collectors.machine.run_queue import (
    MAX_THREADS,
    NO_SCHEDSTAT,
    NOT_COUNTED,
    NotMeasurableError,
    SchedulerTimes,
    ThreadTimes,
)
from domain import Run
from machine.process_start import process_start_s
from samples import HostSample

BUSY = "while True: pass"
PARENT = f"import os; os.fork(); exec({BUSY!r})"
THREADS = """
import sys, threading
def work():
    while not stop.is_set(): pass
stop = threading.Event()
threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
sys.stdin.readline()
stop.set()
[thread.join() for thread in threads]
print("joined", flush=True)
sys.stdin.readline()
"""
REAPER = f"import os; pid = os.fork(); os.waitpid(pid, 0) if pid else exec({BUSY!r}); exec({BUSY!r})"


@pytest.fixture
def start() -> Iterator[Callable[..., psutil.Process]]:
    started: list[psutil.Popen] = []

    def begin(code: str) -> psutil.Process:
        started.append(psutil.Popen([sys.executable, "-c", code], start_new_session=True))
        return psutil.Process(started[-1].pid)

    yield begin
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def sample(collector: HostCollector, run: Run) -> HostSample:
    (batch,) = collector.collect(run)
    (sample,) = batch.samples
    assert isinstance(sample, HostSample)
    return sample


def run_of(process: psutil.Process, make_run: Callable[..., Run]) -> Run:
    return make_run(pid=process.pid, pid_birth_s=process_start_s(process.pid))


def wait_for(met: Callable[[], Any]) -> Any:
    import time

    deadline = time.monotonic() + 20
    while not (seen := met()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return seen


def test_tree_is_summed_and_rate_needs_two_looks(
    start: Callable[..., psutil.Process], make_run: Callable[..., Run]
) -> None:
    process = start(PARENT)
    wait_for(process.children)
    collector, run = HostCollector("here"), run_of(process, make_run)
    first = sample(collector, run)
    assert first.process_count == 2
    assert (first.cpu_ratio, first.host_cpu_ratio) == (None, None)
    assert first.rss_bytes is not None and first.rss_bytes > process.memory_info().rss
    ticked = sum(psutil.cpu_times())
    wait_for(lambda: sum(p.cpu_times().user for p in [process, *process.children()]) > (first.cpu_seconds_total or 0))
    wait_for(lambda: sum(psutil.cpu_times()) > ticked + 0.2)  # the machine's own clock of ticks is a coarser one
    second = sample(collector, run)
    assert second.cpu_seconds_total is not None and second.cpu_seconds_total > (first.cpu_seconds_total or 0)
    assert second.cpu_ratio is not None and second.cpu_ratio > 0
    assert second.host_cpu_ratio is not None and 0 < second.host_cpu_ratio <= 1
    assert second.threads == 2


def test_an_ended_childs_time_is_kept(start: Callable[..., psutil.Process], make_run: Callable[..., Run]) -> None:
    process = start(REAPER)
    (child,) = wait_for(process.children)
    collector, run = HostCollector("here"), run_of(process, make_run)
    wait_for(lambda: child.cpu_times().user > 0.5)
    before = sample(collector, run)
    child.kill()
    wait_for(lambda: not child.is_running())
    after = sample(collector, run)
    assert after.cpu_seconds_total is not None and before.cpu_seconds_total is not None
    assert after.cpu_seconds_total >= before.cpu_seconds_total
    assert (before.process_count, after.process_count) == (2, 1)


def test_reused_process_number_is_not_the_run(
    start: Callable[..., psutil.Process], make_run: Callable[..., Run]
) -> None:
    process = start(BUSY)
    run = make_run(pid=process.pid, pid_birth_s=process_start_s(process.pid) - 60)
    assert list(HostCollector("here").collect(run)) == []


def test_no_process_is_no_sample_and_never_zero(
    start: Callable[..., psutil.Process], make_run: Callable[..., Run]
) -> None:
    process = start("pass")
    run = run_of(process, make_run)
    wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
    collector = HostCollector("here")
    assert list(collector.collect(run)) == []
    assert list(collector.collect(make_run())) == [], "not started yet"


def test_what_cannot_be_measured_is_said(make_run: Callable[..., Run]) -> None:
    collector = HostCollector("here")
    with pytest.raises(UnavailableError, match="another machine"):
        list(collector.collect(make_run(machine_id="there", pid=1)))
    with pytest.raises(UnavailableError, match="process is not known"):
        list(collector.collect(make_run(kind="attached")))


def test_the_process_list_is_shared_for_a_while(start: Callable[..., psutil.Process]) -> None:
    process, table = start("import time; time.sleep(60)"), ProcessTable()
    assert len(table.tree(process.pid, process_start_s(process.pid), 10.0)) == 1
    start(BUSY)
    assert len(table.tree(process.pid, process_start_s(process.pid), 11.0)) == 1
    assert next(p.pid for p in table.tree(os.getpid(), None, 13.0)) == os.getpid()
    assert process.pid in {p.pid for p in table.tree(os.getpid(), None, 13.0)}


def test_threads_on_one_core_wait_for_each_other(
    start: Callable[..., psutil.Process], make_run: Callable[..., Run]
) -> None:
    core = min(os.sched_getaffinity(0))
    alone_on_it = f"import os; os.sched_setaffinity(0, {{{core}}}); os.fork(); os.fork(); exec({BUSY!r})"
    process = start(alone_on_it)
    wait_for(lambda: len(process.children(recursive=True)) == 3)
    collector, run = HostCollector("here"), run_of(process, make_run)
    first = wait_for(lambda: (seen := sample(collector, run)).process_count == 4 and seen)
    later = wait_for(
        lambda: (seen := sample(collector, run)).scheduled_seconds_total > first.scheduled_seconds_total + 0.5 and seen
    )
    ran = later.scheduled_seconds_total - first.scheduled_seconds_total
    waited = later.runnable_wait_seconds_total - first.runnable_wait_seconds_total
    assert waited / (waited + ran) > 0.6, "four on one core: each waits three quarters of the time, or longer"
    assert later.unknown.keys() <= {"throttled_seconds_total", "throttled_periods_total"}
    assert later.host_cpu_seconds_total > first.host_cpu_seconds_total
    assert later.host_busy_seconds_total <= later.host_cpu_seconds_total - later.host_steal_seconds_total


def test_threads_that_end_keep_their_time() -> None:
    process = psutil.Popen([sys.executable, "-c", THREADS], stdin=-1, stdout=-1)
    try:
        times = ThreadTimes()
        wait_for(lambda: process.num_threads() == 4)
        before = wait_for(lambda: (seen := times.read([process.pid], 0.0)).run_s > 0.3 and seen)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"joined\n"
        wait_for(lambda: process.num_threads() == 1)
        after = times.read([process.pid], 0.0)
        assert after.run_s >= before.run_s and after.wait_s >= before.wait_s
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.wait()
        assert times.read([process.pid], 0.0) >= after, "nor do they fall when the process ends"
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def fake_proc(folder: Path, threads: dict[int, str], is_told: bool = True) -> Path:
    """A FAKE /proc with one process, 7."""
    for thread, text in threads.items():
        task = folder / "7" / "task" / str(thread)
        task.mkdir(parents=True, exist_ok=True)
        (task / "schedstat").write_text(text)
    if is_told:
        (folder / "self").mkdir(exist_ok=True)
        (folder / "self" / "schedstat").write_text("1 2 3\n")
    return folder


def test_reused_thread_number_is_another_thread(tmp_path: Path) -> None:
    times = ThreadTimes(fake_proc(tmp_path, {7: "1000000000 0 1\n", 8: "5000000000 2000000000 9\n"}))
    assert times.read([7], 6.0) == SchedulerTimes(6.0, 2.0)
    fake_proc(tmp_path, {8: "1000000000 3000000000 2\n"})
    assert times.read([7], 6.0) == SchedulerTimes(7.0, 5.0)


def test_kernel_without_wait_data_is_reported(
    tmp_path: Path, start: Callable[..., psutil.Process], make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotMeasurableError, match=NO_SCHEDSTAT):
        ThreadTimes(fake_proc(tmp_path / "without", {7: ""}, is_told=False)).read([7], 1.0)
    zeros = ThreadTimes(fake_proc(tmp_path / "zeros", {7: "0 0 0\n"}))
    assert zeros.read([7], 0.0) == SchedulerTimes(0.0, 0.0), "it may not have run yet"
    with pytest.raises(NotMeasurableError, match=NOT_COUNTED):
        zeros.read([7], 1.0)
    crowd = ThreadTimes(fake_proc(tmp_path / "crowd", dict.fromkeys(range(MAX_THREADS + 1), "1 1 1\n")))
    with pytest.raises(NotMeasurableError, match="more than 4,096 threads"):
        crowd.read([7], 1.0)
    monkeypatch.setattr(ThreadTimes, "read", partial(ThreadTimes.read, ThreadTimes(tmp_path / "without")))
    ticks = HostCollector("here").collect(run_of(start(BUSY), make_run))
    (sample,) = next(ticks).samples
    assert isinstance(sample, HostSample) and sample.runnable_wait_seconds_total is None
    assert sample.unknown["runnable_wait_seconds_total"] == NO_SCHEDSTAT and sample.cpu_seconds_total is not None
    with pytest.raises(IncompleteError, match=NO_SCHEDSTAT):
        next(ticks)


def fake_groups(folder: Path, mounts: str, of_process: str, stats: dict[str, str]) -> GroupTimes:
    """A FAKE hierarchy of control groups under a FAKE /proc."""
    (folder / "self").mkdir()
    (folder / "7").mkdir()
    (folder / "self" / "mountinfo").write_text(mounts.replace("/sys", str(folder)))
    (folder / "7" / "cgroup").write_text(of_process)
    for name, text in stats.items():
        path = folder / "fs" / "cgroup" / name / "cpu.stat"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return GroupTimes(folder)


V2 = "31 23 0:28 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n"
V1 = "32 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"


def test_limit_of_group_or_parent_throttles(tmp_path: Path) -> None:
    stats = {
        "pod/box": "usage_usec 9\nnr_periods 5\nnr_throttled 2\nthrottled_usec 1500000\n",
        "pod": "usage_usec 9\nnr_periods 5\nnr_throttled 1\nthrottled_usec 500000\n",
        "": "usage_usec 9\n",
    }
    assert fake_groups(tmp_path, V2, "0::/pod/box\n", stats).read([7]) == (2.0, 3)


def test_version_1_tells_in_nanoseconds(tmp_path: Path) -> None:
    fields = {"cpu,cpuacct/box": "nr_periods 5\nnr_throttled 2\nthrottled_time 1500000000\n"}
    groups = fake_groups(tmp_path, V1 + V2, "4:memory:/box\n2:cpu,cpuacct:/box\n0::/\n", fields)
    assert groups.read([7]) == (1.5, 2)


def test_unlimited_and_invisible_groups_differ(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(NotMeasurableError, match="no control group of the server reports a CPU limit"):
        fake_groups(tmp_path / "a", V2, "0::/box\n", {"box": "usage_usec 9\n"}).read([7])
    with pytest.raises(NotMeasurableError, match="is not visible here"):
        fake_groups(tmp_path / "b", V2, "0::/../../box\n", {}).read([7])

"""Real processes: a tree that works, grows and ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from collectors.base import Unavailable
from collectors.host import HostCollector
from collectors.processes import ProcessTable
from domain import Run
from machine.process_start import process_start_s
from samples import HostSample

BUSY = "while True: pass"
PARENT = f"import os; os.fork(); exec({BUSY!r})"
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
    (found,) = batch.samples
    assert isinstance(found, HostSample)
    return found


def run_of(process: psutil.Process, make_run: Callable[..., Run]) -> Run:
    return make_run(pid=process.pid, pid_birth_s=process_start_s(process.pid))


def wait_for(met: Callable[[], Any]) -> Any:
    import time

    deadline = time.monotonic() + 20
    while not (seen := met()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return seen


def test_a_tree_is_summed_and_a_rate_needs_two_looks(
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


def test_another_process_with_the_same_number_is_not_the_run(
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
    with pytest.raises(Unavailable, match="another machine"):
        list(collector.collect(make_run(machine_id="there", pid=1)))
    with pytest.raises(Unavailable, match="process is not known"):
        list(collector.collect(make_run(kind="attached")))


def test_the_process_list_is_shared_for_a_while(start: Callable[..., psutil.Process]) -> None:
    process, table = start("import time; time.sleep(60)"), ProcessTable()
    assert len(table.tree(process.pid, process_start_s(process.pid), 10.0)) == 1
    start(BUSY)
    assert len(table.tree(process.pid, process_start_s(process.pid), 11.0)) == 1
    assert next(p.pid for p in table.tree(os.getpid(), None, 13.0)) == os.getpid()
    assert process.pid in {p.pid for p in table.tree(os.getpid(), None, 13.0)}

"""A log that is swapped for a pipe, a link, a device or a folder is not read, and is when it is a file again."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collectors.base import Clock, CollectorError, UnreadableError
from collectors.imports.inbox import is_bundle
from collectors.imports.log_file import unpack
from collectors.logs.failure_cause import failure_of
from collectors.logs.log_collector import log_collector
from collectors.logs.log_view import LogTailView
from collectors.loop import CollectorLoop
from domain import Run
from launcher.processes.exit_messages import log_tail
from machine.regular_file import NotRegularError, follow_own, open_regular, pin_path
from samples import Event, LogSample

LINE = (
    "INFO 11-20 12:00:{:02d} [loggers.py:257] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: {:.1f} tokens/s, Running: 1 reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
)


def make_pipe(path: Path, secret: Path) -> None:
    os.mkfifo(path)


def make_link(path: Path, secret: Path) -> None:
    path.symlink_to(secret)


def make_device(path: Path, secret: Path) -> None:
    path.symlink_to("/dev/zero")


def make_folder(path: Path, secret: Path) -> None:
    path.mkdir()


def make_linked_folder(path: Path, secret: Path) -> None:
    """The folder that holds the log is swapped for a link to one that has a file of this name."""
    path.parent.rename(path.parent.with_name("aside"))
    path.parent.symlink_to(secret.parent)


SWAPS = {
    "a pipe": make_pipe,
    "a symbolic link": make_link,
    "a link to /dev/zero": make_device,
    "a folder": make_folder,
    "a link instead of its folder": make_linked_folder,
}
Swap = Callable[[Path, Path], None]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "server.log"
    path.parent.mkdir()
    path.write_text("".join(LINE.format(i, 100 + i) for i in range(3)))
    return path


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secrets" / "server.log"
    path.parent.mkdir()
    path.write_text(LINE.format(30, 666))
    path.chmod(0o600)
    return path


def swap(log: Path, how: Swap, secret: Path) -> None:
    if how is not make_linked_folder:
        log.rename(log.with_name("aside"))
    how(log, secret)


def unswap(log: Path) -> None:
    parent = log.parent if log.parent.is_symlink() else log
    parent.rmdir() if parent.is_dir() and not parent.is_symlink() else parent.unlink()
    parent.with_name("aside").rename(parent)
    with log.open("a") as file:
        file.write(LINE.format(40, 140) * 2)


@pytest.mark.parametrize("how", SWAPS.values(), ids=SWAPS)
def test_collector_refuses_and_resumes_later(
    log: Path, secret: Path, how: Swap, kept: Any, make_run: Callable[..., Run]
) -> None:
    collector, run = log_collector(kept.position, Clock()), make_run("vllm", log_path=str(log))

    def tick() -> list[float | None]:
        samples = [s for batch in collector.collect(run) for s in batch.samples]
        return [s.generation_tps for s in samples if isinstance(s, LogSample)]

    assert tick() == [100.0, 101.0]
    swap(log, how, secret)
    for _ in range(2):
        with pytest.raises(UnreadableError, match=r"server\.log is .*, not a regular file"):
            tick()
    unswap(log)
    assert tick() == [102.0, 140.0]


@pytest.mark.parametrize("how", SWAPS.values(), ids=SWAPS)
def test_foreign_file_from_the_start_hurts_no_run(
    log: Path, secret: Path, how: Swap, kept: Any, make_run: Callable[..., Run], tmp_path: Path
) -> None:
    odd = tmp_path / "odd" / "server.log"
    odd.parent.mkdir()
    how(odd, secret)
    bad, good = make_run("vllm", id="bad", log_path=str(odd)), make_run("vllm", id="good", log_path=str(log))
    loop = CollectorLoop(kept, lambda: [bad, good], [log_collector(kept.position)], update_every_s=0.02)
    loop.start()
    kept.wait_for(lambda: [e for e in kept.of(Event) if e.run_id == "bad"])
    kept.wait_for(lambda: kept.of(LogSample))
    assert loop.stop(5.0) == []
    assert {sample.run_id for sample in kept.of(LogSample)} == {"good"}


@pytest.mark.parametrize("how", SWAPS.values(), ids=SWAPS)
def test_pages_and_causes_do_not_read_it(log: Path, secret: Path, how: Swap, make_run: Callable[..., Run]) -> None:
    view = LogTailView(log, "vllm")
    assert view.lines() and view.problem is None
    swap(log, how, secret)
    assert view.lines() == []
    assert view.problem and "not a regular file" in view.problem
    assert failure_of(make_run("vllm", log_path=str(log))) is None
    assert log_tail(log) == []
    unswap(log)
    assert view.lines() and view.problem is None


@pytest.mark.parametrize("how", [make_pipe, make_folder], ids=["a pipe", "a folder"])
def test_an_import_refuses_it(log: Path, secret: Path, how: Swap) -> None:
    swap(log, how, secret)
    with pytest.raises(NotRegularError, match="not a regular file"):
        is_bundle(log)
    with pytest.raises(NotRegularError, match="not a regular file"):
        unpack(log, log.with_name("target"), lambda share: None)


def test_an_import_copies_utf_16_as_utf_8(tmp_path: Path) -> None:
    source, target = tmp_path / "source.log", tmp_path / "target.log"
    source.write_text("Größe\n", "utf-16")
    assert unpack(source, target, lambda share: None) == len("Größe\n".encode())
    assert target.read_text() == "Größe\n"


def test_an_import_of_a_device_is_refused(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path / "zero"):
        if path.parent == tmp_path:
            path.symlink_to("/dev/zero")
        with pytest.raises(NotRegularError, match="is a device"):
            is_bundle(path)
        with pytest.raises(NotRegularError, match="is a device"):
            unpack(path, tmp_path / "target", lambda share: None)


def test_a_link_is_resolved_when_it_is_given(log: Path, tmp_path: Path) -> None:
    link = tmp_path / "current"
    link.symlink_to(log)
    with pytest.raises(NotRegularError, match="is a symbolic link"), open_regular(link):
        pass
    with open_regular(pin_path(link)) as file:
        assert file.read() == log.read_bytes()


def test_own_folder_path_may_contain_links(log: Path, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(log.parent)
    with (
        pytest.raises(NotRegularError, match="is behind data, a symbolic link"),
        open_regular(tmp_path / "data/server.log"),
    ):
        pass
    follow_own(tmp_path / "data")
    with open_regular(tmp_path / "data/server.log") as file:
        assert file.read() == log.read_bytes()
    (log.parent / "inner").symlink_to(log.parent)
    with pytest.raises(NotRegularError, match="is behind inner"), open_regular(tmp_path / "data/inner/server.log"):
        pass


def test_unreadable_file_is_a_collector_error(log: Path, kept: Any, make_run: Callable[..., Run]) -> None:
    with pytest.raises(CollectorError):
        list(log_collector(kept.position).collect(make_run("vllm", log_path=str(log.parent))))

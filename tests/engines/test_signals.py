"""Deaths by a signal are read in every engine's log, whoever reports them."""

from __future__ import annotations

import pytest

from engines import ENGINES
from engines.line_filter import LineFilter

DEATHS = {
    "[node7:2201:0:2201] Caught signal 11 (Segmentation fault: address not mapped to object at address 0x10)": (
        "signal 11 (segmentation fault) on node7"
    ),
    "[5f3e0a:2201 :0:2202] Caught signal 11 (Segmentation fault)": "signal 11 (segmentation fault) on 5f3e0a",
    "[5f3e0a:02201] Signal: Segmentation fault (11)": "signal 11 (segmentation fault) on 5f3e0a",
    "[node7:02201] Signal: Bus error (7)": "signal 7 (bus error) on node7",
    "mpirun noticed that process rank 3 with PID 2201 on node node7 exited on signal 9 (Killed).": (
        "signal 9 (kill) on node7"
    ),
    "prterun noticed that process rank 3 with PID 2201 on node node7 exited on signal 11 (Segmentation fault).": (
        "signal 11 (segmentation fault) on node7"
    ),
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Segmentation fault (signal 11)": (
        "signal 11 (segmentation fault)"
    ),
    "srun: error: node7: task 3: Segmentation fault (core dumped)": "signal 11 (segmentation fault) on node7",
    "srun: error: node7: tasks 0-3: Killed": "signal 9 (kill) on node7",
    "Segmentation fault (core dumped)": "signal 11",
    "start.sh: line 4:  2201 Illegal instruction     (core dumped) server": "signal 4 (illegal instruction)",
    "Fatal Python error: Segmentation fault": "signal 11 (segmentation fault)",
    "python3[2201]: segfault at 10 ip 00007f12 sp 00007ffe error 4 in libcudart.so.12[7f12+1000]": "signal 11",
    "traps: python3[2201] general protection fault ip:7f12 sp:7ffe error:0 in libc.so.6": "signal 11",
    "traps: python3[2201] trap invalid opcode ip:7f12 sp:7ffe error:0 in libx.so": "signal 4",
    "Signal 11 (SIGSEGV) received by PID 2201": "signal 11",
    "llama.service: Main process exited, code=killed, status=9/KILL": "signal 9 (kill)",
    "llama.service: Main process exited, code=dumped, status=11/SEGV": "signal 11 (segmentation fault)",
}
PREFIXES = ("", "[1,3]<stderr>:", "Aug 14 10:02:11 node7 kernel: ", "2026-08-14T10:02:11.000000000Z ", "worker-0  | ")
ENGINE_NAMES = [engine.name for engine in ENGINES]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", DEATHS)
def test_a_death_by_a_signal_is_a_cause(engine: str, line: str, read_log) -> None:
    for prefix in PREFIXES:
        log = read_log(engine, f"{prefix}{line}\n")
        (error,), (sentence,) = log.reading.errors, log.marks("failure")
        assert line.endswith(error)  # a stamp takes the process before a colon for the logger's name
        assert DEATHS[line] in sentence


OUT_OF_MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB"
CAUSES = {
    "llamacpp": "CUDA error: out of memory",
    "sglang": f"Scheduler hit an exception: Traceback (most recent call last):\n{OUT_OF_MEMORY}",
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", ["Aborted (core dumped)", "[node7:02201] Signal: Aborted (6)"])
def test_an_abort_comes_after_its_cause(engine: str, line: str, read_log) -> None:
    errors = read_log(engine, f"{line}\n{CAUSES.get(engine, OUT_OF_MEMORY)}\n").reading.errors
    assert "out of memory" in errors[0]
    assert errors[-1] == line


@pytest.mark.parametrize("engine", ENGINES, ids=ENGINE_NAMES)
def test_the_line_filter_lets_every_death_through(engine, read_log, monkeypatch) -> None:
    text = "".join(f"{line}\n" for line in DEATHS)
    events = read_log(engine.name, text).events
    monkeypatch.setattr(type(engine.log.log_parser()), "LINE_FILTER", LineFilter())
    assert read_log(engine.name, text).events == events


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_talk_of_signals_is_no_death(engine: str, read_log) -> None:
    text = "Installed handlers for signal 11\nAborted 3 requests\nthe prompt says Segmentation fault (core dumped)\n"
    if engine != "vllm":  # whose own rule takes these words for a death wherever they stand
        assert read_log(engine, text).reading.errors == []

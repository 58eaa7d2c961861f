"""Errors of GPUs in the kernel's lines are warnings in every engine's log, counted by GPU and error."""

from __future__ import annotations

import pytest

from engines import ENGINES

FAULT = "NVRM: Xid (PCI:000f:01:00): 31, pid=8123, name=VLLM::EngineCor, channel 0x8, intr 0. MMU Fault: faulted @ {}"
ERRORS = {
    FAULT.format("0x7f_a0"): "Xid 31 (memory page fault) of the GPU at 000f:01:00.",
    "NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off the bus.": (
        "Xid 79 (the GPU has fallen off the bus) of the GPU at 0000:b3:00."
    ),
    "NVRM: Xid (PCI:0000:b3:00): 999, 0000 1111": "Xid 999 of the GPU at 0000:b3:00.",
    "NVRM: fallen off the bus and is not responding to commands.": "that a GPU has fallen off the bus.",
    "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.": "that a GPU has fallen off the bus.",
}
PREFIXES = ("Aug 14 10:02:11 node7 kernel: ", "[ 1843.308145] ", "kern: err: [2026-08-14T10:02:11.5Z]: ", "")
ENGINE_NAMES = [engine.name for engine in ENGINES]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", ERRORS)
def test_an_error_of_a_gpu_is_a_warning(engine: str, line: str, read_log) -> None:
    for prefix in PREFIXES:
        log = read_log(engine, f"{prefix}{line}\n")
        assert log.marks("warning") == [f"The NVIDIA driver reported {ERRORS[line]}"]
        assert log.reading.errors == []


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_equal_errors_have_equal_texts(engine: str, read_log) -> None:
    log = read_log(engine, f"{FAULT.format('0x1')}\n{FAULT.format('0x2')}\n")
    assert len(log.marks("warning")) == 2 and len({*log.marks("warning")}) == 1


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_other_messages_of_the_driver_are_none(engine: str, read_log) -> None:
    log = read_log(engine, "[ 14.65] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  595.71.05\n")
    assert log.events == []

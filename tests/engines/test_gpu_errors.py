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


NATIVE_ERRORS = {
    "Failed: Cuda error /workspace/csrc/custom_all_reduce.cuh:455 'an illegal memory access was encountered'": (
        "CUDA reported: an illegal memory access was encountered."
    ),
    "rank 3 Failed, NCCL error /src/common.cu:49 'unhandled system error'": "NCCL reported: unhandled system error.",
    "CUDA error (/src/flash_fwd_launch_template.h:175): no kernel image is available": (
        "CUDA reported: no kernel image is available."
    ),
}


AMD_ERRORS = {
    "Memory access fault by GPU node-3 (Agent handle: 0x13e8) on address 0x77d445e00000. Reason: Unknown.": (
        "Memory access fault by GPU node-3 (Agent handle: 0x13e8) on address 0x77d445e00000. Reason: Unknown.",
        "The GPU node-3 used memory that it may not use; AMD's runtime ended the process.",
    ),
    ":0:rocdevice.cpp :3020: 5875d us: Callback: Queue 0x7f45 aborting with error : "
    "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016": (
        "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception. code: 0x1016",
        "AMD's runtime reported HSA_STATUS_ERROR_EXCEPTION (An HSAIL operation resulted in a hardware exception).",
    ),
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", AMD_ERRORS)
def test_what_amds_runtime_prints_before_it_ends_the_process_is_a_cause(engine: str, line: str, read_log) -> None:
    log = read_log(engine, f"{line}\n")
    assert (log.reading.errors[0], log.marks("failure")[0]) == AMD_ERRORS[line]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", NATIVE_ERRORS)
def test_an_error_that_native_code_prints_is_a_cause(engine: str, line: str, read_log) -> None:
    log = read_log(engine, f"{line}\n{line}\n")
    assert log.reading.errors == [line] and log.marks("failure")[0] == NATIVE_ERRORS[line]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_words_about_such_errors_are_no_failure(engine: str, read_log) -> None:
    log = read_log(engine, "the user asks what Failed: Cuda error means\nCUDA error (see the manual)\n")
    assert log.reading.errors == []


def test_the_native_error_comes_before_the_report_of_the_death(read_log) -> None:
    line = next(iter(NATIVE_ERRORS))
    report = "Worker proc VllmWorker-2 died unexpectedly (exit code: None), shutting down executor."
    log = read_log("vllm", f"{line}\n(EngineCore pid=5) ERROR 07-31 09:09:51 [multiproc_executor.py:284] {report}\n")
    assert log.reading.errors == [line, report]


TIMEOUTS = {
    "[rank2]:[E210 02:06:33.394775308 ProcessGroupNCCL.cpp:15] [Rank 2] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1522789, OpType=_ALLGATHER_BASE, NumelIn=298960, NumelOut=4783360, Timeout(ms)=600000) ran for "
    "600094 milliseconds before timing out.": (
        "The communication between the GPUs timed out after 600 s: a collective operation (_ALLGATHER_BASE) did not "
        "end."
    ),
    "[Rank 2] Watchdog caught collective operation timeout: WorkNCCL(S": (
        "The communication between the GPUs timed out: a collective operation did not end."
    ),
}


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", TIMEOUTS)
def test_a_collective_operation_that_does_not_end_is_a_cause(engine: str, line: str, read_log) -> None:
    log = read_log(engine, f"{line}\n")
    assert log.marks("failure") == [TIMEOUTS[line]]
    assert log.reading.errors[0].startswith("Watchdog caught collective operation timeout: WorkNCCL(S")

"""Kernels that a server could not build at its start: the compiler's message precedes the exception it caused."""

from __future__ import annotations

import pytest

from engines import ENGINES

MESSAGES = [
    "nvcc fatal   : Unknown option '-static-global-template-stub=false'",
    "/bin/sh: 1: /usr/local/cuda/bin/nvcc: not found",
    "/opt/flashinfer/csrc/batch_decode.cu:12:10: fatal error: cuda_runtime.h: No such file or directory",
    "LLVM ERROR: Unsupported rounding mode for conversion.",
    "hipcc: error: cannot find ROCm installation",
]
ENGINE_NAMES = [engine.name for engine in ENGINES]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("message", MESSAGES)
def test_what_the_compiler_says_is_a_cause(engine: str, message: str, read_log) -> None:
    log = read_log(engine, f"{message}\n")
    assert (log.reading.errors, log.marks("failure")) == ([message], [f"A kernel could not be built. {message}"])


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
def test_it_precedes_the_exception_of_the_build(engine: str, read_log) -> None:
    exception = "RuntimeError: Ninja build failed. Ninja output:"
    text = f'Traceback (most recent call last):\n  File "a.py", line 1, in b\n{exception}\n{MESSAGES[0]}\n'
    assert read_log(engine, text).reading.errors == [MESSAGES[0], exception]


def test_a_fatal_error_of_git_is_none(read_log) -> None:
    assert read_log("vllm", "git: fatal error: not a repository\n").reading.errors == []

"""Failed assertions of C and C++ are read in every engine's log."""

from __future__ import annotations

import pytest

from engines import ENGINES

ASSERTIONS = (
    "server: /src/sampler.cpp:94: void apply(sampler*, array*): Assertion `found' failed.",
    'python3: /project/lib/Allocation.cpp:47: std::pair<A, B> triton::cvt(C&): Assertion `!(a && b) && "no"\' failed.',
    "server: sampler.c:12: apply: Assertion ‘n > 0’ failed.",
)
ENGINE_NAMES = [engine.name for engine in ENGINES]


@pytest.mark.parametrize("engine", ENGINE_NAMES)
@pytest.mark.parametrize("line", ASSERTIONS)
def test_a_failed_assertion_is_a_cause(engine: str, line: str, read_log) -> None:
    log = read_log(engine, f"{line}\nAborted (core dumped)\n")
    assert line.endswith(log.reading.errors[0]) and log.reading.errors[1:] == ["Aborted (core dumped)"]
    assert log.marks("failure")[0].startswith("An internal check of the engine failed.")


@pytest.mark.parametrize("engine", ENGINE_NAMES)
def test_words_about_assertions_are_no_failure(engine: str, read_log) -> None:
    log = read_log(engine, "user asks why Assertion `x' failed. is printed\nnote: Assertion 'x' failed\n")
    assert log.reading.errors == []

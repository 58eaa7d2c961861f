"""An end by Slurm or systemd is the cause of a server's death, unless its user asked for it."""

from __future__ import annotations

import pytest

from engines import ENGINES

ENDS = {
    "slurmstepd: error: *** JOB 41 ON node7 CANCELLED AT 2026-01-07T10:29:37 DUE TO TIME LIMIT ***": "time limit",
    "slurmstepd: error: *** STEP 41.0 CANCELLED AT 2026-01-07T10:29:37 DUE TO PREEMPTION ***": "preemption",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=41.0. Some tasks have been OOM Killed.": "memory",
    "llama.service: A process of this unit has been killed by the OOM killer.": "memory",
}


@pytest.mark.parametrize("engine", [engine.name for engine in ENGINES])
@pytest.mark.parametrize("line", ENDS)
def test_what_others_end_is_a_cause(engine: str, line: str, read_log) -> None:
    log = read_log(engine, f"{line}\n")
    assert log.reading.errors == [line]
    assert ENDS[line] in log.marks("failure")[0]


@pytest.mark.parametrize(
    "line",
    [
        "slurmstepd: error: *** JOB 41 ON node7 CANCELLED AT 2026-01-07T10:29:37 ***\n",
        "vllm.service: Main process exited, code=killed, status=15/TERM\n",
    ],
)
def test_an_end_that_its_user_asked_for_has_no_cause(line: str, read_log) -> None:
    assert read_log("vllm", line).reading.errors == []

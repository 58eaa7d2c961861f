"""A study by the time a turn, over replays of generated agent sessions on stand-ins of known pace."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.studies.test_study_run import BUSY, LOAD, answer, start, study, why_unranked

REPLAY = """
[[workload]]
name = "agent-replay"
[workload.params]
turns = 4
first_prompt_tokens = 100
tool_result_tokens = 30
output_tokens = 30
pause_s = 0.0
prefix_breaks = 0.0
"""


@pytest.mark.long
@pytest.mark.timeout(600)
def test_arm_with_faster_turns_wins(tmp_path: Path) -> None:
    file = study(tmp_path, 20.0, 10.0, runs=8)
    file.write_text('objective = "turn_s"\n' + file.read_text().replace(LOAD, REPLAY))
    status, told = answer(start(file, tmp_path / "data"))
    second = next(arm for arm in told["arms"] if arm["name"] == "b")
    assert 1.6 < second["ratio"] < 2.0, "all of a turn but its prefill takes half as long"
    if not why_unranked(told):
        assert (status, told["answer"], told["winner"]) == (0, "winner", "b")
    else:
        assert why_unranked(told) <= BUSY

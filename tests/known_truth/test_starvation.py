"""CPU waits by what they may have cost: nothing on a quiet machine, everything next to other work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.guard import RowCode
from analysis.verdict import VerdictAnswer
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import CpuWaits, PacedServer
from tests.known_truth.played_run import PlayedArm
from web.compare.answer.report_notes import report_notes

pytestmark = pytest.mark.wide

# A server on a GPU that hardly needs the CPU, beside a desktop: its waits are a large share of very little.
QUIET = CpuWaits(wait_share=(0.003, 0.019), run_share=0.03, other_cores=0.7)
HELD = CpuWaits(wait_share=(0.12, 0.12), run_share=0.03, other_cores=0.7, slows=True)
LOAD: dict[str, Any] = {"params": {"tokens": 48, "repeats": 2, "rungs": [1, 4]}}


def arms(first: PacedServer, second: PacedServer) -> list[PlayedArm]:
    return [PlayedArm("a", first, **LOAD), PlayedArm("b", second, **LOAD)]


def test_quiet_machine_is_not_refused(played: PlayedStore) -> None:
    """The ratio of waits to the CPU time that the threads wanted differs from 0.09 to 0.39 between starts."""
    quiet = PacedServer(start_sd=0.002, waits=QUIET)
    answer = played.answer(arms(quiet, quiet), "output_tps@4", 12)
    ratios = [row.starvation_ratio or 0.0 for arm in answer.pair.arms for run in arm.runs for row in run.conditions]
    assert max(ratios) - min(ratios) > 0.15
    assert not answer.refused and answer.judgement
    faster = replace(quiet, step_s=0.02 / 1.05)
    answer = played.answer(arms(quiet, faster), "output_tps@4", 4)
    assert not answer.refused and answer.judgement and answer.judgement.answer is VerdictAnswer.BETTER


def test_held_back_arm_is_refused(played: PlayedStore) -> None:
    quiet, paced_server = PacedServer(start_sd=0.002, waits=QUIET), PacedServer(start_sd=0.002, waits=HELD)
    answer = played.answer(arms(quiet, paced_server), "output_tps@4", 4)
    assert answer.judgement and answer.judgement.ratio == pytest.approx(0.88, abs=0.02)
    assert [row.code for row in answer.refused] == [RowCode.STARVATION]


def test_one_starved_start_is_left_out(played: PlayedStore) -> None:
    quiet, paced_server = PacedServer(start_sd=0.002, waits=QUIET), PacedServer(start_sd=0.002, waits=HELD)
    (first, second), (_, other_arms) = arms(quiet, quiet), arms(quiet, paced_server)
    runs = [*first.starts(4, played.rng), *second.starts(3, played.rng), *other_arms.starts(1, played.rng)]
    report = played.report(played.take_in(runs), "output_tps@4")
    (answer,) = report.answers
    assert [len(arm.starts) for arm in report.arms] == [4, 3] and not answer.refused
    (note,) = [note for note in report_notes(report) if "left out by rule" in note]
    assert "waited for a CPU for 12 % of the time" in note and runs[-1].run.name in note
    two = [*first.starts(4, played.rng), *second.starts(2, played.rng), *other_arms.starts(2, played.rng)]
    (answer,) = played.report(played.take_in(two), "output_tps@4").answers
    assert [row.code for row in answer.refused] == [RowCode.STARVATION], "two of them are no accident"


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_no_quiet_pair_is_refused(played: PlayedStore) -> None:
    """120 pairs of one configuration on a quiet machine."""
    quiet = PacedServer(start_sd=0.005, waits=QUIET)
    refused = [
        [row.code for row in answer.refused]
        for answer in (played.answer(arms(quiet, quiet), "output_tps@4", 4) for _ in range(120))
        if answer.refused
    ]
    assert refused == []

"""The time of a piece of work, compared: only answers of one length, only requests that ended well."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.comparison.arms import Arm
from reasons import Code, Reason
from tests.analysis.comparison.hand_made import arm, load, request, run, streams
from tests.analysis.comparison.test_compare import compared


def work(tokens: int, seconds: float, name: str, count: int = 2) -> Arm:
    one = load([replace(r, completion_tokens=tokens) for r in streams(count)])
    timed = replace(one, phases=tuple(replace(p, duration_s=seconds) for p in one.phases))
    return arm(run(f"{name}0", timed), run(f"{name}1", replace(timed, phases=one.phases)))


def test_work_time_takes_equal_length_answers() -> None:
    comparison = compared(work(10, 20.0, "a"), work(10, 5.0, "b"), "work_s@1")
    assert comparison.judgement is not None and comparison.judgement.ratio == pytest.approx(0.5)
    unlike = compared(work(10, 20.0, "a"), work(11, 5.0, "b"), "work_s@1")
    assert unlike.judgement is None and unlike.no_value == Reason(Code.TOKENS_DIFFER)
    fewer = compared(work(10, 20.0, "a"), work(10, 5.0, "b", count=1), "work_s@1")
    assert fewer.no_value == Reason(Code.TOKENS_DIFFER)


def test_work_with_a_failed_request_is_omitted() -> None:
    bad = load([request(0), request(1, error_kind="http")])
    comparison = compared(arm(run("a", bad)), arm(run("b", bad)), "work_s@1")
    assert comparison.no_value == Reason(Code.TOKENS_DIFFER)


def test_work_of_one_concurrency_is_independent() -> None:
    def arm_of_length(tokens: int) -> Arm:
        requested_streams = [*streams(2), *(replace(r, phase_index=2, completion_tokens=tokens) for r in streams(1, 2))]
        return arm(run(f"t{tokens}", load(requested_streams)))

    assert compared(arm_of_length(10), arm_of_length(11), "work_s@1").judgement is not None
    assert compared(arm_of_length(10), arm_of_length(11), "work_s@2").judgement is None

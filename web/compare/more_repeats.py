"""Further server starts where the answer is not known yet: queued in rounds, so that what drifts falls on all arms."""

from __future__ import annotations

import streamlit as st

from analysis.verdict import Answer
from launcher.checks.preflight import LaunchRefusedError
from reports.comparison import ComparisonReport
from web import audit, places
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

AFTER_ONE_START = 2  # further ones: three each are the fewest that show a usual difference
MOST = 20


def wanted_repeats(report: ComparisonReport) -> int:
    """Further starts of each arm that would probably settle what is not settled; 0 where nothing is open."""
    open_ones = [answer.judgement for answer in report.answers if answer.judgement and not answer.refused]
    told = [
        AFTER_ONE_START if judged.answer is Answer.SEEN_ONCE else judged.more_repeats or 0
        for judged in open_ones
        if judged.answer in (Answer.SEEN_ONCE, Answer.UNKNOWN, Answer.DIFFERENT)
    ]
    return min(max(told, default=0), MOST)


def offer_more_repeats(report: ComparisonReport) -> None:
    """A button for the operator, where every arm can be started again."""
    times = wanted_repeats(report)
    can_start = all(run.kind == "launched" and run.is_over for arm in report.arms for run in arm.runs)
    if not (times and can_start and is_operator()):
        return
    starts = times * len(report.arms)
    left, right = st.columns([3, 1], vertical_alignment="center")
    more = "1 more start" if times == 1 else f"{times} more starts"
    left.caption(f"{more} of each configuration would probably settle it: {starts} server starts in all.")
    if right.button(f"Queue {times} more of each", icon=":material/replay:"):
        _queue(report, times)


def _queue(report: ComparisonReport, times: int) -> None:
    require_operator()
    queued: list[str] = []
    try:
        for number in range(times):
            arms = report.arms if number % 2 == 0 else report.arms[::-1]
            for arm in arms:
                queued += [run.id for run in services().supervisor.repeat(arm.id, 1)]
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    finally:
        if queued:
            audit.record("launch", queued, "repeats that settle a comparison")
    st.switch_page(places.RUNS)

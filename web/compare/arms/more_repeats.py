"""Offers further server starts while the answer is uncertain; queued in rounds, so that drift affects all arms."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.verdict import VerdictAnswer
from launcher.checks.launch_request import LaunchRefusedError
from reports.arms.comparison import ComparisonReport
from web import audit, page_paths
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

AFTER_ONE_START = 2  # more starts: three each are the fewest that show a typical difference
MOST = 20
OPEN = (VerdictAnswer.SEEN_ONCE, VerdictAnswer.UNKNOWN, VerdictAnswer.DIFFERENT)


def repeats_to_settle(report: ComparisonReport) -> dict[str, int]:
    """Return arm id -> further starts that would probably settle its answer; settled arms are left out."""
    starts_by_arm = {}
    for answer in report.answers:
        judgement = answer.judgement
        if judgement and not answer.refused and judgement.answer in OPEN:
            starts_by_arm[answer.pair.contender.id] = (
                AFTER_ONE_START if judgement.answer is VerdictAnswer.SEEN_ONCE else judgement.more_repeats
            )
    return {arm_id: count for arm_id, count in starts_by_arm.items() if count}


def offer_more_repeats(report: ComparisonReport) -> None:
    """A button for the operator, if every arm can be started again."""
    starts_by_arm = repeats_to_settle(report)
    arms = [arm for arm in report.arms if arm.id in starts_by_arm or arm is report.arms[0]]
    can_start = all(run.kind == "launched" and run.is_over for arm in arms for run in arm.runs)
    if not (starts_by_arm and can_start and is_operator()):
        return
    count = max(starts_by_arm.values())
    text_column, button_column = st.columns([3, 1], vertical_alignment="center")
    text_column.caption(offer_text(arms, count))
    if button_column.button(f"Queue {min(count, MOST)} more of each", icon=":material/replay:"):
        _queue(arms, min(count, MOST))


def offer_text(arms: Sequence[Arm], count: int) -> str:
    """Say what so many more starts would show and cost."""
    starts = "1 more start" if count == 1 else f"{count} more starts"
    names = " and ".join(arm.name for arm in arms)
    limit = f"; {MOST} of each can be queued at once" if count > MOST else ""
    cost = f"{min(count, MOST) * len(arms)} server starts"
    return markdown_text(f"{starts} each of {names} would probably settle the open answers{limit}: {cost}.")


def _queue(arms: Sequence[Arm], count: int) -> None:
    require_operator()
    queued: list[str] = []
    try:
        for number in range(count):
            for arm in arms if number % 2 == 0 else arms[::-1]:
                queued += [run.id for run in services().supervisor.repeat(arm.id, 1)]
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    finally:
        if queued:
            audit.record("launch", queued, "repeats that settle a comparison")
    st.switch_page(page_paths.RUNS)

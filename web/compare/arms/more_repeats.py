"""Further server starts where the answer is not known yet: queued in rounds, so that what drifts falls on all arms."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.verdict import Answer
from launcher.checks.preflight import LaunchRefusedError
from reports.arms.comparison import ComparisonReport
from web import audit, places
from web.actions import is_operator, require_operator
from web.context import services
from web.markup import markdown_text

AFTER_ONE_START = 2  # further ones: three each are the fewest that show a usual difference
MOST = 20
OPEN = (Answer.SEEN_ONCE, Answer.UNKNOWN, Answer.DIFFERENT)


def wanted_repeats(report: ComparisonReport) -> dict[str, int]:
    """Arm id -> further starts that would probably settle what is open about it; settled arms are not among them."""
    found = {}
    for answer in report.answers:
        judged = answer.judgement
        if judged and not answer.refused and judged.answer in OPEN:
            found[answer.pair.other.id] = AFTER_ONE_START if judged.answer is Answer.SEEN_ONCE else judged.more_repeats
    return {arm_id: count for arm_id, count in found.items() if count}


def offer_more_repeats(report: ComparisonReport) -> None:
    """A button for the operator, where every arm can be started again."""
    wanted = wanted_repeats(report)
    arms = [arm for arm in report.arms if arm.id in wanted or arm is report.arms[0]]
    can_start = all(run.kind == "launched" and run.is_over for arm in arms for run in arm.runs)
    if not (wanted and can_start and is_operator()):
        return
    times = max(wanted.values())
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(words_of(arms, times))
    if right.button(f"Queue {min(times, MOST)} more of each", icon=":material/replay:"):
        _queue(arms, min(times, MOST))


def words_of(arms: Sequence[Arm], times: int) -> str:
    """What so many starts would show, and what they cost."""
    more = "1 more start" if times == 1 else f"{times} more starts"
    those = " and ".join(arm.name for arm in arms)
    limit = f"; {MOST} of each can be queued at once" if times > MOST else ""
    cost = f"{min(times, MOST) * len(arms)} server starts"
    return markdown_text(f"{more} each of {those} would probably settle what is open{limit}: {cost}.")


def _queue(arms: Sequence[Arm], times: int) -> None:
    require_operator()
    queued: list[str] = []
    try:
        for number in range(times):
            for arm in arms if number % 2 == 0 else arms[::-1]:
                queued += [run.id for run in services().supervisor.repeat(arm.id, 1)]
    except LaunchRefusedError as refusal:
        st.error(markdown_text(str(refusal)))
        return
    finally:
        if queued:
            audit.record("launch", queued, "repeats that settle a comparison")
    st.switch_page(places.RUNS)

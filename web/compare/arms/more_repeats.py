"""Offers further server starts while the answer is uncertain; queued in rounds, so that drift affects all arms."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from analysis.comparison.arms import Arm
from analysis.verdict import SettlingRepeats, VerdictAnswer
from launcher.checks.launch_request import LaunchRefusedError
from reports.arms.comparison import ComparisonReport
from web import audit, page_paths
from web.actions import is_operator, require_operator
from web.compare.answer.sentence import settling_words
from web.context import services
from web.markup import markdown_text

# Three starts each are the fewest that show a typical difference.
AFTER_ONE_START = SettlingRepeats(2, 2)
MAX_REPEATS = 20
OPEN_ANSWERS = (VerdictAnswer.SEEN_ONCE, VerdictAnswer.UNKNOWN, VerdictAnswer.DIFFERENT)


def repeats_to_settle(report: ComparisonReport) -> dict[str, SettlingRepeats]:
    """Return arm id -> further starts that would settle its answer; settled arms are left out."""
    starts_by_arm = {}
    for answer in report.answers:
        judgement = answer.judgement
        if judgement and not answer.refused and judgement.answer in OPEN_ANSWERS:
            is_seen_once = judgement.answer is VerdictAnswer.SEEN_ONCE
            repeats = AFTER_ONE_START if is_seen_once else judgement.more_repeats
            if repeats:
                starts_by_arm[answer.pair.contender.id] = repeats
    return starts_by_arm


def offer_more_repeats(report: ComparisonReport) -> None:
    """A button for the operator, if every arm can be started again."""
    starts_by_arm = repeats_to_settle(report)
    arms = [arm for arm in report.arms if arm.id in starts_by_arm or arm is report.arms[0]]
    can_start = all(run.kind == "launched" and run.is_over for arm in arms for run in arm.runs)
    if not (starts_by_arm and can_start and is_operator()):
        return
    repeats = largest_range(list(starts_by_arm.values()))
    count = min(repeats.low, MAX_REPEATS)
    text_column, button_column = st.columns([3, 1], vertical_alignment="center")
    text_column.caption(offer_text(arms, repeats, count))
    if button_column.button(f"Queue {count} more of each", icon=":material/replay:"):
        _queue(arms, count)


def largest_range(ranges: Sequence[SettlingRepeats]) -> SettlingRepeats:
    """Return the range that settles all of these answers."""
    highs = [repeats.high for repeats in ranges if repeats.high is not None]
    return SettlingRepeats(max(repeats.low for repeats in ranges), max(highs) if len(highs) == len(ranges) else None)


def offer_text(arms: Sequence[Arm], repeats: SettlingRepeats, count: int) -> str:
    """Say what settles the open answers, and what `count` more starts of each arm cost."""
    names = " and ".join(arm.name for arm in arms)
    text = f"{settling_words(repeats)} each of {names} would settle the open answers. {count} of each cost "
    return markdown_text(f"{text[0].upper()}{text[1:]}{count * len(arms)} server starts.")


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

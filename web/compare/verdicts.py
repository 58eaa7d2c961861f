"""What people said of the compared runs, beside the numbers: ratings an arm a column, the sentences below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.arms import Arm
from analysis.note_changes import RATED
from notes import RunNote
from web import markup
from web.compare.answer.answer_cards import Colors
from web.theme import DASH

TITLE = "A person's verdict"


def verdict_section(arms: Sequence[Arm], notes: Mapping[str, RunNote], colors: Colors) -> str:
    """`notes`: run id -> what is said of it; '' where nobody gave a verdict on any of these runs."""
    rows = [_row(rating, arms, notes) for rating in RATED if any(_given(arm, notes, rating) for arm in arms)]
    sentences = "".join(_sentences(arm, notes, colors) for arm in arms)
    if not rows and not sentences:
        return ""
    head = ["", *(markup.named(arm.name, colors[arm.id]) for arm in arms)]
    table = markup.table(head, rows, is_numeric=True) if rows else ""
    said = f'<ul class="pw-verdicts">{sentences}</ul>' if sentences else ""
    return (
        f'<details class="pw-section" open><summary>{TITLE}</summary>{table}{said}'
        '<p class="pw-muted">1 is poor, 5 is excellent. The word of whoever wrote it, not a measurement: no answer '
        "rests on it.</p></details>"
    )


def _given(arm: Arm, notes: Mapping[str, RunNote], rating: str) -> list[int]:
    """The ratings of an arm's runs, in their order."""
    ratings = [getattr(notes[run.run_id], rating) for run in arm.runs]
    return [given for given in ratings if given is not None]


def _row(rating: str, arms: Sequence[Arm], notes: Mapping[str, RunNote]) -> list[str]:
    """Each rating that was given, for there are too few to make one number of."""
    cells = [", ".join(map(str, _given(arm, notes, rating))) or DASH for arm in arms]
    return [RATED[rating], *(markup.number(cell, "of 5", why="nobody said") for cell in cells)]


def _sentences(arm: Arm, notes: Mapping[str, RunNote], colors: Colors) -> str:
    """Each as a link to the run that it is about."""
    name = markup.named(arm.name, colors[arm.id])
    said = [(markup.run_link("run", [run.run_id]), notes[run.run_id].impression) for run in arm.runs]
    return "".join(
        f'<li>{name} <a href="{link}" target="_self">“{markup.text(words)}”</a></li>' for link, words in said if words
    )

"""People's verdicts on the compared runs: ratings with one column per arm, and their comments below."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.arms import Arm
from analysis.note_changes import RATING_TITLES
from notes import RunNote
from web import markup
from web.compare.answer.overview import Colors
from web.theme import DASH

TITLE = "A person's verdict"


def verdict_section(arms: Sequence[Arm], notes: Mapping[str, RunNote], colors: Colors) -> str:
    """Return the section as markup, '' without any verdict. notes: run id -> its note."""
    rows = [_row(rating, arms, notes) for rating in RATING_TITLES if any(_ratings(arm, notes, rating) for arm in arms)]
    sentences = "".join(_sentences(arm, notes, colors) for arm in arms)
    if not rows and not sentences:
        return ""
    head = ["", *(markup.colored_name(arm.name, colors[arm.id]) for arm in arms)]
    table = markup.table(head, rows, is_numeric=True) if rows else ""
    impressions = f'<ul class="pw-verdicts">{sentences}</ul>' if sentences else ""
    return (
        f'<details class="pw-section" open><summary>{TITLE}</summary>{table}{impressions}'
        '<p class="pw-muted">1 is poor, 5 is excellent. These are opinions, not measurements; no answer '
        "depends on them.</p></details>"
    )


def _ratings(arm: Arm, notes: Mapping[str, RunNote], rating: str) -> list[int]:
    """Return the ratings of an arm's runs, in order."""
    ratings = [getattr(notes[run.run_id], rating) for run in arm.runs]
    return [rating_value for rating_value in ratings if rating_value is not None]


def _row(rating: str, arms: Sequence[Arm], notes: Mapping[str, RunNote]) -> list[str]:
    """Every rating is listed, since there are too few for a mean."""
    cells = [", ".join(map(str, _ratings(arm, notes, rating))) or DASH for arm in arms]
    return [RATING_TITLES[rating], *(markup.number(cell, "of 5", why="no rating") for cell in cells)]


def _sentences(arm: Arm, notes: Mapping[str, RunNote], colors: Colors) -> str:
    """The comments, each a link to its run."""
    name = markup.colored_name(arm.name, colors[arm.id])
    impressions = [(markup.run_link("run", [run.run_id]), notes[run.run_id].impression) for run in arm.runs]
    return "".join(
        f'<li>{name} <a href="{link}" target="_self">“{markup.text(impression)}”</a></li>'
        for link, impression in impressions
        if impression
    )

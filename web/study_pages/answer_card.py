"""The answer of a study as a card like Compare's: the sentence, how sure it is, and each arm on one scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from commands.study_file import StudyPlan
from domain import Study
from web import markup
from web.compare.answer.dots import strip
from web.compare.answer.overview import strip_row
from web.study_pages.race_grid import span_of_intervals
from web.study_pages.race_words import headline, relative_values, solved_text
from web.theme import format_ratio

Arms = Sequence[Mapping[str, Any]]


def answer_card(study: Study, plan: StudyPlan, arms: Arms, colors: Mapping[str, int], notes: Sequence[str]) -> str:
    """Return the card of an ended study; arms: rows of `answer_tables` of its only workload, else none."""
    answer = study.answer or {}
    winner = answer.get("winner")
    css_class = "pw-answer" if answer.get("answer") in ("winner", "same", "measured") else "pw-answer pw-refused"
    color = f' style="--pw-run:{markup.run_css_color(colors[str(winner)])}"' if winner in colors else ""
    texts = "".join(f'<p class="pw-muted">{markup.text(note)}</p>' for note in notes)
    sentence = f'<p class="pw-say">{markup.text(answer_sentence_of(study, arms))}</p>'
    return f'<section class="{css_class}"{color}>{sentence}{texts}{_strips(plan, arms, colors)}</section>'


def answer_sentence_of(study: Study, arms: Arms) -> str:
    """Return 'n-gram is best: 1.35x plain (1.17x to 1.56x).', or the headline where no ratio says more."""
    text = headline(study)
    winner = next((arm for arm in arms if arm["name"] == (study.answer or {}).get("winner")), None)
    if not winner or not arms:
        return text
    if winner.get("solved"):
        return f"{text.removesuffix('.')}: {_solved_sentence(winner, arms)}"
    first = arms[0]
    compared = winner if winner is not first else max(_rivals(arms), key=lambda arm: arm["ratio"], default=None)
    if compared is None or not (compared["ratio"] and compared["interval"]) or not first["ratio"]:
        return text
    low, high = map(format_ratio, compared["interval"])
    subject = "" if compared is winner else f"{compared['name']} has "
    return f"{text.removesuffix('.')}: {subject}{format_ratio(compared['ratio'])} {first['name']} ({low} to {high})."


def _solved_sentence(winner: Mapping[str, Any], arms: Arms) -> str:
    """Return 'it solved 9 of 10 (60 % to 98 %), plain 2 of 10 (6 % to 51 %).'."""
    rivals = [f"{arm['name']} {solved_text(arm['solved'])}" for arm in arms if arm is not winner and arm.get("solved")]
    return f"it solved {', '.join([solved_text(winner['solved']), *rivals])}."


def _rivals(arms: Arms) -> list[Mapping[str, Any]]:
    return [arm for arm in arms[1:] if arm["ratio"]]


def _strips(plan: StudyPlan, arms: Arms, colors: Mapping[str, int]) -> str:
    """Return a strip for each arm that has a ratio to the first one."""
    if not arms or not arms[0]["values"] or arms[0]["ratio"] is None:
        return ""
    drawn_arms = [arm for arm in arms if arm["ratio"] is not None and arm["interval"]]
    span = span_of_intervals([(arm["interval"][0], arm["interval"][1]) for arm in drawn_arms])
    base = fmean(arms[0]["values"])
    rows = []
    for arm in drawn_arms:
        is_first = arm is arms[0]
        interval = None if is_first else (arm["interval"][0], arm["interval"][1])
        bar = strip(relative_values(arm, base), span, plan.margin, arm["ratio"], interval)
        rows.append(strip_row(arm["name"], format_ratio(arm["ratio"]), bar, colors.get(arm["name"], 0)))
    return f'<dl class="pw-strips">{"".join(rows)}</dl>'

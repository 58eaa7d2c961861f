"""The answer cards of the Compare page: one per arm, with the ratio, its cause and its uncertainty."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.compare_arms import ArmComparison
from analysis.verdict import Ratio
from web import markup
from web.compare.answer.dots import strip
from web.compare.answer.overview import Colors, arm_strips, has_overview, order_of_answers, overview_sentence, strip_row
from web.compare.answer.sentence import FACTOR_TITLES, answer_sentence, detail, excluded_requests_text, listed
from web.words import Names


def answer_cards(answers: Sequence[ArmComparison], names: Names, colors: Colors, span: float) -> str:
    """Return the answers as markup: of several arms one sentence and one chart over all of them, then a card per arm.

    Ranked arms come first, the best first; arms that are refused for the same reasons share a card. span: the page's.
    """
    ordered = sorted(answers, key=order_of_answers)
    ranked = [answer for answer in ordered if answer.is_ranked]
    groups = _by_refusal([answer for answer in ordered if not answer.is_ranked], names)
    cards = [_card(answer, names, colors, span, is_alone=len(answers) == 1) for answer in ranked]
    cards += [_refusal_card(text, group, colors) for text, group in groups.items()]
    return (_overview(answers, colors, span) if has_overview(answers) else "") + "".join(cards)


def _overview(answers: Sequence[ArmComparison], colors: Colors, span: float) -> str:
    return (
        f'<section class="pw-answer pw-overview"><p class="pw-say">{markup.text(overview_sentence(answers))}</p>'
        f"{arm_strips(answers, colors, span)}</section>"
    )


def _by_refusal(answers: Sequence[ArmComparison], names: Names) -> dict[str, list[ArmComparison]]:
    """Group answers without a claim by what follows the arm's name in their sentence."""
    groups: dict[str, list[ArmComparison]] = {}
    for answer in answers:
        sentence = answer_sentence(answer, names).removeprefix(answer.pair.contender.name)
        groups.setdefault(sentence, []).append(answer)
    return groups


def _refusal_card(text: str, answers: Sequence[ArmComparison], colors: Colors) -> str:
    """One card for all arms of which the same sentence is true."""
    arms = [answer.pair.contender for answer in answers]
    plural = text.replace(" is not ranked", " are not ranked", 1) if len(arms) > 1 else text
    swatches = "".join(markup.swatch(colors[arm.id]) for arm in arms) if len(arms) > 1 else ""
    sentence = f"{swatches}{markup.text(listed([arm.name for arm in arms]) + plural)}"
    return (
        f'<section class="pw-answer pw-refused" style="--pw-run:{markup.run_css_color(colors[arms[0].id])}">'
        f'<p class="pw-say">{sentence}</p>{_notes_html(answers[0])}</section>'
    )


def _card(answer: ArmComparison, names: Names, colors: Colors, span: float, is_alone: bool) -> str:
    color = markup.run_css_color(colors[answer.pair.contender.id])
    arms = arm_strips([answer], colors, span) if is_alone else ""
    factors = "".join(
        _factor(factor, span, answer.margin, "×" if position else "=") for position, factor in enumerate(answer.factors)
    )
    strips = f'<dl class="pw-strips">{factors}</dl>' if factors else ""
    sentence = f'<p class="pw-say">{markup.text(answer_sentence(answer, names))}</p>'
    return (
        f'<section class="pw-answer" style="--pw-run:{color}">{sentence}{_notes_html(answer)}{arms}{strips}</section>'
    )


def _notes_html(answer: ArmComparison) -> str:
    left_out = excluded_requests_text(answer) if answer.judgement else None
    return "".join(f'<p class="pw-muted">{markup.text(note)}</p>' for note in (detail(answer), left_out) if note)


def _factor(factor: Ratio, span: float, margin: float, sign: str) -> str:
    title = f"{sign} {FACTOR_TITLES[factor.name]}"
    return strip_row(title, f"{factor.ratio:.2f}×", strip([], span, margin, factor.ratio, factor.interval))

"""The answer cards of the Compare page: one per arm, with the ratio, its cause and its uncertainty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.compare_arms import ArmComparison
from analysis.verdict import Ratio
from web import markup
from web.compare.answer.dots import relative_values, strip
from web.compare.answer.sentence import FACTOR_TITLES, answer_sentence, detail, excluded_requests_text
from web.words import Names

Colors = Mapping[str, int]


def answer_cards(answers: Sequence[ArmComparison], names: Names, colors: Colors, span: float) -> str:
    """Return the cards as markup: ranked answers first, best first, then those without a claim. span: the page's."""
    return "".join(_card(answer, names, colors, span) for answer in sorted(answers, key=_sort_key))


def _sort_key(answer: ArmComparison) -> tuple[bool, float]:
    ratio = answer.judgement.ratio if answer.judgement else 1.0
    return not answer.is_ranked, -ratio if answer.pair.objective.terms.higher_is_better else ratio


def _card(answer: ArmComparison, names: Names, colors: Colors, span: float) -> str:
    color = markup.run_css_color(colors[answer.pair.contender.id])
    notes = "".join(f'<p class="pw-muted">{markup.text(note)}</p>' for note in _notes(answer))
    css_class = "pw-answer" if answer.is_ranked else "pw-answer pw-refused"
    strips = _strips(answer, colors, span) if answer.is_ranked else ""
    return (
        f'<section class="{css_class}" style="--pw-run:{color}">'
        f'<p class="pw-say">{markup.text(answer_sentence(answer, names))}</p>{notes}{strips}</section>'
    )


def _notes(answer: ArmComparison) -> list[str]:
    left_out = excluded_requests_text(answer) if answer.judgement else None
    return [note for note in (detail(answer), left_out) if note]


def _strips(answer: ArmComparison, colors: Colors, span: float) -> str:
    """Both arms' starts relative to the baseline's mean, then the factors whose product is the ratio."""
    judgement = answer.judgement
    assert judgement
    baseline, compared = relative_values(answer)
    rows = [
        _row("baseline", "1", strip(baseline, span, answer.margin, 1.0), colors[answer.pair.baseline.id]),
        _row(
            "this arm",
            f"{judgement.ratio:.2f}×",
            strip(compared, span, answer.margin, judgement.ratio, judgement.interval),
        ),
    ]
    rows += [
        _factor(factor, span, answer.margin, "×" if position else "=") for position, factor in enumerate(answer.factors)
    ]
    return f'<dl class="pw-strips">{"".join(rows)}</dl>'


def _factor(factor: Ratio, span: float, margin: float, sign: str) -> str:
    title = f"{sign} {FACTOR_TITLES[factor.name]}"
    return _row(title, f"{factor.ratio:.2f}×", strip([], span, margin, factor.ratio, factor.interval))


def _row(title: str, value: str, strip_html: str, color: int | None = None) -> str:
    style = f' style="--pw-run:{markup.run_css_color(color)}"' if color is not None else ""
    return f"<dt>{markup.text(title)}</dt><dd{style}><span>{value}</span>{strip_html}</dd>"

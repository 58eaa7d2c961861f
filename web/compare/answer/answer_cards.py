"""The answers of the Compare page: one card an arm, with how much, because of what, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from analysis.comparison.compare import Comparison
from analysis.comparison.replicates import Ratio
from web import markup
from web.compare.answer.dots import relative_values, span_of, strip
from web.compare.answer.sentence import FACTOR_TITLES, detail, left_out_words, sentence
from web.words import Names

Colors = Mapping[str, int]


def answer_cards(answers: Sequence[Comparison], names: Names, colors: Colors) -> str:
    """The ranked ones, the best first, then those of which nothing can be said."""
    span = span_of(answers, [factor for answer in answers for factor in answer.factors])
    return "".join(_card(answer, names, colors, span) for answer in sorted(answers, key=_place))


def _place(answer: Comparison) -> tuple[bool, float]:
    ratio = answer.judgement.ratio if answer.judgement else 1.0
    return not answer.is_ranked, -ratio if answer.pair.objective.terms.higher_is_better else ratio


def _card(answer: Comparison, names: Names, colors: Colors, span: float) -> str:
    color = markup.run_css_color(colors[answer.pair.other.id])
    notes = "".join(f'<p class="pw-muted">{markup.text(words)}</p>' for words in _notes(answer))
    kind = "pw-answer" if answer.is_ranked else "pw-answer pw-refused"
    shown = _strips(answer, colors, span) if answer.is_ranked else ""
    return (
        f'<section class="{kind}" style="--pw-run:{color}">'
        f'<p class="pw-say">{markup.text(sentence(answer, names))}</p>{notes}{shown}</section>'
    )


def _notes(answer: Comparison) -> list[str]:
    left_out = left_out_words(answer) if answer.judgement else None
    return [words for words in (detail(answer), left_out) if words]


def _strips(answer: Comparison, colors: Colors, span: float) -> str:
    """Both arms' starts around the baseline's mean, then the factors whose product the ratio is."""
    judged = answer.judgement
    assert judged
    baseline, other = relative_values(answer)
    rows = [
        _row("baseline", "1", strip(baseline, span, answer.margin, 1.0), colors[answer.pair.baseline.id]),
        _row("this arm", f"{judged.ratio:.2f}×", strip(other, span, answer.margin, judged.ratio, judged.interval)),
    ]
    rows += [_factor(factor, span, answer.margin, "×" if place else "=") for place, factor in enumerate(answer.factors)]
    return f'<dl class="pw-strips">{"".join(rows)}</dl>'


def _factor(factor: Ratio, span: float, margin: float, sign: str) -> str:
    title = f"{sign} {FACTOR_TITLES[factor.name]}"
    return _row(title, f"{factor.ratio:.2f}×", strip([], span, margin, factor.ratio, factor.interval))


def _row(title: str, value: str, drawn: str, color: int | None = None) -> str:
    style = f' style="--pw-run:{markup.run_css_color(color)}"' if color is not None else ""
    return f"<dt>{markup.text(title)}</dt><dd{style}><span>{value}</span>{drawn}</dd>"

"""The answer of the Compare page: a card for each pair that may be ranked, and one list of what may not, with why."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.compare import Verdict
from reports.run_report import RunReport
from web import markup
from web.compare.sentence import detail, sentence
from web.words import Names, why_not_ranked

SMALLEST_SPAN = math.log(1.25)  # so that a few per cent look like a few per cent


def verdicts(baseline: RunReport, others: Sequence[RunReport], answers: Sequence[Verdict]) -> str:
    """The ranked ones, the fastest first, then what is not ranked; `answers` in the order of `others`."""
    names = {report.run.id: report.run.name for report in (baseline, *others)}
    pairs = list(zip(others, answers, strict=True))
    ranked = sorted((one for one in pairs if one[1].ranked), key=lambda one: -(one[1].ratio or 0.0))
    span = max([SMALLEST_SPAN, *(abs(math.log(ratio)) for _, answer in ranked for _, ratio in _terms(answer))])
    cards = "".join(_card(report, answer, names, span) for report, answer in ranked)
    return cards + _not_ranked(baseline, [one for one in pairs if not one[1].ranked], names)


def _terms(answer: Verdict) -> list[tuple[str, float]]:
    """The ratio and the factors whose product it is, as far as they are known."""
    named = [
        ("decode tok/s", answer.ratio),
        ("= tokens per step" if answer.steps_ratio else "tokens per step", answer.tokens_ratio),
        ("× steps/s", answer.steps_ratio),
    ]
    return [(name, ratio) for name, ratio in named if ratio]


def _card(report: RunReport, answer: Verdict, names: Names, span: float) -> str:
    bars = "".join(_bar(name, ratio, span) for name, ratio in _terms(answer))
    return (
        f'<section class="pw-verdict" style="--pw-run:{markup.run_css_color(report.run.color)}">'
        f'<div><p class="pw-say">{markup.text(sentence(answer, names))}</p>'
        f'<p class="pw-muted">{markup.text(detail(answer))}</p></div><dl class="pw-factors">{bars}</dl></section>'
    )


def _bar(name: str, ratio: float, span: float) -> str:
    """A factor as a bar to the right of the middle where it is above 1, on a logarithmic scale: the bars add up."""
    share = 50.0 * math.log(ratio) / span
    place = f"left:{50.0 + min(share, 0.0):.1f}%;width:{max(abs(share), 0.6):.1f}%"
    return (
        f'<dt>{markup.text(name)}</dt><dd>{ratio:.2f}×<span class="pw-track" aria-hidden="true">'
        f'<span class="pw-bar" style="{place}"></span></span></dd>'
    )


def _not_ranked(baseline: RunReport, pairs: Sequence[tuple[RunReport, Verdict]], names: Names) -> str:
    if not pairs:
        return ""
    items = "".join(
        f"<li>{markup.named(report.run.name, report.run.color)}: {markup.text(_reasons(report, answer, names))}.</li>"
        for report, answer in pairs
    )
    title = f"Not ranked against {markup.text(baseline.run.name)}"
    return f'<section class="pw-verdict pw-not-ranked"><p class="pw-say">{title}</p><ul>{items}</ul></section>'


def _reasons(report: RunReport, answer: Verdict, names: Names) -> str:
    return "; ".join(why_not_ranked(reason, names, stands_beside=report.run.id) for reason in answer.reasons)

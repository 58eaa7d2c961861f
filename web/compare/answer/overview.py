"""The answer over all arms in one sentence, and one strip chart of all arms on a labelled scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from analysis.compare_arms import ArmComparison
from analysis.verdict import Judgement, VerdictAnswer, format_margin
from web import markup
from web.compare.answer.dots import position_percent, relative_values, strip
from web.compare.answer.sentence import listed
from web.distinctive_names import distinctive_names

TICKS = (0.1, 0.2, 0.33, 0.5, 0.67, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
TICK_DISTANCE_PERCENT = 7.0  # of the strip's width: nearer labels would overlap
PHONE_TICK_DISTANCE_PERCENT = 20.0
MINOR = ' class="pw-minor"'  # not shown on a phone
Colors = Mapping[str, int]


def has_overview(answers: Sequence[ArmComparison]) -> bool:
    """Whether a sentence over all arms says more than the answers: there are several, and one at least is ranked."""
    return len(answers) > 1 and any(answer.is_ranked for answer in answers)


def overview_sentence(answers: Sequence[ArmComparison]) -> str:
    """Return what is known of all arms against the baseline, the best first: 'B is 1.35× as fast as A; C: ...'."""
    ordered = sorted(answers, key=order_of_answers)
    better = [answer for answer in ordered if _is_better(answer)]
    # The largest ratio seen may belong to an arm of which nothing is known yet.
    best = next((answer for answer in better if _verdict(answer) is VerdictAnswer.BETTER), next(iter(better), None))
    if best is None:
        return f"{_lead_of_baseline(ordered, answers[0].pair.baseline.name)}: {_phrases(ordered)}."
    other_answers = [answer for answer in ordered if answer is not best]
    return f"{_claim(best)}; {_phrases(other_answers)}." if other_answers else f"{_claim(best)}."


def order_of_answers(answer: ArmComparison) -> tuple[bool, float]:
    """Return the sort key of an answer: ranked ones first, the best of them first."""
    ratio = answer.judgement.ratio if answer.judgement else 1.0
    return not answer.is_ranked, -ratio if answer.pair.objective.terms.higher_is_better else ratio


def _verdict(answer: ArmComparison) -> VerdictAnswer | None:
    return answer.judgement.answer if answer.is_ranked and answer.judgement else None


def _is_better(answer: ArmComparison) -> bool:
    """Whether an arm is claimed to be better than the baseline, by a certain amount or not."""
    return _verdict(answer) is VerdictAnswer.BETTER or (
        _verdict(answer) is VerdictAnswer.DIFFERENT and _is_good_ratio(answer)
    )


def _is_good_ratio(answer: ArmComparison) -> bool:
    ratio = answer.judgement.ratio if answer.judgement else 1.0
    return (ratio > 1) == answer.pair.objective.terms.higher_is_better


def _claim(answer: ArmComparison) -> str:
    objective, baseline, arm = answer.pair.objective, answer.pair.baseline.name, answer.pair.contender.name
    judgement = answer.judgement
    assert judgement
    if judgement.answer is VerdictAnswer.DIFFERENT:
        return f"{arm} is better than {baseline} in {objective.title}, by an uncertain amount{_interval(judgement)}"
    if objective.is_output_speed:
        return f"{arm} is {judgement.ratio:.2f}× as fast as {baseline}{_interval(judgement)}"
    claim = f"The {objective.title} of {arm} is {judgement.ratio:.2f}× that of {baseline}"
    return f"{claim}{_interval(judgement)}, which is better"


def _interval(judgement: Judgement) -> str:
    return f" ({judgement.interval[0]:.2f}× to {judgement.interval[1]:.2f}×)" if judgement.interval else ""


def _lead_of_baseline(answers: Sequence[ArmComparison], baseline: str) -> str:
    verdicts = {_verdict(answer) for answer in answers}  # none of them is better
    title = answers[0].pair.objective.title
    if verdicts <= {VerdictAnswer.WORSE, VerdictAnswer.DIFFERENT}:
        if answers[0].pair.objective.is_output_speed:
            return f"{baseline} is the fastest of these {len(answers) + 1} arms"
        return f"{baseline} is the best of these {len(answers) + 1} arms in {title}"
    if verdicts <= {VerdictAnswer.WORSE, VerdictAnswer.DIFFERENT, VerdictAnswer.SAME}:
        return f"No arm is better than {baseline} in {title}"
    if verdicts == {None}:
        return f"No arm is ranked against {baseline}"
    return f"No arm is known to be better than {baseline} in {title}"


def _phrases(answers: Sequence[ArmComparison]) -> str:
    """'B 0.74× (0.64× to 0.85×); C and D: not known yet': arms of which the same is said are named together."""
    arms_by_phrase: dict[str, list[str]] = {}
    for answer in answers:
        arms_by_phrase.setdefault(_phrase(answer), []).append(answer.pair.contender.name)
    return "; ".join(f"{listed(arms)}: {phrase}" for phrase, arms in arms_by_phrase.items())


def _phrase(answer: ArmComparison) -> str:
    judgement = answer.judgement
    if answer.refused:
        return "not ranked"
    if judgement is None:
        return "no value"
    match judgement.answer:
        case VerdictAnswer.BETTER | VerdictAnswer.WORSE:
            return f"{judgement.ratio:.2f}×{_interval(judgement)}"
        case VerdictAnswer.SAME:
            return f"the same within {format_margin(answer.margin)}"
        case VerdictAnswer.DIFFERENT:
            return f"{'better' if _is_good_ratio(answer) else 'worse'}, by an uncertain amount{_interval(judgement)}"
        case VerdictAnswer.SEEN_ONCE:
            return f"{judgement.ratio:.2f}× seen, too few starts to claim it"
        case _:
            return "not known yet"


def arm_strips(answers: Sequence[ArmComparison], colors: Colors, span: float) -> str:
    """Return the strip chart of all ranked arms, the baseline first, with its scale and key; '' if none is ranked."""
    ranked = [answer for answer in sorted(answers, key=order_of_answers) if answer.is_ranked and answer.judgement]
    if not ranked:
        return ""
    margin, baseline = ranked[0].margin, ranked[0].pair.baseline
    own_values, _ = relative_values(ranked[0])
    # The arms' common beginning stands in the sentence above.
    title, *titles = distinctive_names([baseline.name, *(answer.pair.contender.name for answer in ranked)])
    rows = [strip_row(title, "1", strip(own_values, span, margin, 1.0), colors[baseline.id])]
    for answer, title in zip(ranked, titles, strict=True):
        judgement, (_, values) = answer.judgement, relative_values(answer)
        assert judgement
        strip_markup = strip(values, span, margin, judgement.ratio, judgement.interval)
        rows.append(strip_row(title, f"{judgement.ratio:.2f}×", strip_markup, colors[answer.pair.contender.id]))
    return f'<dl class="pw-strips pw-arm-strips">{"".join(rows)}{_scale(span)}</dl>{_key(margin)}'


def strip_row(title: str, value: str, strip_html: str, color: int | None = None) -> str:
    """Return a row of a list of strips; color: index of the arm's colour, default: that of the section."""
    style = f' style="--pw-run:{markup.run_css_color(color)}"' if color is not None else ""
    return f"<dt>{markup.text(title)}</dt><dd{style}><span>{value}</span>{strip_html}</dd>"


def ticks_of(span: float, distance_percent: float = TICK_DISTANCE_PERCENT) -> list[float]:
    """Return the labelled ratios of a scale from 1/e^span to e^span: 1, and others that are far enough apart."""
    ticks: list[float] = []
    for tick in sorted(TICKS, key=lambda ratio: abs(math.log(ratio))):
        places = [position_percent(other_tick, span) for other_tick in ticks]
        place = position_percent(tick, span)
        if abs(math.log(tick)) <= span and all(abs(place - other) >= distance_percent for other in places):
            ticks.append(tick)
    return sorted(ticks)


def _scale(span: float) -> str:
    main_ticks = ticks_of(span, PHONE_TICK_DISTANCE_PERCENT)
    labels = "".join(
        f'<span{"" if tick in main_ticks else MINOR} style="left:{position_percent(tick, span):.2f}%">{tick:g}×</span>'
        for tick in ticks_of(span)
    )
    return f'<dt></dt><dd aria-hidden="true"><span></span><span class="pw-scale">{labels}</span></dd>'


def _key(margin: float) -> str:
    band = f' · <span class="pw-key-band"></span> within {format_margin(margin)}' if margin else ""
    return (
        '<p class="pw-muted pw-key"><span class="pw-key-dot"></span> one start · <span class="pw-key-mean"></span> mean'
        f' · <span class="pw-key-interval"></span> 95 % interval{band}</p>'
    )

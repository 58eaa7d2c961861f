"""The table of rankings: the best arm by each viewpoint, its lead, ties, and arms that are unknown or not ranked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.decide.rank import RankCandidate, Ranking, RankingOutcome
from web import markup
from web.compare.answer.guard_words import TITLES
from web.theme import DASH, three_digits
from web.words import reason_text

HEAD = ("Viewpoint", "Best", "Value", "Runner-up", "Best over runner-up", "Not ranked")
TIE = "tie"
ABOUT = (
    "Each viewpoint is ranked separately: an arm is best if its starts set it apart from every other arm; otherwise it "
    "is a tie. Watched and imported runs are listed but not ranked. The more viewpoints are looked at, the likelier "
    "one differs by chance: decide by the one that was chosen before the measurement, and take the others as leads."
)


class ViewpointLine(NamedTuple):
    """One viewpoint's row, in the columns of HEAD."""

    title: str
    best: str
    value: str
    runner_up: str
    margin: str
    unranked: str
    meaning: str


def viewpoint_lines(rankings: Sequence[Ranking], arms: Mapping[str, str]) -> list[ViewpointLine]:
    """Return the rows; viewpoints without any value come last. arms: id -> name."""
    lines = [_line(ranking, arms) for ranking in rankings]
    return sorted(lines, key=lambda line: line.best == DASH)


def viewpoint_table(lines: Sequence[ViewpointLine]) -> str:
    """Return the table as markup; viewpoints without any value are listed in one line below."""
    rows = [
        [markup.hint(line.title, line.meaning), f"<b>{markup.text(line.best)}</b>", *map(markup.text, line[2:6])]
        for line in lines
        if line.best != DASH
    ]
    unknown = "; ".join(f"{line.title} ({line.unranked})" for line in lines if line.best == DASH)
    unknown_note = f'<p class="pw-muted">Not known: {markup.text(unknown)}.</p>' if unknown else ""
    return f'<div class="pw-views">{markup.table(HEAD, rows, wraps=True) if rows else ""}{unknown_note}</div>'


def _line(ranking: Ranking, arms: Mapping[str, str]) -> ViewpointLine:
    by_arm = {candidate.arm_id: candidate for candidate in ranking.candidates}
    best, second = by_arm.get(ranking.best or ""), by_arm.get(ranking.runner_up or "")
    value = _value(best, ranking) if best else DASH
    first = (
        ranking.view.title,
        _best(ranking, arms),
        value if ranking.outcome is not RankingOutcome.NOT_RANKED else DASH,
    )
    runner_up = f"{arms[second.arm_id]}, {_value(second, ranking)}" if second else DASH
    return ViewpointLine(
        *first, runner_up, _margin(ranking), "; ".join(_unranked_texts(ranking, arms)), ranking.view.meaning
    )


def _best(ranking: Ranking, arms: Mapping[str, str]) -> str:
    match ranking.outcome:
        case RankingOutcome.BEST:
            return arms[ranking.best or ""]
        case RankingOutcome.TIE:
            return f"{TIE}: {', '.join(arms[arm_id] for arm_id in (ranking.best or '', *ranking.tied))}"
        case RankingOutcome.UNDECIDED:
            names = ", ".join(arms[arm_id] for arm_id in (ranking.best or "", *ranking.tied))
            return f"not known: {names} are neither shown to differ nor to be equal"
        case RankingOutcome.SEEN_ONCE:
            return f"not proven: {arms[ranking.best or '']} was best in one start"
        case RankingOutcome.ALONE:
            return f"only {arms[ranking.best or '']} has a value to rank"
        case RankingOutcome.NOT_RANKED:
            return "not ranked"
        case RankingOutcome.NOT_KNOWN:
            return DASH


def _value(candidate: RankCandidate, ranking: Ranking) -> str:
    return f"{three_digits(candidate.value)} {ranking.view.unit}".strip()


def _margin(ranking: Ranking) -> str:
    """'1.30x (1.25 to 1.36)', or '+2.3 points (+1.7 to +2.9)' for a difference on the same items."""
    if difference := ranking.difference:
        return f"{difference.points:+.1f} points ({difference.low:+.1f} to {difference.high:+.1f})"
    if ranking.ratio is None or ranking.runner_up is None:
        return DASH
    interval = f" ({ranking.interval[0]:.2f} to {ranking.interval[1]:.2f})" if ranking.interval else ""
    return f"{ranking.ratio:.2f}×{interval}"


def _unranked_texts(ranking: Ranking, arms: Mapping[str, str]) -> list[str]:
    """The arms that are not ranked, with their values or reasons; equal reasons are listed once."""
    refused = dict(ranking.refused)
    texts = [
        f"{arms[candidate.arm_id]} ({candidate.label}): {_value(candidate, ranking)}"
        for candidate in ranking.candidates
        if _is_shown(candidate)
    ]
    reasons: dict[str, list[str]] = {}
    for candidate in ranking.candidates:
        if candidate.value is None:
            reasons.setdefault(reason_text(candidate.reason) or "it is not known", []).append(arms[candidate.arm_id])
        elif rows := refused.get(candidate.arm_id):
            reason = f"not ranked, {', '.join(TITLES[row.code] for row in rows)}"
            reasons.setdefault(reason, []).append(f"{arms[candidate.arm_id]} ({_value(candidate, ranking)})")
        elif ranking.outcome is RankingOutcome.NOT_RANKED and not _is_shown(candidate):
            texts.append(f"{arms[candidate.arm_id]}: {_value(candidate, ranking)}")  # the baseline, which none refuses
    candidate_count = len(ranking.candidates)
    return texts + [
        f"{'all' if len(arm_names) == candidate_count else ', '.join(arm_names)}: {text}"
        for text, arm_names in reasons.items()
    ]


def _is_shown(candidate: RankCandidate) -> bool:
    return candidate.label is not None and candidate.value is not None

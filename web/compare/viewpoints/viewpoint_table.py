"""The arms from every viewpoint: who is best, by how much, what ties, and what is not known or not ranked, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from analysis.decide.rank import Candidate, Outcome, Ranking
from web import markup
from web.compare.answer.guard_words import TITLES
from web.theme import DASH, three_digits
from web.words import why

HEAD = ("Viewpoint", "Best", "Value", "Runner-up", "Best over runner-up", "Beside it")
TIE = "tie"


class Line(NamedTuple):
    """One viewpoint in words, under HEAD."""

    title: str
    best: str
    value: str
    runner_up: str
    margin: str
    beside: str
    meaning: str


def viewpoint_lines(rankings: Sequence[Ranking], arms: Mapping[str, str]) -> list[Line]:
    """`arms`: id -> name. Viewpoints of which nobody knows anything come last."""
    lines = [_line(one, arms) for one in rankings]
    return sorted(lines, key=lambda line: line.best == DASH)


def viewpoint_table(lines: Sequence[Line]) -> str:
    """As markup; what nobody knows is named in one line below."""
    rows = [
        [markup.hint(line.title, line.meaning), f"<b>{markup.text(line.best)}</b>", *map(markup.text, line[2:6])]
        for line in lines
        if line.best != DASH
    ]
    unknown = "; ".join(f"{line.title} ({line.beside})" for line in lines if line.best == DASH)
    rest = f'<p class="pw-muted">Not known: {markup.text(unknown)}.</p>' if unknown else ""
    return f'<div class="pw-views">{markup.table(HEAD, rows, wraps=True) if rows else ""}{rest}</div>'


def _line(ranking: Ranking, arms: Mapping[str, str]) -> Line:
    of = {one.arm_id: one for one in ranking.candidates}
    best, second = of.get(ranking.best or ""), of.get(ranking.runner_up or "")
    value = _value(best, ranking) if best else DASH
    first = (ranking.view.title, _best(ranking, arms), value if ranking.outcome is not Outcome.NOT_RANKED else DASH)
    runner_up = f"{arms[second.arm_id]}, {_value(second, ranking)}" if second else DASH
    return Line(*first, runner_up, _margin(ranking), "; ".join(_beside(ranking, arms)), ranking.view.meaning)


def _best(ranking: Ranking, arms: Mapping[str, str]) -> str:
    match ranking.outcome:
        case Outcome.BEST:
            return arms[ranking.best or ""]
        case Outcome.TIE:
            return f"{TIE}: {', '.join(arms[one] for one in (ranking.best or '', *ranking.tied))}"
        case Outcome.SEEN_ONCE:
            return f"not shown: {arms[ranking.best or '']} was seen best"
        case Outcome.ALONE:
            return f"only {arms[ranking.best or '']} has a value to rank"
        case Outcome.NOT_RANKED:
            return "not ranked"
        case Outcome.NOT_KNOWN:
            return DASH


def _value(candidate: Candidate, ranking: Ranking) -> str:
    return f"{three_digits(candidate.value)} {ranking.view.unit}".strip()


def _margin(ranking: Ranking) -> str:
    """'1.30x (1.25 to 1.36)'."""
    if ranking.ratio is None or ranking.runner_up is None:
        return DASH
    between = f" ({ranking.interval[0]:.2f} to {ranking.interval[1]:.2f})" if ranking.interval else ""
    return f"{ranking.ratio:.2f}×{between}"


def _beside(ranking: Ranking, arms: Mapping[str, str]) -> list[str]:
    """The arms that are not ranked, with their values or the reasons; equal reasons are shown once."""
    refused = dict(ranking.refused)
    said = [f"{arms[one.arm_id]} ({one.label}): {_value(one, ranking)}" for one in ranking.candidates if _shown(one)]
    reasons: dict[str, list[str]] = {}
    for one in ranking.candidates:
        if one.value is None:
            reasons.setdefault(why(one.reason) or "it is not known", []).append(arms[one.arm_id])
        elif rows := refused.get(one.arm_id):
            words = f"not ranked, {', '.join(TITLES[row.code] for row in rows)}"
            reasons.setdefault(words, []).append(f"{arms[one.arm_id]} ({_value(one, ranking)})")
    everybody = len(ranking.candidates)
    return said + [f"{'all' if len(who) == everybody else ', '.join(who)}: {what}" for what, who in reasons.items()]


def _shown(one: Candidate) -> bool:
    return one.label is not None and one.value is not None

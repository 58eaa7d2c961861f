"""How a study stands, in words and as the rows of its table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from analysis.evidence.objectives import UnknownObjectiveError, parse_objective
from analysis.study import ArmState
from commands.study_file import ACCURACY, USERS_HELD, StudyPlan
from domain import Run, Study
from web import markup
from web.compare.answer.dots import SMALLEST_SPAN, strip
from web.theme import DASH, duration, times

QUESTIONS = {
    "which": "Which of these is best?",
    "value": "Which value of this setting is best?",
    "load": "How many users does each hold?",
    "upgrade": "Did this upgrade change anything?",
    "measure": "What does it do?",
}
OBJECTIVES = {"": "what the workload is for", USERS_HELD: "the users held", ACCURACY: "the share of right answers"}
HEADS = {
    "winner": "{winner} is best.",
    "same": "They are the same: what is left of a difference does not matter.",
    "unknown": "Not known yet.",
    "failed": "It failed.",
    "measured": "It is measured.",
}
STATES = {
    ArmState.RACING: ("racing", "it starts in the next round"),
    ArmState.RESTING: ("rests", "it cannot beat the leader by the margin any more, and is not proven slower"),
    ArmState.OUT: ("out", "it is slower than the leader"),
    ArmState.PREDICTED: ("predicted", "it does not start: other arms' runs show that it cannot be best"),
    ArmState.TRIED: (
        "tried",
        "it started once, and was not among the best combinations; that it is slower is not proven",
    ),
    ArmState.FAILED: ("failed", "its server does not start, or gives no value"),
}
ENDED = {  # of an arm that was in to the end, by the answer
    "winner": ("best", "every other arm that raced is slower"),
    "same": ("the same", "what is left of a difference to the others so marked does not matter"),
    "unknown": ("not decided", "it may be best: nothing has shown it to be slower"),
    "failed": ("not decided", "nothing has shown it to be slower"),
}
HEADERS = ["Arm", "State", "Starts", "To the first", "Interval", "Its starts"]
VERSIONS = ["Engine version", "Starts", "Mean", "95 % interval", "First start"]
ALONE = ["Arm", "State", "Starts", "Mean", "Interval", "Its starts"]  # of the question 'measure'


def headers(plan: StudyPlan) -> list[str]:
    """The heads of the table of arms: 'measure' has means, any other question ratios to the first arm."""
    return ALONE if plan.question == "measure" else HEADERS


def head(study: Study) -> str:
    """What is known of its answer, in a sentence."""
    answer = study.answer or {}
    winners = {one["winner"]: one["workload"] for one in answer.get("workloads", []) if one["winner"]}
    if study.state == "ended" and len(winners) > 1:
        return f"It depends: {', '.join(f'{winner} is best under {load}' for winner, load in winners.items())}."
    if study.state == "ended":
        return HEADS[str(answer.get("answer"))].format(winner=answer.get("winner"))
    leader = answer.get("leader")
    words = f"{leader} leads" if leader else "the first rounds go on"
    return f"Not known yet: {words}." if study.state == "running" else f"Paused: {words}."


def about(study: Study, plan: StudyPlan, starts: int) -> str:
    """What it asks, by what, and what it has cost."""
    ended = study.updated_at if study.state == "ended" else datetime.now(UTC)
    objective = (with_unit if study.question == "measure" else compared_by)(study.answer or {})
    under = "" if plan.more_workloads and study.answer else f", under {plan.workload_names}"
    budget = f"{starts} of at most {plan.budget.runs} starts"
    lasted = duration((ended - study.created_at).total_seconds())
    by = f"{QUESTIONS[study.question]} By {objective}{under}"
    matters = "" if study.question == "measure" else f"; differences below {plan.margin:.1%} do not matter"
    return f"{by}{matters}. {budget}, {f'it took {lasted}' if study.state == 'ended' else f'{lasted} so far'}."


def compared_by(answer: Mapping[str, Any]) -> str:
    """The objective in words: 'time to first token, 2 at once'; under several workloads that of each."""
    if "workloads" in answer:
        return ", ".join(
            f"{compared_by({'objective': one.get('objective')})} under {one['workload']}" for one in answer["workloads"]
        )
    name = str(answer.get("objective") or "")
    if name in OBJECTIVES:
        return OBJECTIVES[name]
    try:
        return parse_objective(name).title
    except UnknownObjectiveError:
        return name  # as a newer Pitwall calls it


def with_unit(answer: Mapping[str, Any]) -> str:
    """The objective in words for numbers of its own: 'decode speed of a stream (tok/s)'."""
    try:
        unit = f" ({parse_objective(str(answer.get('objective'))).terms.unit})"
    except UnknownObjectiveError:
        unit = ""
    return compared_by(answer) + unit


def outlook(study: Study, runs: Sequence[Run]) -> str:
    """When it will probably end: server starts that are left, times what one took; or why that is not known."""
    lasted = [(r.ended_at - r.started_at).total_seconds() for r in runs if r.ended_at and r.started_at]
    left = (study.answer or {}).get("starts_left")
    if not lasted or not left:
        return "When it ends is not known yet: no start has ended."
    since = sum(run.state.is_final for run in runs) - int((study.answer or {}).get("runs") or 0)
    low, high = (max(1, count - since) for count in left)
    each_s = median(lasted)
    starts = f"{low} to {high} starts" if low < high else f"{high} start{'s' * (high > 1)}"
    between = " to ".join(dict.fromkeys(_about(each_s * count) for count in (low, high)))
    return f"It will probably end in {between}: {starts} of {_about(each_s)} each, if the arms stay as they are."


def why_next(plan: StudyPlan, answer: Mapping[str, Any]) -> str:
    """Why the servers that run or wait are started next."""
    answers = answer.get("workloads") or [answer]
    arms = [arm for one in answers for arm in one.get("arms") or [] if one.get("answer") is None]
    if plan.question == "measure":
        return f"Why: the one arm starts {plan.budget.rounds} times."
    if any(arm["state"] == ArmState.TRIED for arm in arms):
        return "Why: each combination that Optuna proposes starts once; then the best race."
    if not any(one.get("leader") for one in answers):
        first = ", those first whose runs say most of the other values" if plan.vary and not plan.is_proposed else ""
        return f"Why: nothing is said before each arm that is in has started twice{first}."
    if unranked := [pair for one in answers if one.get("answer") is None for pair in one.get("unranked") or []]:
        pairs = ", ".join(" and ".join(pair["arms"]) for pair in unranked)
        return f"Why: by their starts so far these may not be ranked, and further starts may be told apart: {pairs}."
    racing = list(dict.fromkeys(arm["name"] for arm in arms if arm["state"] == ArmState.RACING))
    if len(racing) > 1:
        return f"Why: {', '.join(racing)} may each still be best by {plan.margin:.1%} or more."
    return "Why: no other arm can be better by a difference that matters; whether they are slower is still to be shown."


def _about(seconds: float) -> str:
    """'45 s', '12 min', '2.5 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def parts(answer: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """A head and the arms for each table: one without a head, or one a workload."""
    if "workloads" not in answer:
        return [("", _with_state(answer))]
    return [(f"Under {one['workload']}: {_part_head(one)}", _with_state(one)) for one in answer["workloads"]]


def _with_state(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Its arms, each with its state in a word and what that means; nobody races any more where there is an answer."""
    return [{**one, "said": state_words(answer, one)} for one in answer.get("arms") or []]


def state_words(answer: Mapping[str, Any], arm: Mapping[str, Any]) -> tuple[str, str]:
    """'out' and what it means; of an arm that was in to the end, what came out."""
    state = ArmState(arm["state"])
    is_in = state in (ArmState.RACING, ArmState.RESTING)
    return ENDED.get(str(answer.get("answer")), STATES[state]) if is_in else STATES[state]


def _part_head(one: Mapping[str, Any]) -> str:
    if one["answer"] == "measured":
        return f"by {one['objective']}."
    if one["answer"] is None:
        return "not known yet."
    words: str = HEADS[one["answer"]].format(winner=one["winner"])
    return words[0].lower() + words[1:] if one["answer"] != "winner" else words


def utc_day(at: datetime) -> str:
    """'24 Nov 2026' in UTC."""
    return f"{at.astimezone(UTC):%d %b %Y}"


def version_rows(answer: Mapping[str, Any], day: Callable[[datetime], str] = utc_day) -> list[list[str]]:
    """A row for each engine version that ran the configuration of an upgrade here, in words under VERSIONS."""
    return [
        [
            one["version"] or "not known",
            str(one["starts"]),
            *_between(one["mean"], one["interval"]),
            day(datetime.fromisoformat(one["first_at"])) if one["first_at"] else DASH,
        ]
        for one in answer.get("versions") or []
    ]


def rows(plan: StudyPlan, arms: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Markup of each arm of `parts`, under HEADERS."""
    base = next((one for one in arms if one["ratio"] is not None), None)
    return [_row(plan, one, base) for one in arms]


def plain_row(arm: Mapping[str, Any]) -> list[str]:
    """An arm of `parts` in words, under the first five of HEADERS."""
    low, high = arm["interval"] or (1.0, 1.0)
    between = f"{times(low)} to {times(high)}" if low != high else DASH
    ratio = times(arm["ratio"]) if arm["ratio"] is not None else DASH
    if "mean" in arm:  # nobody runs against it
        word = "failed" if arm["state"] == ArmState.FAILED else "measured"
        return [arm["name"], word, str(arm["runs"]), *_mean(arm)]
    if arm["state"] == ArmState.PREDICTED:
        ratio, between = predicted_ratio(arm["predicted"] or {}), "not measured"
    return [arm["name"], arm["said"][0], str(arm["runs"]), ratio, between]


def _mean(arm: Mapping[str, Any]) -> tuple[str, str]:
    """The mean of one arm and its interval, in the objective's unit."""
    return _between(arm["mean"], arm["mean_interval"])


def _between(mean: float | None, interval: Sequence[float] | None) -> tuple[str, str]:
    """'99.99' and '95.14 to 105.1'; a dash for what is not known."""
    words = DASH if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}"
    return DASH if mean is None else f"{mean:.4g}", words


def predicted_ratio(predicted: Mapping[str, Any]) -> str:
    """'predicted 0.9x to 1.2x', 'does not fit'."""
    if predicted.get("requests") is not None:
        return "does not fit"
    low, high = predicted.get("ratio") or (None, None)
    if high is None:
        return DASH
    between = f"at most {times(high)}" if low is None else f"{times(low)} to {times(high)}"
    return f"predicted {between}"


def _row(plan: StudyPlan, arm: Mapping[str, Any], base: Mapping[str, Any] | None) -> list[str]:
    name, word, *shown = plain_row(arm)
    predicted = arm.get("predicted") or {}
    meaning = arm["said"][1] if arm["state"] != ArmState.PREDICTED else predicted.get("why", "")
    dots = ""
    if base and base["values"] and arm["values"] and arm["interval"]:
        mean = sum(base["values"]) / len(base["values"])
        dots = strip(
            [v / mean for v in arm["values"]], SMALLEST_SPAN * 5, plan.margin, arm["ratio"], tuple(arm["interval"])
        )
    return [markup.text(name), markup.hint(word, arm["cause"] or meaning), *map(markup.text, shown), dots]

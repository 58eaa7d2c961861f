"""The texts and table rows that describe the state of a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Any

from analysis.evidence.objectives import UnknownObjectiveError, parse_objective
from analysis.study import ArmState
from commands.study_file import ACCURACY, SOLVED, USERS_HELD, StudyPlan
from domain import Run, Study
from web import markup
from web.compare.answer.dots import SMALLEST_SPAN, strip
from web.theme import DASH, duration, format_ratio

QUESTIONS = {
    "which": "Which of these is best?",
    "value": "Which value of this setting is best?",
    "load": "How many users does each hold?",
    "upgrade": "Did this upgrade change anything?",
    "measure": "How does it perform?",
}
OBJECTIVES = {
    "": "the workload's own objective",
    USERS_HELD: "the number of users held",
    ACCURACY: "the share of correct answers",
    SOLVED: "the share of solved tasks",
}
HEADS = {
    "winner": "{winner} is best.",
    "same": "They are equivalent: any remaining difference is too small to matter.",
    "unknown": "Not known yet.",
    "failed": "It failed.",
    "measured": "The measurement is complete.",
}
STATES = {
    ArmState.RACING: ("in progress", "it starts in the next round"),
    ArmState.RESTING: ("resting", "it can no longer beat the leader by the margin, but is not proven slower"),
    ArmState.OUT: ("out", "it is worse than the leader"),
    ArmState.PREDICTED: ("predicted", "it is not started: other arms' runs show that it cannot be best"),
    ArmState.TRIED: (
        "tried",
        "it started once and was not among the best combinations; it is not proven slower",
    ),
    ArmState.FAILED: ("failed", "its server does not start, or it has no value"),
}
FINAL_STATES = {  # by the answer, for an arm that stayed in to the end
    "winner": ("best", "every other arm that raced is worse"),
    "same": ("the same", "any remaining difference from the others with this mark is too small to matter"),
    "unknown": ("not decided", "it may be best: nothing has shown it to be slower"),
    "failed": ("not decided", "nothing has shown it to be slower"),
}
HEADERS = ["Arm", "State", "Starts", "Mean", "Ratio to first arm", "Interval", "Each start"]
VERSIONS = ["Engine version", "Starts", "Mean", "95 % interval", "First start"]
MEASURE_HEADERS = ["Arm", "State", "Starts", "Mean", "Interval", "Each start"]  # for the question 'measure'


def headers(plan: StudyPlan) -> list[str]:
    """Return the headers of the table of arms: means for 'measure', else ratios to the first arm."""
    return MEASURE_HEADERS if plan.question == "measure" else HEADERS


def headline(study: Study) -> str:
    """Return the known part of the study's answer in a sentence."""
    answer = study.answer or {}
    winners = {part["winner"]: part["workload"] for part in answer.get("workloads", []) if part["winner"]}
    if study.state == "ended" and len(winners) > 1:
        return f"It depends: {', '.join(f'{winner} is best under {load}' for winner, load in winners.items())}."
    if study.state == "ended":
        return HEADS[str(answer.get("answer"))].format(winner=answer.get("winner"))
    leader = answer.get("leader")
    text = f"{leader} leads" if leader else "the first rounds are running"
    return f"Not known yet: {text}." if study.state == "running" else f"Paused: {text}."


def describe_study(study: Study, plan: StudyPlan, starts: int) -> str:
    """Return the study's question, objective and cost; `starts`: the servers that have started."""
    ended = study.updated_at if study.state == "ended" else datetime.now(UTC)
    objective = objective_with_unit(study.answer or {})
    under = "" if plan.more_workloads and study.answer else f", under {plan.workload_names}"
    budget = f"{starts} of at most {plan.budget.runs} starts"
    lasted = duration((ended - study.created_at).total_seconds())
    prices = f" at {plan.prices.stated_prices.text}" if plan.prices and plan.prices.stated_prices else ""
    by = f"{QUESTIONS[study.question]} By {objective}{prices}{under}"
    matters = "" if study.question == "measure" else f"; differences below {100 * plan.margin:.1f} % do not matter"
    return f"{by}{matters}. {budget}, {f'{lasted} in total' if study.state == 'ended' else f'{lasted} so far'}."


def objective_with_unit(answer: Mapping[str, Any]) -> str:
    """Return the objective, or that of each workload, with its unit: 'time to first token, 2 at once (ms)'."""
    if "workloads" in answer:
        return ", ".join(f"{objective_with_unit(part)} under {part['workload']}" for part in answer["workloads"])
    name = str(answer.get("objective") or "")
    if name in OBJECTIVES:
        return OBJECTIVES[name]
    try:
        objective = parse_objective(name)
    except UnknownObjectiveError:
        return name  # known only to a newer Pitwall
    return f"{objective.title} ({answer.get('currency') or objective.terms.unit})"


def expected_end(study: Study, runs: Sequence[Run], earlier_start_s: float | None = None) -> str:
    """Return the expected end, the remaining starts times the duration of one, or why it is unknown.

    earlier_start_s: the duration of a start by runs before the study, for as long as none of its own has ended.
    """
    lasted = [(r.ended_at - r.started_at).total_seconds() for r in runs if r.ended_at and r.started_at]
    starts_left = (study.answer or {}).get("starts_left")
    each_s = median(lasted) if lasted else earlier_start_s
    if not each_s or not starts_left:
        return "The end is not known yet: no start has finished."
    ended_since = sum(run.state.is_final for run in runs) - int((study.answer or {}).get("runs") or 0)
    low, high = (max(1, count - ended_since) for count in starts_left)
    starts = f"{low} to {high} starts" if low < high else f"{high} start{'s' * (high > 1)}"
    between = " to ".join(dict.fromkeys(rough_duration(each_s * count) for count in (low, high)))
    by = "" if lasted else " by earlier runs"
    return (
        f"It will probably end in {between}: {starts} of {rough_duration(each_s)} each{by}, if the arms stay as they "
        "are."
    )


def why_next(plan: StudyPlan, answer: Mapping[str, Any]) -> str:
    """Return why the running or queued servers are started next."""
    answers = answer.get("workloads") or [answer]
    arms = [arm for part in answers for arm in part.get("arms") or [] if part.get("answer") is None]
    if plan.question == "measure":
        return f"Why: the only arm starts {plan.budget.rounds} times."
    if any(arm["state"] == ArmState.TRIED for arm in arms):
        return "Why: each combination that Optuna proposes starts once; then the best ones race."
    if not any(part.get("leader") for part in answers):
        order = " The values whose runs tell most about the others start first."
        return f"An answer needs two starts of each arm.{order if plan.vary and not plan.is_proposed else ''}"
    if unranked := [pair for part in answers if part.get("answer") is None for pair in part.get("unranked") or []]:
        pairs = ", ".join(" and ".join(pair["arms"]) for pair in unranked)
        return f"Why: these cannot be ranked by their starts so far, but further starts may allow it: {pairs}."
    racing = list(dict.fromkeys(arm["name"] for arm in arms if arm["state"] == ArmState.RACING))
    if len(racing) > 1:
        return f"Why: {', '.join(racing)} may each still be best by {100 * plan.margin:.1f} % or more."
    return "Why: no other arm can be better by a margin that matters; it remains to be shown whether they are slower."


def rough_duration(seconds: float) -> str:
    """Return a duration such as '45 s', '12 min' or '2.5 h'."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"


def answer_tables(answer: Mapping[str, Any]) -> list[tuple[str, Sequence[Mapping[str, Any]]]]:
    """Return heading and arms of each table: one table without a heading, or one per workload."""
    if "workloads" not in answer:
        return [("", _with_state(answer))]
    return [(f"Under {part['workload']}: {_part_head(part)}", _with_state(part)) for part in answer["workloads"]]


def _with_state(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the arms, each with its state's label and meaning under 'said'; once there is an answer, none races."""
    is_higher_better = is_higher_objective_better(str(answer.get("objective") or ""))
    return [
        {**arm, "said": state_label(answer, arm), "is_higher_better": is_higher_better}
        for arm in answer.get("arms") or []
    ]


def is_higher_objective_better(name: str) -> bool:
    """Whether a larger value of this objective is the better one."""
    try:
        return name in OBJECTIVES or parse_objective(name).terms.higher_is_better
    except UnknownObjectiveError:  # known only to a newer Pitwall
        return True


def relative_values(arm: Mapping[str, Any], base: float) -> list[float]:
    """Return an arm's starts over the first arm's mean, as its ratio: more is better."""
    return [value / base if arm["is_higher_better"] else base / value for value in arm["values"] if value > 0]


def state_label(answer: Mapping[str, Any], arm: Mapping[str, Any]) -> tuple[str, str]:
    """Return the label and meaning of an arm's state; for an arm that stayed in to the end, its result."""
    state = ArmState(arm["state"])
    is_in = state in (ArmState.RACING, ArmState.RESTING)
    return FINAL_STATES.get(str(answer.get("answer")), STATES[state]) if is_in else STATES[state]


def _part_head(part: Mapping[str, Any]) -> str:
    if part["answer"] == "measured":
        return f"by {part['objective']}."
    if part["answer"] is None:
        return "not known yet."
    text: str = HEADS[part["answer"]].format(winner=part["winner"])
    return text[0].lower() + text[1:] if part["answer"] != "winner" else text


def utc_day(at: datetime) -> str:
    """Return a date such as '24 Nov 2026' in UTC."""
    return f"{at.astimezone(UTC):%d %b %Y}"


def version_rows(answer: Mapping[str, Any], day: Callable[[datetime], str] = utc_day) -> list[list[str]]:
    """Return a row of texts under VERSIONS for each engine version that ran an upgrade's configuration here."""
    return [
        [
            version["version"] or "not known",
            str(version["starts"]),
            *_between(version["mean"], version["interval"]),
            day(datetime.fromisoformat(version["first_at"])) if version["first_at"] else DASH,
        ]
        for version in answer.get("versions") or []
    ]


def table_rows(plan: StudyPlan, arms: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the markup of each arm of `answer_tables`, under HEADERS."""
    base = next((arm for arm in arms if arm["ratio"] is not None), None)
    return [_row(plan, arm, base) for arm in arms]


def plain_row(arm: Mapping[str, Any]) -> list[str]:
    """Return the texts of an arm of `answer_tables` under all of its headers but the last."""
    low, high = arm["interval"] or (1.0, 1.0)
    between = f"{format_ratio(low)} to {format_ratio(high)}" if low != high else DASH
    ratio = format_ratio(arm["ratio"]) if arm["ratio"] is not None else DASH
    if "mean" in arm:  # no other arm to compare with
        word = "failed" if arm["state"] == ArmState.FAILED else "measured"
        return [arm["name"], word, str(arm["runs"]), *_mean(arm)]
    if arm["state"] == ArmState.PREDICTED:
        ratio, between = predicted_ratio(arm["predicted"] or {}), "not measured"
    if solved := arm.get("solved"):
        return [arm["name"], arm["said"][0], str(arm["runs"]), solved_text(solved), ratio, between]
    mean, mean_between = _between(arm.get("start_mean"), arm.get("start_mean_interval"))
    mean_text = mean if mean_between == DASH else f"{mean} ({mean_between})"
    return [arm["name"], arm["said"][0], str(arm["runs"]), mean_text, ratio, between]


def solved_text(solved: Mapping[str, Any]) -> str:
    """Return '9 of 10 (60 % to 98 %)'."""
    low, high = solved["interval"]
    return f"{solved['count']} of {solved['n']} ({100 * low:.0f} % to {100 * high:.0f} %)"


def _mean(arm: Mapping[str, Any]) -> tuple[str, str]:
    """Return the mean of one arm and its interval, in the objective's unit."""
    return _between(arm["mean"], arm["mean_interval"])


def _between(mean: float | None, interval: Sequence[float] | None) -> tuple[str, str]:
    """Return texts such as '99.99' and '95.14 to 105.1'; a dash for an unknown value."""
    text = DASH if interval is None else f"{interval[0]:.4g} to {interval[1]:.4g}"
    return DASH if mean is None else f"{mean:.4g}", text


def predicted_ratio(predicted: Mapping[str, Any]) -> str:
    """Return a text such as 'predicted 0.9x to 1.2x' or 'does not fit'."""
    if predicted.get("requests") is not None:
        return "does not fit"
    low, high = predicted.get("ratio") or (None, None)
    if high is None:
        return DASH
    between = f"at most {format_ratio(high)}" if low is None else f"{format_ratio(low)} to {format_ratio(high)}"
    return f"predicted {between}"


def _row(plan: StudyPlan, arm: Mapping[str, Any], base: Mapping[str, Any] | None) -> list[str]:
    name, label, *cells = plain_row(arm)
    predicted = arm.get("predicted") or {}
    meaning = arm["said"][1] if arm["state"] != ArmState.PREDICTED else predicted.get("why", "")
    dots = ""
    if base and base["values"] and arm["values"] and arm["interval"]:
        mean = sum(base["values"]) / len(base["values"])
        dots = strip(relative_values(arm, mean), SMALLEST_SPAN * 5, plan.margin, arm["ratio"], tuple(arm["interval"]))
    return [markup.text(name), markup.hint(label, arm["cause"] or meaning), *map(markup.text, cells), dots]

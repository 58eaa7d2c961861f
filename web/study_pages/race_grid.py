"""A study's race as a grid: an arm a row, a round a column; each cell is a server start with its value or state.

Below a value stands the interval of the arm's ratio to the first arm after that round, so that it narrows to the right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.study import ArmState
from analysis.study.interval_history import Interval, interval_history
from commands.study_file import SOLVED, USERS_HELD, StudyPlan
from domain import Run, RunState
from reports.studies.study import STEP_SD
from web import markup
from web.compare.answer.dots import SMALLEST_SPAN, strip
from web.run_colors import in_distinct_colors
from web.study_pages.race_words import is_higher_objective_better
from web.theme import three_digits

OUTSIDE = (ArmState.FAILED, ArmState.PREDICTED, ArmState.TRIED)
MIN_ROUNDS = 2


def race_grid(
    plan: StudyPlan, answer: Mapping[str, Any], arms: Sequence[Mapping[str, Any]], runs: Sequence[Run]
) -> str:
    """Return the grid as markup; '' before the first start. arms: rows of `answer_tables` of this answer."""
    runs_by_arm = {arm.name: _in_rounds(runs, arm.name) for arm in plan.arms}
    rounds = max([MIN_ROUNDS, *map(len, runs_by_arm.values())])
    if not any(runs_by_arm.values()):
        return ""
    colors = colors_of_arms(plan, runs)
    by_name = {arm["name"]: arm for arm in arms}
    intervals = _intervals(plan, answer, by_name)
    span = span_of_intervals([interval for arm_intervals in intervals.values() for interval in arm_intervals])
    rows = []
    for name, arm_runs in runs_by_arm.items():
        arm = by_name.get(name, {})
        values = values_by_run(arm, arm_runs)
        history = iter(intervals.get(name, ()))
        cells = []
        for run in arm_runs:
            interval = next(history, None) if run.id in values else None
            cells.append(_cell(run, values.get(run.id), interval, span, plan.margin))
        label, meaning = arm["said"] if arm else ("", "")
        head = f"{markup.colored_name(name, colors.get(name, 0))}<br><small>{markup.hint(label, meaning)}</small>"
        style = f' style="--pw-run:{markup.run_css_color(colors.get(name, 0))}"'
        empty = "<td></td>" * (rounds - len(cells))
        rows.append(f'<tr{style}><th scope="row">{head}</th>{"".join(cells)}{empty}</tr>')
    return _table(rounds, rows)


def _table(rounds: int, rows: Sequence[str]) -> str:
    heads = "".join(f'<th scope="col">Round {number}</th>' for number in range(1, rounds + 1))
    return (
        '<div class="pw-table-wrap" tabindex="0" role="region" aria-label="Starts of each arm by round">'
        f'<table class="pw-table pw-race"><thead><tr><th scope="col">Arm</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def colors_of_arms(plan: StudyPlan, runs: Sequence[Run]) -> dict[str, int]:
    """Return arm -> colour: that of its first run among those of the other arms, as on Compare."""
    first_runs = {arm.name: arm_runs[0] for arm in plan.arms if (arm_runs := _in_rounds(runs, arm.name))}
    colored = in_distinct_colors(list(first_runs.values()))
    return {name: run.color for name, run in zip(first_runs, colored, strict=True)}


def span_of_intervals(intervals: Sequence[Interval | None]) -> float:
    """Return the span of all strips of a race: e^span is the largest ratio that an interval reaches."""
    ends = [end for interval in intervals if interval for end in interval if 0 < end < math.inf]
    return max([SMALLEST_SPAN, *(abs(math.log(end)) for end in ends)]) * 1.04


def _in_rounds(runs: Sequence[Run], arm: str) -> list[Run]:
    return sorted((run for run in runs if run.arm == arm), key=lambda run: (run.round or 0, run.id))


def values_by_run(arm: Mapping[str, Any], arm_runs: Sequence[Run]) -> dict[str, float]:
    """Return run id -> value of an arm's starts; empty if a start without a value makes the order unknown."""
    judged = arm_runs[: int(arm.get("runs") or 0)]  # later starts are not in the answer yet
    finished = [run for run in judged if run.state is RunState.FINISHED]
    values = arm.get("values") or []
    return {run.id: value for run, value in zip(finished, values, strict=True)} if len(finished) == len(values) else {}


def _intervals(
    plan: StudyPlan, answer: Mapping[str, Any], by_name: Mapping[str, Mapping[str, Any]]
) -> dict[str, list[Interval | None]]:
    """Return arm -> the interval after each of its starts; the last one is the answer's own."""
    objective = str(answer.get("objective") or "")
    # Exploring starts do not count for the race, and shares are judged over all repeats together.
    if plan.is_proposed or plan.question == "measure" or objective == SOLVED:
        return {}
    sign = 1.0 if is_higher_objective_better(objective) else -1.0
    logs = {name: [sign * math.log(value) for value in arm["values"] if value > 0] for name, arm in by_name.items()}
    excluded = [name for name, arm in by_name.items() if arm["state"] in OUTSIDE]
    least_sd = STEP_SD if objective == USERS_HELD else 0.0
    history = interval_history(logs, plan.margin, excluded, least_sd)
    for name, arm in by_name.items():
        if history[name] and arm["interval"]:
            history[name][-1] = (arm["interval"][0], arm["interval"][1])
    first = next(iter(history), None)
    return {name: intervals for name, intervals in history.items() if name != first}


def _cell(run: Run, value: float | None, interval: Interval | None, span: float, margin: float) -> str:
    """Return the cell of a start: its value with the interval so far, or its state."""
    bar = strip([], span, margin, None, interval) if interval else ""
    if value is not None:
        low_high = f"{interval[0]:.3f}x to {interval[1]:.3f}x" if interval else ""
        title = f' title="{low_high} of the first arm after this round"' if interval else ""
        return f"<td{title}>{three_digits(value)}{bar}</td>"
    if run.state is RunState.FAILED:
        return f'<td class="pw-state-failed">{markup.hint("failed", run.cause)}</td>'
    if run.state.is_live:
        state = markup.text(run.phase or run.shown_state)
        return f'<td class="pw-race-now" title="{state}"><span class="pw-running">{state}</span></td>'
    return f'<td class="pw-muted">{markup.text(run.shown_state)}</td>'

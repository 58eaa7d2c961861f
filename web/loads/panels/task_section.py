"""The results of an agent task on the page of its run: what was solved, each repeat, and the folders that are left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.agent_tasks import TaskRepeat
from analysis.physics.formula_result import Quantity
from domain import Run
from load_records import AGENT_TASK, SuiteCheck
from reports.runs.agent_tasks import AgentTaskReport, agent_task_report
from reports.runs.prices import prices_of
from service.agent_copies import ended_repeats
from storage.queries.run_data import Queryable
from web import audit, markup
from web.actions import Once, is_operator, require_operator
from web.context import services
from web.markup import markdown_text
from web.theme import DASH, byte_size, duration, three_digits
from workloads.agent_tasks.task_files import delete_repeats, tree_bytes

HEAD = (
    "Repeat", "Solved", "Why not", "Agent", "Turns", "Prompt tokens", "Cached", "Output tokens", "Thinking",
    "Left running",
)  # fmt: skip
VERDICTS = {True: "solved", False: "not solved", None: "not judged"}
CLASSES = {True: "pw-check-pass", False: "pw-check-fail", None: "pw-check-not-tried"}


def show_agent_task(run: Run, store: Queryable, load: LoadRecord, checks: Sequence[SuiteCheck]) -> None:
    """Show the results of an agent task; nothing for other loads."""
    if load.plan is None or load.plan.workload != AGENT_TASK:
        return
    prices = prices_of(services().settings.prices_path, run.machine_id)
    report = agent_task_report(store, load, checks, prices)
    if report:
        st.markdown(markdown_text(solved_text(report)))
        st.html(markup.table(HEAD, repeat_cells(report), is_numeric=True))


def solved_text(report: AgentTaskReport) -> str:
    """Return 'Solved 9 of 10 (95 %: 60 % to 98 %, Wilson). For each solved task: 1.2 kJ, ...'."""
    if report.interval is None:
        return "No repeat says anything about the server."
    low, high = report.interval
    text = f"Solved {report.count.solved} of {report.count.n} (95 %: {100 * low:.0f} % to {100 * high:.0f} %, Wilson)."
    costs = [_cost(report.joules, "J"), _cost(report.money, report.currency)]
    known_costs = [cost for cost in costs if cost]
    return f"{text} For each solved task: {', '.join(known_costs)}." if known_costs else text


def _cost(quantity: Quantity, unit: str) -> str | None:
    return None if quantity.value is None else f"{three_digits(quantity.value)} {unit}"


def repeat_cells(report: AgentTaskReport) -> Iterator[list[str]]:
    """Yield a row per repeat, under HEAD."""
    for number, repeat, why in report.repeats:
        verdict = f'<span class="{CLASSES[repeat.is_solved]}">{VERDICTS[repeat.is_solved]}</span>'
        yield [
            str(number),
            verdict,
            markup.text(why or ""),
            DASH if repeat.agent_s is None else duration(repeat.agent_s),
            *(DASH if count is None else f"{count:,}" for count in _counts(repeat)),
            str(repeat.ended_processes or ""),
        ]


def _counts(repeat: TaskRepeat) -> tuple[int | None, ...]:
    tokens = (repeat.prompt_tokens, repeat.cached_tokens, repeat.output_tokens, repeat.thinking_tokens)
    return (repeat.turns, *tokens)


def offer_deletion(run: Run) -> None:
    """Show the operator the folders of the repeats, and the button that deletes them."""
    if not is_operator() or run.run_dir is None:
        return
    folders = ended_repeats(Path(run.run_dir))
    if not folders:
        return
    size = byte_size(sum(map(tree_bytes, folders)))
    st.caption(
        markdown_text(f"The copies of the folder and the output of the agents are in {run.run_dir}, {size} in all.")
    )
    st.button(f"Delete the copies ({size})", key=f"delete-copies-{run.id}", on_click=Once(_delete), args=(run,))


def _delete(run: Run) -> None:
    require_operator()
    assert run.run_dir
    try:
        size = delete_repeats(ended_repeats(Path(run.run_dir)))
    except OSError as error:
        st.toast(markdown_text(f"Not everything could be deleted: {error.filename}: {error.strerror}."))
        return
    audit.record("delete copies", [run.id], byte_size(size))

"""The blocks `lm_eval` and `bfcl` of a recipe: what another tool measures, which Pitwall drives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from commands.recipe.lines import Entry, Remarks, items, mapping, text_of, whole
from commands.study_file import ACCURACY
from commands.study_workloads import WorkloadText
from domain import JsonValue

TASK_FIELDS = ("name", "num_fewshot", "model_args")
BFCL_FIELDS = ("test_categories", "num_threads", "temperature", "maximum_step_limit", "max_test_cases")
THREADS, TEMPERATURE, STEPS = 8, 0.001, 10  # perf-eval's own defaults


class Tools(NamedTuple):
    """Which programs measure quality here; None: not known."""

    lm_eval: str = "lm_eval"
    bfcl: str | None = None  # a Python that has bfcl-eval


class Task(NamedTuple):
    """One call of lm-eval: its tasks share all of these."""

    num_fewshot: int
    model_args: tuple[tuple[str, Any], ...]


def accuracy_loads(
    block: Entry | None, name: str, tools: Tools, left_out: frozenset[str], remarks: Remarks
) -> list[WorkloadText]:
    """Tasks that ask alike are one call."""
    given = mapping(block, name)
    _only(given, ("model_args", "tasks"), name, remarks)
    base = mapping(given.get("model_args"), f"{name}.model_args")
    calls: dict[Task, list[str]] = {}
    for entry in items(given.get("tasks"), f"{name}.tasks"):
        task = mapping(entry, f"{name}.tasks")
        title = text_of(task.get("name"), f"{name}.tasks.name", entry.line)
        if f"{name}.{title}" in left_out:
            remarks.note(f"{name}.{title}", entry.line, "it is left out, as asked for.")
            continue
        _only(task, TASK_FIELDS, f"{name}.{title}", remarks)
        own = mapping(task.get("model_args"), f"{name}.{title}.model_args")
        shots = whole(task["num_fewshot"], f"{name}.{title}.num_fewshot", 0) if "num_fewshot" in task else 0
        _check_args({**base, **own}, f"{name}.{title}", remarks)
        args = {key: one.value for key, one in {**base, **own}.items()}
        calls.setdefault(Task(shots, tuple(args.items())), []).append(title)
    return [_lm_eval(call, its, tools.lm_eval) for call, its in calls.items()]


def _check_args(args: Mapping[str, Entry], name: str, remarks: Remarks) -> None:
    for key, entry in args.items():
        if isinstance(entry.value, dict | list) or "," in str(entry.value):
            remarks.refuse(f"{name}.model_args.{key}", entry.line, "lm-eval takes one word of a value there.")


def _lm_eval(call: Task, tasks: list[str], executable: str) -> WorkloadText:
    """perf-eval asks /v1/completions; all else of its model_args is passed on."""
    args = dict(call.model_args)
    at_once = args.pop("num_concurrent", 1)
    params: dict[str, JsonValue] = {
        "executable": executable, "tasks": ",".join(tasks), "concurrency": at_once, "endpoint": "completions",
        "model_args": ",".join(f"{key}={value}" for key, value in args.items()),
        "more": ["--num_fewshot", str(call.num_fewshot)],
    }  # fmt: skip
    return WorkloadText(name="drive:lm-eval", params=params, objective=ACCURACY)


def tool_call_loads(
    block: Entry | None, name: str, tools: Tools, left_out: frozenset[str], remarks: Remarks
) -> list[WorkloadText]:
    """The categories in one call, each scored by itself."""
    given = mapping(block, name)
    if not given or block is None:
        return []
    _only(given, BFCL_FIELDS, name, remarks)
    named = [(text_of(one, f"{name}.test_categories", one.line), one.line) for one in items(
        given.get("test_categories"), f"{name}.test_categories"
    )]  # fmt: skip
    for title, line in named:
        if f"{name}.{title}" in left_out:
            remarks.note(f"{name}.{title}", line, "it is left out, as asked for.")
    wanted = [title for title, _ in named if f"{name}.{title}" not in left_out]
    if tools.bfcl is None:
        remarks.refuse(name, block.line, "which Python has bfcl-eval is not told: `--bfcl PYTHON`.")
    if not wanted:
        remarks.refuse(f"{name}.test_categories", block.line, "no category is left.")
        return []
    threads = whole(given["num_threads"], f"{name}.num_threads") if "num_threads" in given else THREADS
    steps = given.get("maximum_step_limit")
    params: dict[str, JsonValue] = {
        "executable": tools.bfcl or "", "tasks": ",".join(_limited(given, name, wanted)), "concurrency": threads,
        "temperature": given["temperature"].value if "temperature" in given else TEMPERATURE,
        "most_steps": STEPS if steps is None else whole(steps, f"{name}.maximum_step_limit"),
    }  # fmt: skip
    return [WorkloadText(name="drive:bfcl", params=params, objective=ACCURACY)]


def _limited(given: Mapping[str, Entry], name: str, wanted: list[str]) -> list[str]:
    """The categories, each with its number of cases where it has one: 'multi_turn=240'."""
    limit = given.get("max_test_cases")
    if limit is None:
        return wanted
    by_name = limit.value if isinstance(limit.value, dict) else dict.fromkeys(wanted, limit)
    most = {one: whole(by_name[one], f"{name}.max_test_cases") for one in wanted if one in by_name}
    return [f"{one}={most[one]}" if one in most else one for one in wanted]


def _only(given: Mapping[str, Entry], fields: tuple[str, ...], name: str, remarks: Remarks) -> None:
    for key, entry in given.items():
        if key not in fields:
            remarks.refuse(f"{name}.{key}", entry.line, "perf-eval knows no such field.")

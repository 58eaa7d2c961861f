"""The blocks `lm_eval` and `bfcl` of a recipe: measurements by other tools, driven by Pitwall."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from commands.recipe.lines import RecipeEntry, RecipeRemarks, items, mapping, text_of, whole_number
from commands.study_file import ACCURACY
from commands.study_workloads import WorkloadText
from domain import JsonValue

TASK_FIELDS = ("name", "num_fewshot", "model_args")
BFCL_FIELDS = ("test_categories", "num_threads", "temperature", "maximum_step_limit", "max_test_cases")
THREADS, TEMPERATURE, STEPS = 8, 0.001, 10  # perf-eval's own defaults


class QualityTools(NamedTuple):
    """The programs that measure quality; None: unknown."""

    lm_eval: str = "lm_eval"
    bfcl: str | None = None  # a Python with bfcl-eval


class LmEvalCall(NamedTuple):
    """The arguments of one lm-eval call, shared by its tasks."""

    num_fewshot: int
    model_args: tuple[tuple[str, Any], ...]


def accuracy_loads(
    block: RecipeEntry | None, name: str, tools: QualityTools, left_out: frozenset[str], remarks: RecipeRemarks
) -> list[WorkloadText]:
    """Return the loads of `lm_eval`; tasks with equal arguments share one call."""
    fields = mapping(block, name)
    _refuse_unknown(fields, ("model_args", "tasks"), name, remarks)
    base = mapping(fields.get("model_args"), f"{name}.model_args")
    calls: dict[LmEvalCall, list[str]] = {}
    for entry in items(fields.get("tasks"), f"{name}.tasks"):
        task = mapping(entry, f"{name}.tasks")
        title = text_of(task.get("name"), f"{name}.tasks.name", entry.line)
        if f"{name}.{title}" in left_out:
            remarks.note(f"{name}.{title}", entry.line, "it is left out, as asked for.")
            continue
        _refuse_unknown(task, TASK_FIELDS, f"{name}.{title}", remarks)
        own_args = mapping(task.get("model_args"), f"{name}.{title}.model_args")
        shots = whole_number(task["num_fewshot"], f"{name}.{title}.num_fewshot", 0) if "num_fewshot" in task else 0
        _check_args({**base, **own_args}, f"{name}.{title}", remarks)
        args = {key: arg.value for key, arg in {**base, **own_args}.items()}
        calls.setdefault(LmEvalCall(shots, tuple(args.items())), []).append(title)
    return [_lm_eval(call, tasks, tools.lm_eval) for call, tasks in calls.items()]


def _check_args(args: Mapping[str, RecipeEntry], name: str, remarks: RecipeRemarks) -> None:
    for key, entry in args.items():
        if isinstance(entry.value, dict | list) or "," in str(entry.value):
            remarks.refuse(f"{name}.model_args.{key}", entry.line, "lm-eval accepts only a single word as value.")


def _lm_eval(call: LmEvalCall, tasks: list[str], executable: str) -> WorkloadText:
    """A load for one call; perf-eval uses /v1/completions, and other model_args are passed on."""
    args = dict(call.model_args)
    concurrency = args.pop("num_concurrent", 1)
    params: dict[str, JsonValue] = {
        "executable": executable, "tasks": ",".join(tasks), "concurrency": concurrency, "endpoint": "completions",
        "model_args": ",".join(f"{key}={value}" for key, value in args.items()),
        "more": ["--num_fewshot", str(call.num_fewshot)],
    }  # fmt: skip
    return WorkloadText(name="drive:lm-eval", params=params, objective=ACCURACY)


def tool_call_loads(
    block: RecipeEntry | None, name: str, tools: QualityTools, left_out: frozenset[str], remarks: RecipeRemarks
) -> list[WorkloadText]:
    """Return the load of `bfcl`: all categories in one call, each scored separately."""
    fields = mapping(block, name)
    if not fields or block is None:
        return []
    _refuse_unknown(fields, BFCL_FIELDS, name, remarks)
    categories = [(text_of(entry, f"{name}.test_categories", entry.line), entry.line) for entry in items(
        fields.get("test_categories"), f"{name}.test_categories"
    )]  # fmt: skip
    for title, line in categories:
        if f"{name}.{title}" in left_out:
            remarks.note(f"{name}.{title}", line, "it is left out, as asked for.")
    kept_categories = [title for title, _ in categories if f"{name}.{title}" not in left_out]
    if tools.bfcl is None:
        remarks.refuse(name, block.line, "the Python with bfcl-eval is unknown: give `--bfcl PYTHON`.")
    if not kept_categories:
        remarks.refuse(f"{name}.test_categories", block.line, "no category is left.")
        return []
    threads = whole_number(fields["num_threads"], f"{name}.num_threads") if "num_threads" in fields else THREADS
    steps = fields.get("maximum_step_limit")
    params: dict[str, JsonValue] = {
        "executable": tools.bfcl or "", "tasks": ",".join(_limited(fields, name, kept_categories)),
        "concurrency": threads,
        "temperature": fields["temperature"].value if "temperature" in fields else TEMPERATURE,
        "most_steps": STEPS if steps is None else whole_number(steps, f"{name}.maximum_step_limit"),
    }  # fmt: skip
    return [WorkloadText(name="drive:bfcl", params=params, objective=ACCURACY)]


def _limited(fields: Mapping[str, RecipeEntry], name: str, categories: list[str]) -> list[str]:
    """The categories, with their number of cases if limited: 'multi_turn=240'."""
    limit = fields.get("max_test_cases")
    if limit is None:
        return categories
    by_name = limit.value if isinstance(limit.value, dict) else dict.fromkeys(categories, limit)
    max_cases = {
        category: whole_number(by_name[category], f"{name}.max_test_cases")
        for category in categories
        if category in by_name
    }
    return [f"{category}={max_cases[category]}" if category in max_cases else category for category in categories]


def _refuse_unknown(
    block: Mapping[str, RecipeEntry], fields: tuple[str, ...], name: str, remarks: RecipeRemarks
) -> None:
    for key, entry in block.items():
        if key not in fields:
            remarks.refuse(f"{name}.{key}", entry.line, "perf-eval knows no such field.")

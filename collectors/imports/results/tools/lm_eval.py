"""Reads lm-evaluation-harness: results_<time>.json, and samples_<task>_<time>.jsonl with one item per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from analysis.loads.accuracy import wilson
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of, digest, list_of, number, text, time_of
from domain import JsonValue
from reasons import Code, Reason

TOOL = "lm-eval"
ITEM = '"doc_id"'
NO_ANSWER = "[invalid]"
PARTIAL_SCORES, NO_ITEM_COUNT = Reason(Code.ITEMS_HAVE_SHARES), Reason(Code.RIGHT_ITEMS_NOT_TOLD)
PROTOCOL = ("output_type", "num_fewshot", "generation_kwargs", "filter_list", "metric_list", "repeats", "doc_to_text")
RUN_FIELDS = ("chat_template_sha", "system_instruction_sha", "fewshot_as_multiturn", "model_source")


class ScoredItem(NamedTuple):
    """An item with its score under one filter."""

    line: int
    item: Mapping[str, Any]
    score: float


def recognise(head: str) -> bool:
    """Return whether a file has the first bytes of an lm-eval file."""
    start = head.lstrip()
    is_results = start.startswith("{") and '"results"' in head and ('"lm_eval_version"' in head or "_stderr," in head)
    return is_results or (start.startswith("{") and ITEM in start[:200] and '"doc_hash"' in head)


def is_items(source: ResultFile) -> bool:
    """Return whether it is a samples file, with one item per line."""
    return ITEM in source.head.lstrip()[:200]


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of a single file; raises ImportRefusedError."""
    if not is_items(source):
        return [read_results(source, ticket, {})]
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    task = task_of(source.name)
    for (filter_name, metric), items in add_items(load, task, source).items():
        load.accuracy(**_accuracy_from_items(items), task=task, filter=filter_name, metric=metric, protocol_hash=None)
    return [load]


def task_of(name: str) -> str:
    """Return the task in the name of a samples file: 'samples_<task>_<time>.jsonl'."""
    return name.removeprefix("samples_").removesuffix(".jsonl").rpartition("_")[0] or name


def read_results(source: ResultFile, ticket: Ticket, items: Mapping[str, ResultFile]) -> LoadBuilder:
    """Return the load of a results file with the samples files of its tasks; raises ImportRefusedError."""
    report = dict_of(source.json())
    config, results = dict_of(report.get("config")), dict_of(report.get("results"))
    if not results:
        raise ImportRefusedError(f"{source.name} has no task results.")
    arguments = config.get("model_args")
    load = LoadBuilder(
        ticket, TOOL, text(report.get("lm_eval_version")), TOOL, time_of(report.get("date")) or ticket.file_date,
        params={"model": config.get("model"), "model_args": arguments, "limit": config.get("limit"),
                "random_seed": config.get("random_seed")},
        model=text(report.get("model_name")), base_url=text(dict_of(arguments).get("base_url")),
    )  # fmt: skip
    for task, values in results.items():
        scored_items = add_items(load, task, items[task]) if task in items else {}
        _add_task(load, report, task, dict_of(values), scored_items)
    return load


def _add_task(
    load: LoadBuilder, report: Mapping[str, Any], task: str, values: Mapping[str, Any],
    scored_items: Mapping[tuple[str, str], list[ScoredItem]],
) -> None:  # fmt: skip
    protocol = protocol_of(report, task)
    version = dict_of(report.get("versions")).get(task)
    n = count(dict_of(dict_of(report.get("n-samples")).get(task)).get("effective"))
    for key, value in values.items():
        metric, comma, filter_name = key.partition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        items = scored_items.get((filter_name, metric))
        load.accuracy(
            **(_accuracy_from_items(items) if items else _accuracy_from_share(number(value), n)),
            task=task, filter=filter_name, metric=metric, stderr=number(values.get(f"{metric}_stderr,{filter_name}")),
            version=None if version is None else str(version),
            protocol_hash=digest([protocol, filter_name, metric]), protocol=protocol,
        )  # fmt: skip


def protocol_of(report: Mapping[str, Any], task: str) -> dict[str, JsonValue]:
    """Return what two runs must have in common for comparable accuracies; neither the model nor its server."""
    config = dict_of(dict_of(report.get("configs")).get(task))
    task_fields = {name: config.get(name) for name in PROTOCOL}
    run_fields = {name: report.get(name) for name in RUN_FIELDS}
    task_hash = dict_of(report.get("task_hashes")).get(task)
    run_config = dict_of(report.get("config"))
    return (
        task_fields
        | run_fields
        | {"items": task_hash, "limit": run_config.get("limit"), "gen_kwargs": run_config.get("gen_kwargs")}
    )


def _accuracy_from_share(value: float | None, n: int | None) -> dict[str, Any]:
    """Return an accuracy from its share; the number of correct items is derived if the share implies a whole number."""
    if value is None or value > 1:
        return {"n": n, "value": None, "reason": Reason(Code.NO_SHARE_TOLD)}
    correct = None if not n else value * n
    if n and correct is not None and abs(correct - round(correct)) < 1e-6 * n:
        low, high = wilson(round(correct), n)
        return {"correct": round(correct), "n": n, "value": value, "low": low, "high": high}
    return {"n": n, "value": value, "reason": PARTIAL_SCORES if n else NO_ITEM_COUNT}


def _accuracy_from_items(items: Iterable[ScoredItem]) -> dict[str, Any]:
    scores = [item.score for item in items]
    if not all(score in (0.0, 1.0) for score in scores):
        return {"n": len(scores), "value": fmean(scores), "reason": PARTIAL_SCORES}
    low, high = wilson(round(sum(scores)), len(scores))
    return {"correct": round(sum(scores)), "n": len(scores), "value": fmean(scores), "low": low, "high": high}


def add_items(load: LoadBuilder, task: str, source: ResultFile) -> dict[tuple[str, str], list[ScoredItem]]:
    """Add the items of a file and return them by (filter, metric); raises ImportRefusedError for an invalid item."""
    scored_items: dict[tuple[str, str], list[ScoredItem]] = {}
    for line, value in source.json_lines():
        item = dict_of(value)
        for metric, score in _scores(source, line, item):
            filter_name = text(item.get("filter")) or "none"
            scored_items.setdefault((filter_name, metric), []).append(ScoredItem(line, item, score))
    for (filter_name, metric), items in scored_items.items():
        if metric == next(
            name for known_filter, name in scored_items if known_filter == filter_name
        ):  # add each item only once
            for scored_item in items:
                _add_item(load, task, filter_name, scored_item)
    return scored_items


def _scores(source: ResultFile, line: int, item: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    names = [name for name in list_of(item.get("metrics")) if isinstance(name, str)]
    if not names or "doc_id" not in item or not text(item.get("doc_hash")):
        raise source.refusal(line, "this is not an item of lm-eval")
    for name in names:
        score = number(item.get(name))
        if score is None or score > 1:
            raise source.refusal(line, f"its {name} is not a number between 0 and 1")
        yield name, score


def _add_item(load: LoadBuilder, task: str, filter_name: str, scored_item: ScoredItem) -> None:
    answers = list_of(scored_item.item.get("filtered_resps"))
    answer = answers[0] if answers else None
    reason = None if scored_item.score == 1 else "no answer was found in the text" if answer == NO_ANSWER else None
    target = scored_item.item.get("target")
    load.accuracy_item(
        task=task, filter=filter_name, item_hash=str(scored_item.item["doc_hash"])[:64],
        item_id=str(scored_item.item["doc_id"])[:64],
        score=scored_item.score, why=reason, target=None if target is None else str(cut(target)),
        answer=None if answer is None else str(cut(answer)),
    )  # fmt: skip

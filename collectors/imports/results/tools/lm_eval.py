"""lm-evaluation-harness: results_<time>.json, and samples_<task>_<time>.jsonl with an item a line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from statistics import fmean
from typing import Any, NamedTuple

from analysis.loads.accuracy import wilson
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.source import Source
from collectors.imports.results.values import count, cut, dict_of, digest, list_of, moment, number, text
from domain import JsonValue
from reasons import Code, Reason

TOOL = "lm-eval"
ITEM = '"doc_id"'
NO_ANSWER = "[invalid]"
SHARES, UNCOUNTED = Reason(Code.ITEMS_HAVE_SHARES), Reason(Code.RIGHT_ITEMS_NOT_TOLD)
PROTOCOL = ("output_type", "num_fewshot", "generation_kwargs", "filter_list", "metric_list", "repeats", "doc_to_text")
ASKED = ("chat_template_sha", "system_instruction_sha", "fewshot_as_multiturn", "model_source")


class Scored(NamedTuple):
    """One item of one filter."""

    line: int
    item: Mapping[str, Any]
    score: float


def recognise(head: str) -> bool:
    """Whether a file begins as one of these does."""
    start = head.lstrip()
    is_results = start.startswith("{") and '"results"' in head and ('"lm_eval_version"' in head or "_stderr," in head)
    return is_results or (start.startswith("{") and ITEM in start[:200] and '"doc_hash"' in head)


def is_items(source: Source) -> bool:
    """Whether it is a file of items, a line each."""
    return ITEM in source.head.lstrip()[:200]


def read(source: Source, ticket: Ticket) -> list[LoadBuilder]:
    """The load of one file alone; raises ImportRefusedError."""
    if not is_items(source):
        return [read_results(source, ticket, {})]
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.dated)
    task = task_of(source.name)
    for (filtered, metric), items in add_items(load, task, source).items():
        load.accuracy(**_of_items(items), task=task, filter=filtered, metric=metric, protocol_hash=None)
    return [load]


def task_of(name: str) -> str:
    """The task that a file of items is named after: 'samples_<task>_<time>.jsonl'."""
    return name.removeprefix("samples_").removesuffix(".jsonl").rpartition("_")[0] or name


def read_results(source: Source, ticket: Ticket, items: Mapping[str, Source]) -> LoadBuilder:
    """The load of a results file with the files of items of its tasks; raises ImportRefusedError."""
    report = dict_of(source.json())
    config, results = dict_of(report.get("config")), dict_of(report.get("results"))
    if not results:
        raise ImportRefusedError(f"{source.name} holds no result of a task.")
    arguments = config.get("model_args")
    load = LoadBuilder(
        ticket, TOOL, text(report.get("lm_eval_version")), TOOL, moment(report.get("date")) or ticket.dated,
        params={"model": config.get("model"), "model_args": arguments, "limit": config.get("limit"),
                "random_seed": config.get("random_seed")},
        model=text(report.get("model_name")), base_url=text(dict_of(arguments).get("base_url")),
    )  # fmt: skip
    for task, values in results.items():
        scored = add_items(load, task, items[task]) if task in items else {}
        _add_task(load, report, task, dict_of(values), scored)
    return load


def _add_task(
    load: LoadBuilder, report: Mapping[str, Any], task: str, values: Mapping[str, Any],
    scored: Mapping[tuple[str, str], list[Scored]],
) -> None:  # fmt: skip
    protocol = protocol_of(report, task)
    version = dict_of(report.get("versions")).get(task)
    n = count(dict_of(dict_of(report.get("n-samples")).get(task)).get("effective"))
    for key, value in values.items():
        metric, comma, filtered = key.partition(",")
        if not comma or metric.endswith("_stderr"):
            continue
        items = scored.get((filtered, metric))
        load.accuracy(
            **(_of_items(items) if items else _of_share(number(value), n)), task=task, filter=filtered, metric=metric,
            stderr=number(values.get(f"{metric}_stderr,{filtered}")), version=None if version is None else str(version),
            protocol_hash=digest([protocol, filtered, metric]), protocol=protocol,
        )  # fmt: skip


def protocol_of(report: Mapping[str, Any], task: str) -> dict[str, JsonValue]:
    """What two runs must share for their shares to be of the same thing; not the model, nor where it is served."""
    config = dict_of(dict_of(report.get("configs")).get(task))
    of_task = {name: config.get(name) for name in PROTOCOL}
    of_run = {name: report.get(name) for name in ASKED}
    hashed = dict_of(report.get("task_hashes")).get(task)
    asked = dict_of(report.get("config"))
    return of_task | of_run | {"items": hashed, "limit": asked.get("limit"), "gen_kwargs": asked.get("gen_kwargs")}


def _of_share(value: float | None, n: int | None) -> dict[str, Any]:
    """An accuracy known by its share: the right ones are counted where the share is of whole items."""
    if value is None or value > 1:
        return {"n": n, "value": None, "reason": Reason(Code.NO_SHARE_TOLD)}
    right = None if not n else value * n
    if n and right is not None and abs(right - round(right)) < 1e-6 * n:
        low, high = wilson(round(right), n)
        return {"correct": round(right), "n": n, "value": value, "low": low, "high": high}
    return {"n": n, "value": value, "reason": SHARES if n else UNCOUNTED}


def _of_items(items: Iterable[Scored]) -> dict[str, Any]:
    scores = [one.score for one in items]
    if not all(score in (0.0, 1.0) for score in scores):
        return {"n": len(scores), "value": fmean(scores), "reason": SHARES}
    low, high = wilson(round(sum(scores)), len(scores))
    return {"correct": round(sum(scores)), "n": len(scores), "value": fmean(scores), "low": low, "high": high}


def add_items(load: LoadBuilder, task: str, source: Source) -> dict[tuple[str, str], list[Scored]]:
    """Add the items of a file, and give them by (filter, metric); raises ImportRefusedError for what is no item."""
    found: dict[tuple[str, str], list[Scored]] = {}
    for line, value in source.json_lines():
        item = dict_of(value)
        for metric, score in _scores(source, line, item):
            filtered = text(item.get("filter")) or "none"
            found.setdefault((filtered, metric), []).append(Scored(line, item, score))
    for (filtered, metric), items in found.items():
        if metric == next(name for kept, name in found if kept == filtered):  # the items stand there once
            for one in items:
                _add_item(load, task, filtered, one)
    return found


def _scores(source: Source, line: int, item: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    names = [name for name in list_of(item.get("metrics")) if isinstance(name, str)]
    if not names or "doc_id" not in item or not text(item.get("doc_hash")):
        raise source.refusal(line, "this is no item of lm-eval's")
    for name in names:
        score = number(item.get(name))
        if score is None or score > 1:
            raise source.refusal(line, f"its {name} is no number between 0 and 1")
        yield name, score


def _add_item(load: LoadBuilder, task: str, filtered: str, one: Scored) -> None:
    answers = list_of(one.item.get("filtered_resps"))
    answer = answers[0] if answers else None
    why = None if one.score == 1 else "no answer was found in the text" if answer == NO_ANSWER else None
    target = one.item.get("target")
    load.accuracy_item(
        task=task, filter=filtered, item_hash=str(one.item["doc_hash"])[:64], item_id=str(one.item["doc_id"])[:64],
        score=one.score, why=why, target=None if target is None else str(cut(target)),
        answer=None if answer is None else str(cut(answer)),
    )  # fmt: skip

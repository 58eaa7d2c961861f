"""The block `vllm_bench` of a recipe: a config as a load of Pitwall's, of the same lengths, number and concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from commands.recipe.lines import Entry, Remarks, whole
from commands.study_workloads import WorkloadText
from domain import JsonValue

NEEDED = ("input_len", "output_len", "num_prompts", "max_concurrency")
UNUSED = ("speed_bench_dataset_subset", "speed_bench_category")
FIELDS = {"name", "backend", "dataset", "repetitions", "args", *NEEDED, *UNUSED}
ENDPOINTS = {None: "completions", "openai": "completions", "openai-chat": "chat"}
SAMPLING = {"temperature": "temperature", "top-p": "top_p", "top-k": "top_k", "min-p": "min_p", "seed": "seed"}
SILENT = ("disable-tqdm", "percentile-metrics", "metric-percentiles")  # they change what is printed
TEXTS = "its texts are sentences of these lengths from a seed; random tokens would make drafts look worse than they are"


class Point(NamedTuple):
    """Some requests at one concurrency."""

    concurrency: int
    requests: int

    @property
    def each(self) -> int | None:
        """Requests of each stream, where that is a whole number."""
        return self.requests // self.concurrency if self.requests % self.concurrency == 0 else None


def speed_loads(config: Entry, name: str, remarks: Remarks) -> list[WorkloadText]:
    """The loads of one config; what cannot be expressed goes to the remarks, and then there are none."""
    given: Mapping[str, Entry] = config.value
    before = len(remarks.refused)
    for key, entry in given.items():
        if key not in FIELDS:
            remarks.refuse(f"{name}.{key}", entry.line, "perf-eval knows no such field.")
    for key in NEEDED:
        if key not in given:
            remarks.refuse(f"{name}.{key}", config.line, "it is missing.")
    params = _shared(given, name, remarks)
    if len(remarks.refused) > before:
        return []
    points = _points(given, name, remarks)
    return _loads(points, given, name, params, remarks) if points else []


def _shared(given: Mapping[str, Entry], name: str, remarks: Remarks) -> dict[str, JsonValue]:
    """What holds at every concurrency: the endpoint and the sampling."""
    params: dict[str, JsonValue] = {}
    backend, dataset = given.get("backend"), given.get("dataset")
    if backend is not None and backend.value not in ENDPOINTS:
        remarks.refuse(f"{name}.backend", backend.line, f"{backend.value!r} is none of openai, openai-chat.")
    else:
        params["endpoint"] = ENDPOINTS[backend.value if backend else None]
    if dataset is not None and dataset.value != "random":
        remarks.refuse(f"{name}.dataset", dataset.line, f"{dataset.value!r} is none that Pitwall has: random.")
    elif dataset is not None:
        remarks.note(f"{name}.dataset", dataset.line, TEXTS)
    for key in UNUSED:
        if key in given:
            remarks.note(f"{name}.{key}", given[key].line, "the dataset 'random' does not use it.")
    for key, entry in _args(given).items():
        if key in SAMPLING:
            params[SAMPLING[key]] = entry.value
        elif key in SILENT:
            remarks.note(f"{name}.args.{key}", entry.line, "it changes what the tool prints, not the load.")
        elif key != "num-warmups":
            remarks.refuse(f"{name}.args.{key}", entry.line, "Pitwall's loads have no such setting.")
    return params


def _args(given: Mapping[str, Entry]) -> dict[str, Entry]:
    """By the flags' names, as perf-eval makes them."""
    args = given.get("args")
    named = args.value if args and isinstance(args.value, dict) else {}
    return {key.lstrip("-").replace("_", "-"): entry for key, entry in named.items()}


def _points(given: Mapping[str, Entry], name: str, remarks: Remarks) -> list[Point]:
    streams, prompts = given["max_concurrency"], given["num_prompts"]
    at_once = [whole(one, f"{name}.max_concurrency") for one in _as_list(streams)]
    counts = [whole(one, f"{name}.num_prompts") for one in _as_list(prompts)]
    if len(counts) == 1 and not isinstance(prompts.value, list):
        counts *= len(at_once)
    if len(counts) != len(at_once) or not at_once:
        remarks.refuse(f"{name}.num_prompts", prompts.line, "there are not as many as there are concurrencies.")
        return []
    return [Point(*one) for one in zip(at_once, counts, strict=True)]


def _as_list(entry: Entry) -> list[Entry]:
    return entry.value if isinstance(entry.value, list) else [entry]


def _loads(
    points: list[Point], given: Mapping[str, Entry], name: str, params: dict[str, JsonValue], remarks: Remarks
) -> list[WorkloadText]:
    """A grid takes the points of as many requests a stream; one point that is left is traffic."""
    warm = _args(given).get("num-warmups")
    waves = None if warm is None else whole(warm, f"{name}.args.num_warmups", 0)
    lengths = [whole(given[key], f"{name}.{key}") for key in ("input_len", "output_len")]
    best = _commonest(points)
    in_grid = [one for one in points if one.each is not None and one.each == best]
    if len(points) == 1 and (best is None or waves != points[0].concurrency):
        in_grid = []
    left = [one for one in points if one not in in_grid]
    if len(left) > 1:
        words = ", ".join(f"{one.requests} at {one.concurrency}" for one in points)
        remarks.refuse(
            f"{name}.num_prompts", given["num_prompts"].line,
            f"{words}: a study takes one number of requests a stream for all concurrencies but one.",
        )  # fmt: skip
        return []
    loads = []
    if in_grid:
        if warm is None or any(waves != one.concurrency for one in in_grid):
            line = (warm or given["max_concurrency"]).line
            remarks.note(f"{name}.max_concurrency", line, "each concurrency is warmed up by one request a stream.")
        at_once: list[JsonValue] = [one.concurrency for one in in_grid]
        grid = {"prompt_tokens": [lengths[0]], "output_tokens": [lengths[1]], "concurrency": at_once, "repeats": best}
        loads.append(_load("grid", params | grid, max(one.concurrency for one in in_grid)))
    for one in left:
        if waves and waves > 1:
            remarks.note(f"{name}.args.num_warmups", warm.line if warm else 0, "they are sent one after the other.")
        counted = {"concurrency": one.concurrency, "requests": one.requests, "warmup_requests": waves or 0}
        traffic = {"prompt_tokens": lengths[0], "output_tokens": lengths[1], **counted}
        loads.append(_load("traffic", params | traffic, one.concurrency))
    return loads


def _commonest(points: list[Point]) -> int | None:
    """The number of requests a stream that most points have; of equals that of the most streams."""
    known = [one for one in points if one.each]
    most = max(known, key=lambda one: (sum(p.each == one.each for p in known), one.concurrency), default=None)
    return most.each if most else None


def _load(kind: str, params: dict[str, JsonValue], at_once: int) -> WorkloadText:
    objective = f"output_tps@{at_once}" if at_once > 1 else "decode_tps"
    return WorkloadText(name=kind, params=params, objective=objective)

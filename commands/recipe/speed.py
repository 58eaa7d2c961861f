"""The block `vllm_bench` of a recipe: each config as a Pitwall load with the same lengths, counts and concurrency."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import NamedTuple

from commands.recipe.lines import RecipeEntry, RecipeRemarks, mapping, whole_number
from commands.study_workloads import WorkloadText
from domain import JsonValue

NEEDED = ("input_len", "output_len", "num_prompts", "max_concurrency")
UNUSED = ("speed_bench_dataset_subset", "speed_bench_category")
FIELDS = {"name", "backend", "dataset", "repetitions", "args", "assertions", *NEEDED, *UNUSED}
ENDPOINTS = {None: "completions", "openai": "completions", "vllm": "completions", "openai-chat": "chat"}
BOUNDS = {"min": "at least", "max": "at most"}
SAMPLING = {"temperature": "temperature", "top-p": "top_p", "top-k": "top_k", "min-p": "min_p", "seed": "seed"}
OUTPUT_ONLY = ("disable-tqdm", "percentile-metrics", "metric-percentiles")  # they only change the output
TEXT_NOTE = (
    "its prompts are seeded sentences of these lengths; random tokens would make drafts look worse than they are"
)


class RecipePoint(NamedTuple):
    """A number of requests at one concurrency."""

    concurrency: int
    requests: int

    @property
    def requests_per_stream(self) -> int | None:
        """Requests per stream; None if not a whole number."""
        return self.requests // self.concurrency if self.requests % self.concurrency == 0 else None


def speed_loads(config: RecipeEntry, name: str, remarks: RecipeRemarks) -> list[WorkloadText]:
    """Return the loads of one config; none if something cannot be expressed, which goes to the remarks."""
    fields: Mapping[str, RecipeEntry] = config.value
    refused_before = len(remarks.refused)
    for key, entry in fields.items():
        if key not in FIELDS:
            remarks.refuse(f"{name}.{key}", entry.line, "perf-eval knows no such field.")
    for key in NEEDED:
        if key not in fields:
            remarks.refuse(f"{name}.{key}", config.line, "it is missing.")
    params = _shared(fields, name, remarks)
    if len(remarks.refused) > refused_before:
        return []
    points = _points(fields, name, remarks)
    return _loads(points, fields, name, params, remarks) if points else []


def _shared(fields: Mapping[str, RecipeEntry], name: str, remarks: RecipeRemarks) -> dict[str, JsonValue]:
    """The parameters for every concurrency: endpoint and sampling."""
    params: dict[str, JsonValue] = {}
    backend, dataset = fields.get("backend"), fields.get("dataset")
    if backend is not None and backend.value not in ENDPOINTS:
        supported = ", ".join(filter(None, ENDPOINTS))
        remarks.refuse(f"{name}.backend", backend.line, f"{backend.value!r} is not supported; use one of {supported}.")
    else:
        params["endpoint"] = ENDPOINTS[backend.value if backend else None]
    is_random = dataset is None or dataset.value == "random"
    if dataset is not None and not is_random:
        details = ", ".join(f"{key} {fields[key].value}" for key in UNUSED if key in fields)
        stated_dataset = f"{dataset.value!r}{f' ({details})' if details else ''}"
        remarks.refuse(f"{name}.dataset", dataset.line, f"{stated_dataset} is not supported; use random.")
    elif dataset is not None:
        remarks.note(f"{name}.dataset", dataset.line, TEXT_NOTE)
    for key in UNUSED:
        if key in fields and is_random:
            remarks.note(f"{name}.{key}", fields[key].line, "the dataset 'random' does not use it.")
    _note_assertions(fields.get("assertions"), name, remarks)
    for key, entry in _args(fields).items():
        if key in SAMPLING:
            params[SAMPLING[key]] = entry.value
        elif key in OUTPUT_ONLY:
            remarks.note(f"{name}.args.{key}", entry.line, "it changes what the tool prints, not the load.")
        elif key != "num-warmups":
            remarks.refuse(f"{name}.args.{key}", entry.line, "Pitwall's loads have no such setting.")
    return params


def _note_assertions(entry: RecipeEntry | None, name: str, remarks: RecipeRemarks) -> None:
    """Note each bound: a study measures, and a person judges. A bound that perf-eval would not accept is refused."""
    for metric, bounds in mapping(entry, f"{name}.assertions").items():
        limits = bounds.plain if isinstance(bounds.plain, dict) else {}
        if not limits or not all(key in BOUNDS and _is_bound(value) for key, value in limits.items()):
            remarks.refuse(f"{name}.assertions.{metric}", bounds.line, "expected min, max or both, as numbers.")
            continue
        stated_limits = " and ".join(f"{BOUNDS[key]} {value}" for key, value in limits.items())
        remarks.note(
            f"{name}.assertions.{metric}", bounds.line, f"a study checks no bounds; perf-eval wants {stated_limits}."
        )


def _is_bound(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


def _args(fields: Mapping[str, RecipeEntry]) -> dict[str, RecipeEntry]:
    """The arguments by flag name, as derived by perf-eval."""
    args = fields.get("args")
    flags = args.value if args and isinstance(args.value, dict) else {}
    return {key.lstrip("-").replace("_", "-"): entry for key, entry in flags.items()}


def _points(fields: Mapping[str, RecipeEntry], name: str, remarks: RecipeRemarks) -> list[RecipePoint]:
    streams, prompts = fields["max_concurrency"], fields["num_prompts"]
    concurrencies = [whole_number(entry, f"{name}.max_concurrency") for entry in _as_list(streams)]
    counts = [whole_number(entry, f"{name}.num_prompts") for entry in _as_list(prompts)]
    if len(counts) == 1 and not isinstance(prompts.value, list):
        counts *= len(concurrencies)
    if len(counts) != len(concurrencies) or not concurrencies:
        remarks.refuse(f"{name}.num_prompts", prompts.line, "their number differs from the number of concurrencies.")
        return []
    return [RecipePoint(*pair) for pair in zip(concurrencies, counts, strict=True)]


def _as_list(entry: RecipeEntry) -> list[RecipeEntry]:
    return entry.value if isinstance(entry.value, list) else [entry]


def _loads(
    points: list[RecipePoint],
    fields: Mapping[str, RecipeEntry],
    name: str,
    params: dict[str, JsonValue],
    remarks: RecipeRemarks,
) -> list[WorkloadText]:
    """The loads of the points: a grid for those with the same number of requests per stream, traffic for one other."""
    warmups = _args(fields).get("num-warmups")
    waves = None if warmups is None else whole_number(warmups, f"{name}.args.num_warmups", 0)
    lengths = [whole_number(fields[key], f"{name}.{key}") for key in ("input_len", "output_len")]
    common_requests = _commonest(points)
    grid_points = [
        point
        for point in points
        if point.requests_per_stream is not None and point.requests_per_stream == common_requests
    ]
    if len(points) == 1 and (common_requests is None or waves != points[0].concurrency):
        grid_points = []
    other_points = [point for point in points if point not in grid_points]
    if len(other_points) > 1:
        counts = ", ".join(f"{point.requests} at {point.concurrency}" for point in points)
        remarks.refuse(
            f"{name}.num_prompts", fields["num_prompts"].line,
            f"{counts}: a study supports one number of requests per stream, except for one concurrency.",
        )  # fmt: skip
        return []
    loads = []
    if grid_points:
        if warmups is None or any(waves != point.concurrency for point in grid_points):
            line = (warmups or fields["max_concurrency"]).line
            remarks.note(f"{name}.max_concurrency", line, "each concurrency is warmed up with one request per stream.")
        concurrencies: list[JsonValue] = [point.concurrency for point in grid_points]
        grid = {
            "prompt_tokens": [lengths[0]],
            "output_tokens": [lengths[1]],
            "concurrency": concurrencies,
            "repeats": common_requests,
        }
        loads.append(_load("grid", params | grid, max(point.concurrency for point in grid_points)))
    for point in other_points:
        if waves and waves > 1:
            remarks.note(f"{name}.args.num_warmups", warmups.line if warmups else 0, "they are sent sequentially.")
        totals = {"concurrency": point.concurrency, "requests": point.requests, "warmup_requests": waves or 0}
        traffic = {"prompt_tokens": lengths[0], "output_tokens": lengths[1], **totals}
        loads.append(_load("traffic", params | traffic, point.concurrency))
    return loads


def _commonest(points: list[RecipePoint]) -> int | None:
    """The most common number of requests per stream; for ties, that of the highest concurrency."""
    whole_points = [point for point in points if point.requests_per_stream]
    commonest = max(
        whole_points,
        key=lambda point: (
            sum(p.requests_per_stream == point.requests_per_stream for p in whole_points),
            point.concurrency,
        ),
        default=None,
    )
    return commonest.requests_per_stream if commonest else None


def _load(kind: str, params: dict[str, JsonValue], concurrency: int) -> WorkloadText:
    objective = f"output_tps@{concurrency}" if concurrency > 1 else "decode_tps"
    return WorkloadText(name=kind, params=params, objective=objective)

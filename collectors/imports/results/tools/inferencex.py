"""Reads the results that InferenceX (InferenceMAX) aggregates: one object per measurement, or a list of them.

Its latencies are in seconds. Its `intvty`, 1 / TPOT, is the speed of one stream; p99 of it is the speed at the p99 of
TPOT, so its slow end.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import count, cut, dict_of, number, text

TOOL = "InferenceX"
TOTALS = {
    "tput_per_gpu": "total_tps_per_gpu",
    "output_tput_per_gpu": "output_tps_per_gpu",
    "input_tput_per_gpu": "prompt_tps_per_gpu",
    "total_tput_tps": "total_tps",
    "output_tput_tps": "output_tps",
    "input_tput_tps": "prompt_tps",
}
METRICS = {"ttft": ("ttft_ms", 1e3), "tpot": ("tpot_ms", 1e3), "itl": ("itl_ms", 1e3), "e2el": ("e2e_ms", 1e3),
           "intvty": ("decode_tps", 1.0)}  # fmt: skip
STATISTIC = re.compile(
    rf"(?P<statistic>mean|median|std|min|max|p\d{{1,2}}(?:\.\d{{1,2}})?)_(?P<what>{'|'.join(METRICS)})"
)


def recognise(head: str) -> bool:
    """Return whether a file has the names of such a result."""
    has_machine = any(mark in head for mark in ('"hw"', '"hardware"', '"conc"'))
    return head.lstrip().startswith(("{", "[")) and '"tput_per_gpu"' in head and has_machine


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return one load per measurement; raises ImportRefusedError."""
    value = source.json()
    loads = [
        _load_of(dict_of(result), ticket, number)
        for number, result in enumerate(value if isinstance(value, list) else [value])
    ]
    if not loads or not all(load.rows for load in loads):
        raise ImportRefusedError(f"{source.name} is of InferenceX, but one of its measurements has no result.")
    return loads


def _load_of(result: Mapping[str, Any], ticket: Ticket, index: int) -> LoadBuilder:
    values = dict(result) | dict(dict_of(result.get("metrics")))
    load = LoadBuilder(
        ticket, TOOL, None, TOOL, ticket.file_date, number=index, model=text(values.get("model")),
        params={name: cut(value) for name, value in values.items()
                if name not in (*TOTALS, "metrics") and not STATISTIC.fullmatch(name) and value is not None},
    )  # fmt: skip
    stated_settings = {
        "quantization": text(values.get("precision"), 60),
        "tensor_parallel": count(values.get("tp")),
        "image": text(values.get("image")),
    }
    load.server_config |= {name: value for name, value in stated_settings.items() if value is not None}
    concurrency, prompt_tokens, output_tokens = (count(values.get(name)) for name in ("conc", "isl", "osl"))
    point = MeasurementPoint(
        f"pp{prompt_tokens} tg{output_tokens} {concurrency} at once", concurrency, prompt_tokens, output_tokens
    )
    for name, value in values.items():
        match = STATISTIC.fullmatch(name)
        if name in TOTALS:
            load.result(point, TOTALS[name], "mean", value)
        elif match and match["statistic"] != "std":
            _add_statistic(load, point, match, value, values)
    return load


def _add_statistic(
    load: LoadBuilder, point: MeasurementPoint, match: re.Match[str], value: Any, values: Mapping[str, Any]
) -> None:
    """Add a statistic; `std_intvty` is 1 / the deviation of TPOT, which is no deviation of a speed."""
    metric, factor = METRICS[match["what"]]
    has_deviation = match["statistic"] == "mean" and match["what"] != "intvty"
    population_sd = number(values.get(f"std_{match['what']}")) if has_deviation else None
    is_median = match["statistic"] == "p50" and f"median_{match['what']}" not in values
    load.result(
        point, metric, "median" if is_median else match["statistic"], value, factor=factor, population_sd=population_sd
    )

"""The same known numbers in each of the ways in which people's scripts write them: the reading is always the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.collectors.imports.captured import load_of, results_of

Values = dict[str, Any]
LEVELS: dict[int, Values] = {
    8: {"ttft_mean_ms": 63.75, "ttft_p99_ms": 159.5, "output_tok_s": 1688.25, "request_throughput_req_s": 5.5,
        "completed": 398, "failed": 2},
    32: {"ttft_mean_ms": 154.5, "ttft_p99_ms": 1386.25, "output_tok_s": 2780.5, "request_throughput_req_s": 14.25,
         "completed": 1400, "failed": 0},
}  # fmt: skip
MODEL = {"model": "acme/Zephyr-8B"}
RECORDS = [{"concurrency": level, **values} for level, values in LEVELS.items()]
FLAT = [{**MODEL, **record} for record in RECORDS]
UNITS = {"ttft": "ms", "output": "tok/s", "request_throughput": "requests/s"}
TRUTH = [
    (metric, statistic, value, level)
    for level, values in LEVELS.items()
    for (metric, statistic), value in zip(
        (
            ("ttft_ms", "mean"), ("ttft_ms", "p99"), ("output_tps", "stated"), ("request_tps", "stated"),
            ("requests", "stated"), ("failed_requests", "stated"),
        ),
        values.values(), strict=True,
    )
]  # fmt: skip


def _parts(name: str) -> tuple[str, str, str]:
    """The metric, the statistic and the unit of a name."""
    metric = next((metric for metric in UNITS if name.startswith(metric)), name)
    statistic = next((part for part in ("mean", "p99") if part in name), "")
    return metric, statistic, UNITS.get(metric, "")


def _renamed(
    name_of: Callable[[str], str], value_of: Callable[[str, Any], Any] = lambda _, value: value
) -> list[Values]:
    return [
        {**MODEL, "concurrency": level, **{name_of(name): value_of(name, value) for name, value in values.items()}}
        for level, values in LEVELS.items()
    ]


def _bare(name: str) -> str:
    metric, statistic, _ = _parts(name)
    return f"{metric}_{statistic}".strip("_")


def _with_inner(outer: Callable[[str], str], inner: Callable[[str], str]) -> list[Values]:
    """Records with the statistics of the latency in objects of their own."""
    rows: list[Values] = []
    for record in FLAT:
        row: Values = {}
        for name, value in record.items():
            if name.startswith("ttft"):
                row.setdefault(outer(name), {})[inner(name)] = value
            else:
                row[name] = value
        rows.append(row)
    return rows


def _long_rows() -> list[Values]:
    return [
        {
            **MODEL,
            "concurrency": level,
            "metric": metric,
            "statistic": statistic,
            "value": value,
            "unit": unit or "count",
        }
        for level, values in LEVELS.items()
        for name, value in values.items()
        for metric, statistic, unit in (_parts(name),)
    ]


def _table(rows: list[Values], separator: str = ",") -> str:
    text = StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=separator, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _aligned(rows: list[Values]) -> str:
    return "\n".join(
        " ".join(str(cell).ljust(26) for cell in cells) for cells in (rows[0], *(row.values() for row in rows))
    )


def _by_arm(name: str) -> Values:
    return {name.format(level): values for level, values in LEVELS.items()}


def _value_with_unit(name: str, value: Any) -> Any:
    return f"{value} {_parts(name)[2]}" if _parts(name)[2] else value


def _value_beside_unit(name: str, value: Any) -> Any:
    return {"value": value, "unit": _parts(name)[2]} if _parts(name)[2] else value


def _json(value: Any) -> str:
    return json.dumps(value, indent=1)


_UNITS_OF_NAMES: Mapping[str, str] = {_bare(name): _parts(name)[2] for name in LEVELS[8] if _parts(name)[2]}
WAYS: dict[str, tuple[str, str]] = {
    "list": ("json", _json(FLAT)),
    "results": ("json", _json(MODEL | {"results": RECORDS})),
    "metadata": ("json", _json({"metadata": MODEL, "runs": RECORDS})),
    "arms": ("json", _json(MODEL | {"arms": {f"run {record['concurrency']}x": record for record in RECORDS}})),
    "levels c8": ("json", _json(MODEL | {"results": _by_arm("c{}")})),
    "levels concurrency_8": ("json", _json(MODEL | {"results": _by_arm("concurrency_{}")})),
    "levels concurrency=8": ("json", _json(MODEL | _by_arm("concurrency={}"))),
    "levels '8 users'": ("json", _json(MODEL | {"sweep": _by_arm("{} users")})),
    "levels by_concurrency": ("json", _json(MODEL | {"by_concurrency": _by_arm("{}")})),
    "lines": ("jsonl", "".join(f"{json.dumps(record)}\n" for record in FLAT)),
    "lines below a header": (
        "jsonl", "".join(f"{json.dumps(item)}\n" for item in ({"type": "meta"} | MODEL, *RECORDS)),
    ),
    "one after the other": ("json", "\n".join(map(_json, FLAT))),
    "Python's lines": ("txt", "".join(f"{record!r}\n" for record in FLAT)),
    "Python's list": ("txt", repr(FLAT)),
    "YAML": ("yaml", yaml.safe_dump(MODEL | {"results": RECORDS})),
    "CSV": ("csv", _table(FLAT)),
    "CSV below remarks": ("csv", "# model: acme/Zephyr-8B\n# host: a\n" + _table(RECORDS)),
    "CSV below a title": ("csv", "Results of March\n\n" + _table(FLAT)),
    "CSV with an index": ("csv", _table([{"": number, **record} for number, record in enumerate(FLAT)])),
    "TSV": ("tsv", _table(FLAT, "\t")),
    "semicolons": ("csv", _table(FLAT, ";")),
    "decimal commas": ("csv", _table(FLAT, ";").replace(".", ",")),
    "bars": ("txt", _table(FLAT, "|")),
    "blanks": ("txt", _aligned(FLAT)),
    "long CSV": ("csv", _table(_long_rows())),
    "long JSON": ("json", _json(_long_rows())),
    "list of metrics": ("json", _json(MODEL | {"results": [
        {"concurrency": level, "metrics": [
            {"name": _bare(name), "value": value, "unit": _parts(name)[2] or "count"} for name, value in values.items()
        ]} for level, values in LEVELS.items()
    ]})),
    "unit in the value": ("json", _json(_renamed(_bare, _value_with_unit))),
    "unit beside the value": ("json", _json(_renamed(_bare, _value_beside_unit))),
    "object of units": ("json", _json({"units": _UNITS_OF_NAMES, "results": _renamed(_bare)})),
    "numbers as texts": ("json", _json(_renamed(str, lambda _, value: str(value)))),
    "thousands": ("json", _json(_renamed(str, lambda _, value: f"{value:,}"))),
    "nested": ("json", _json(_with_inner(lambda _: "ttft_ms", lambda name: _parts(name)[1]))),
    "inverted": ("json", _json(_with_inner(lambda name: _parts(name)[1], lambda _: "ttft_ms"))),
    "percentiles in words": ("json", _json(_renamed(lambda name: name.replace("p99", "percentile_99")))),
    "ordinals": ("json", _json(_renamed(lambda name: name.replace("p99", "99th_percentile")))),
    "msec": ("json", _json(_renamed(lambda name: name.replace("_ms", "_msec")))),
    "YAML's documents": ("yaml", "---\n".join(yaml.safe_dump(record, sort_keys=False) for record in FLAT)),
    "objects behind a word": ("log", "start\n" + "".join(f"RESULT: {json.dumps(record)}\n" for record in FLAT)),
    "objects behind a time": ("log", "".join(f"[2026-03-01 12:00:01] INFO {json.dumps(record)}\n" for record in FLAT)),
    "Python's behind a name": ("log", "".join(f"run {record['concurrency']}: {record!r}\n" for record in FLAT)),
    "an object within a log": ("log", f"Running ...\n{_json(MODEL | {'results': RECORDS})}\nDone.\n"),
    "pairs on a line": ("log", "".join(f"{' '.join(f'{k}={v}' for k, v in record.items())}\n" for record in FLAT)),
    "pairs between bars": (
        "log", "".join(f"{' | '.join(f'{k}= {v}' for k, v in record.items())}\n" for record in FLAT),
    ),
    "words": (
        "csv", _table([{key.replace("_", " ").title(): value for key, value in record.items()} for record in FLAT]),
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_the_same_reading_of_the_same_numbers(tmp_path: Path, way: str) -> None:
    ending, content = WAYS[way]
    path = tmp_path / f"bench.{ending}"
    path.write_text(content)
    load = load_of(path)
    rows = [(row.metric, row.statistic, row.value, row.concurrency) for row in results_of(load)]
    assert sorted(rows) == sorted(TRUTH)
    assert load.model == MODEL["model"]


def test_a_number_as_the_name_of_an_arm_is_no_level(tmp_path: Path) -> None:
    path = tmp_path / "bench.json"
    path.write_text(_json({"results": _by_arm("{}")}))
    assert {row.concurrency for row in results_of(load_of(path))} == {None}
    path.write_text(_json({"results": {f"fp{level}": values for level, values in LEVELS.items()}}))
    assert {row.concurrency for row in results_of(load_of(path))} == {None}


def test_lengths_beside_heads_of_the_same_words_are_those_of_the_row(tmp_path: Path) -> None:
    path = tmp_path / "bench.csv"
    path.write_text("Input Len,Output Len,Output tok/s,TTFT ms\n512,128,611.25,71.5\n2048,128,488.5,203.25\n")
    rows = [(row.metric, row.prompt_tokens, row.output_tokens) for row in results_of(load_of(path))]
    assert rows == [("output_tps", 512, 128), ("ttft_ms", 512, 128), ("output_tps", 2048, 128), ("ttft_ms", 2048, 128)]

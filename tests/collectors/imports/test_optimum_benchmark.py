"""Reports of optimum-benchmark: JSON, Markdown and text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import load_of

EXPECTED = [
    ("model_load_s", "mean", 35.5), ("stated", "max", 5976.25),
    ("prompt_ms", "mean", 62.5), ("prompt_ms", "median", 62.0), ("prompt_ms", "p99", 65.5), ("stated", "mean", 16.5),
    ("decode_ms", "mean", 2500.0), ("batch_decode_tps", "mean", 24.5), ("stated", "mean", 0.045),
]  # fmt: skip


def report() -> dict[str, Any]:
    return {
        "load_model": {
            "memory": {"unit": "MB", "max_ram": 5976.25, "max_reserved": None},
            "latency": {"unit": "s", "count": 1, "total": 35.5, "mean": 35.5, "stdev": 0, "stdev_": 0},
        },
        "prefill": {
            "latency": {"unit": "s", "count": 10, "mean": 0.0625, "p50": 0.062, "p99": 0.0655, "stdev": 0.003,
                        "stdev_": 0.1},
            "throughput": {"unit": "samples/s", "value": 16.5},
        },
        "decode": {
            "latency": {"unit": "s", "count": 10, "mean": 2.5, "stdev_": 0.1},
            "throughput": {"unit": "tokens/s", "value": 24.5},
        },
        "per_token": {"latency": {"unit": "s", "count": 900, "mean": 0.045, "stdev_": 0.1}, "throughput": None},
    }  # fmt: skip


def test_a_report_as_json(tmp_path: Path) -> None:
    path = tmp_path / "benchmark_report.json"
    path.write_text(json.dumps(report()))
    load = load_of(path)
    assert [(row.metric, row.statistic, round(row.value or 0, 6)) for row in load.result_rows] == EXPECTED
    prompt = load.result_rows[2]
    assert (prompt.point, prompt.n) == ("prefill", 10) and prompt.sd == pytest.approx(3 * (10 / 9) ** 0.5)
    path.write_text(json.dumps({"config": {"backend": {"model": "acme/a-7b"}}, "report": report()}))
    assert load_of(path).model == "acme/a-7b"


def test_a_report_as_markdown(tmp_path: Path) -> None:
    path = tmp_path / "benchmark_report.md"
    tables = {
        "load_model": {"memory": ["max_ram | 5976.25 | MB"], "latency": ["count | 1 | -", "mean | 35.5 | s"]},
        "prefill": {
            "latency": ["mean | 0.0625 | s", "p50 | 0.062 | s", "p99 | 0.0655 | s", "stdev_ | 0.40 | %"],
            "throughput": ["throughput | 16.5 | samples/s"],
        },
        "decode": {"latency": ["mean | 2.5 | s"], "throughput": ["throughput | 24.5 | tokens/s"]},
        "per_token": {"latency": ["total | 40.5 | s", "mean | 0.045 | s"]},
    }
    head = "| metric | value | unit |\n| :----- | ----: | ---: |\n"
    path.write_text(
        "\n".join(
            f"# {part}:\n\n"
            + "".join(
                f"## {name}:\n\n{head}" + "".join(f"| {row} |\n" for row in rows) for name, rows in measures.items()
            )
            for part, measures in tables.items()
        )
    )
    load = load_of(path)
    assert [(row.metric, row.statistic, round(row.value or 0, 6)) for row in load.result_rows] == EXPECTED


@pytest.mark.parametrize(
    "line", ["+ {name}: {value} ({unit})", "+ {name} ({unit}): {value}", "{name}: {value} ({unit})"]
)
def test_a_report_as_text(tmp_path: Path, line: str) -> None:
    lines = []
    for part, measures in report().items():
        lines.append(f"{line[:2].strip('{n')}{part}:")
        for measure, values in measures.items():
            numbers = {name: value for name, value in (values or {}).items() if name != "unit" and value is not None}
            lines += [f"\t{line[:2].strip('{n')}{measure}:"] if numbers else []
            for name, value in numbers.items():
                shown_name = measure if name == "value" else name
                own_line = line.replace(" ({unit})", "") if name == "count" else line
                unit = "%" if name == "stdev_" else values["unit"]
                lines.append(f"\t\t{own_line.format(name=shown_name, value=value, unit=unit)}")
    path = tmp_path / "benchmark_report.txt"
    path.write_text("\n".join(lines))
    load = load_of(path)
    assert [(row.metric, row.statistic, round(row.value or 0, 6)) for row in load.result_rows] == EXPECTED
    assert load.result_rows[2].n == 10 and load.result_rows[2].sd == pytest.approx(3 * (10 / 9) ** 0.5)


def test_a_report_of_training_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "benchmark.json"
    path.write_text('{"load_model": {"latency": null}, "train": {"latency": {"unit": "s", "mean": 5, "stdev_": 0}}}')
    with pytest.raises(ImportRefusedError, match="report of optimum-benchmark, but times no part"):
        load_of(path)

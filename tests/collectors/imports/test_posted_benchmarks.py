"""Results that people post: short files of the benchmark tools, with their numbers as printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from collectors.imports.results.builder import LoadBuilder
from load_records import Result
from tests.collectors.imports.captured import captured, load_of, loads_of, one, results_of, value


def keys_of(rows: list[Result]) -> list[tuple[str, str, str]]:
    return [(row.point, row.metric, row.statistic) for row in rows]


def written(tmp_path: Path, name: str, text: str) -> list[LoadBuilder]:
    path = tmp_path / name
    path.write_text(text)
    loads = loads_of(path)
    for load in loads:
        keys = keys_of(results_of(load))
        assert len(keys) == len(set(keys)), "nothing is stored twice"
    return loads


def numbers(load: LoadBuilder, metric: str, statistic: str = "mean") -> list[tuple[str, float | None]]:
    return [(row.point, row.value) for row in results_of(load) if (row.metric, row.statistic) == (metric, statistic)]


# --- vllm bench serve, its sweeps, and InferenceX ---------------------------------------------------------------------
def test_speculation_of_vllm_bench_serve() -> None:
    path = captured("vllm_bench/speculation.json")
    load, raw = load_of(path), json.loads(path.read_text())
    rows = results_of(load)
    assert len(keys_of(rows)) == len(set(keys_of(rows)))
    medians = [row.value for row in rows if row.statistic == "median"]
    assert medians == [raw[f"median_{name}_ms"] for name in ("ttft", "tpot", "itl", "e2el")]
    assert value(rows, "acceptance_rate", "mean") == pytest.approx(0.02024252080014162)
    rates = [row.value for row in rows if row.metric == "position_acceptance_rate"]
    assert rates == raw["spec_decode_per_position_acceptance_rates"] and rows[-1].statistic == "p99"
    assert one(rows, "position_acceptance_rate", "mean", "0.2 requests/s, draft position 0").unit == "ratio"
    assert value(rows, "prompt_tokens", "total") == 424759 and load.params["spec_decode_num_drafts"] == 37660
    assert "spec_decode_acceptance_rate" not in load.params


def test_latencies_in_seconds_by_their_names() -> None:
    load = load_of(captured("inferencex/serving.json"))
    rows = results_of(load)
    told = [(row.metric, row.statistic, row.value) for row in rows if row.unit == "ms"]
    assert told == [
        ("ttft_ms", "median", pytest.approx(3138.2447043433785)), ("ttft_ms", "p99", pytest.approx(16561.80969102308)),
        ("e2e_ms", "median", pytest.approx(21447.94770143926)), ("e2e_ms", "p99", pytest.approx(30149.846625011413)),
        ("tpot_ms", "median", pytest.approx(141.0519243694666)), ("tpot_ms", "p99", pytest.approx(196.229197233622)),
    ]  # fmt: skip
    assert value(rows, "output_tps", "mean") == 95.41597717158848
    assert value(rows, "prompt_tps", "mean") == 7633.278173727079


def test_seconds_and_milliseconds_are_one_value(tmp_path: Path) -> None:
    raw = json.loads(captured("inferencex/serving.json").read_text())
    both = raw | {"median_ttft_ms": 3138.0, "p50_ttft_ms": 3138.5, "std_ttft_ms": 1.0, "mean_tpot": 0.2}
    rows = results_of(written(tmp_path, "both.json", json.dumps(both))[0])
    assert value(rows, "ttft_ms", "median") == 3138.0 and value(rows, "ttft_ms", "p50") == 3138.5
    assert value(rows, "tpot_ms", "mean") == 200.0


def test_sweep_of_vllm_bench_as_list_and_as_table(tmp_path: Path) -> None:
    raw = json.loads(captured("vllm_bench/speculation.json").read_text())
    runs = [raw | {"run_number": n, "max_num_seqs": 32, "max_concurrency": 4 * (n + 1)} for n in range(2)]
    first, second = written(tmp_path, "summary.json", json.dumps(runs))
    assert {row.point for row in results_of(second) if row.unit == "ms"} == {"8 at once, run 1"}
    assert first.params["max_num_seqs"] == 32 and first.number != second.number
    names = list(runs[0])
    lines = [",".join(["", *names])]
    for number, run in enumerate(runs):
        cells = ("" if run[name] is None else json.dumps(run[name]).replace('"', "") for name in names)
        lines.append(",".join([str(number), *(f'"{cell}"' if "," in cell else cell for cell in cells)]))
    from_table = written(tmp_path, "summary.csv", "\n".join(lines) + "\n")
    assert [keys_of(results_of(load)) for load in from_table] == [
        keys_of(results_of(first)),
        keys_of(results_of(second)),
    ]
    assert results_of(from_table[1])[0].value == results_of(second)[0].value
    assert from_table[0].ts == first.ts and from_table[0].model == first.model

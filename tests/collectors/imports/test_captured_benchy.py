"""Files of llama-benchy, against numbers recomputed from the raw values in them."""

from __future__ import annotations

import csv
import json
from statistics import fmean, stdev

from load_records import LoadPhase
from tests.collectors.imports.captured import captured, load_of, loads_of, requests_of, result_at, results_of, value
from tests.collectors.imports.test_captured_speeds import near, near_all

# --- llama-benchy -----------------------------------------------------------------------------------------------------
NAMES = {
    "pp_throughput": "prompt_tps", "pp_req_throughput": "prompt_tps_per_request", "tg_throughput": "output_tps",
    "tg_req_throughput": "decode_tps", "peak_throughput": "peak_output_tps", "peak_req_throughput": "peak_decode_tps",
    "ttfr": "ttfr_ms", "est_ppt": "prompt_ms", "e2e_ttft": "ttft_ms",
}  # fmt: skip


def test_llama_benchy_json_has_means_and_spreads() -> None:
    path = captured("llama-benchy/result.json")
    load, raw = load_of(path), json.loads(path.read_text())
    assert (load.tool, load.tool_version, load.model) == ("llama-benchy", raw["version"], raw["model"])
    rows = results_of(load)
    assert len(rows) == len(NAMES) * len(raw["benchmarks"])
    for bench in raw["benchmarks"]:
        c = bench["concurrency"]
        point = f"pp{bench['prompt_size']} tg{bench['response_size']} d{bench['context_size']} c{c}"
        for name, metric in NAMES.items():
            told, values = result_at(rows, metric, "mean", point), bench[name]["values"]
            assert told.value == near(fmean(values)) and told.sd == near(stdev(values)) and told.n == len(values)
            assert (told.concurrency, told.prompt_tokens, told.depth_tokens) == (
                c, bench["prompt_size"], bench["context_size"],
            )  # fmt: skip
            assert told.definition == "llama-benchy 0.4.0"


def test_llama_benchy_says_where_runs_are_missing() -> None:
    path = captured("llama-benchy/result.json")
    raw = json.loads(path.read_text())
    rows = results_of(load_of(path))
    reasons_by_point = {r.point: r.reason for r in rows if r.metric == "ttft_ms"}
    for bench in raw["benchmarks"]:
        c, values = bench["concurrency"], len(bench["e2e_ttft"]["values"])
        point = f"pp{bench['prompt_size']} tg{bench['response_size']} d{bench['context_size']} c{c}"
        assert reasons_by_point[point] == (
            None if values == 3 * c else f"values_missing present={values} wanted={3 * c}"
        )
    assert any(reasons_by_point.values()) and not all(reasons_by_point.values())


def test_llama_benchy_csv_has_no_deviation() -> None:
    path = captured("llama-benchy/result.csv")
    rows = results_of(load_of(path))
    with path.open(newline="") as file:
        means = [float(v) for row in csv.DictReader(file) for k, v in row.items() if k.endswith("_mean") and v]
    assert sorted(r.value or 0.0 for r in rows) == sorted(means)
    assert all(r.sd is None and r.reason and r.reason.endswith("sd_count_not_told") for r in rows)
    assert value(rows, "output_tps", "mean", "pp256 tg32 d512 c2") == near(3.964975115278474)
    assert "may_count_chunks" in str(result_at(rows, "decode_tps", "mean", "pp256 tg32 d0 c1").reason)


def test_llama_benchy_markdown_has_every_number() -> None:
    path = captured("llama-benchy/result.md")
    (load,) = loads_of(path)
    rows = results_of(load)
    cells = [cell for line in path.read_text().splitlines()[2:] for cell in line.split("|") if "±" in cell]
    assert sorted(r.value or 0.0 for r in rows) == sorted(float(cell.split("±")[0]) for cell in cells)
    assert value(rows, "prompt_tps", "mean", "ctx d512 c2") == 946.65
    assert value(rows, "decode_tps", "mean", "pp256 tg32 d512 c2") == 11.39
    assert not load.notes


def test_llama_benchy_progress_is_its_requests() -> None:
    path = captured("llama-benchy/progress.jsonl")
    load = load_of(path)
    documents = [json.loads(line) for line in path.read_text().splitlines()]
    starts = {t["request_id"]: t for t in documents if t["type"] == "request_start"}
    ends = {t["request_id"]: t for t in documents if t["type"] == "request_end"}
    first = {t["request_id"]: t["ttft_s"] for t in documents if t["type"] == "request_first_token"}
    rows = requests_of(load)
    assert len(rows) == len(starts) == 60 and load.tool_version == "0.4.0"
    assert sum(r.completion_tokens or 0 for r in rows) == sum(
        e["total_tokens"] for e in ends.values() if not e["error"]
    )
    assert sum(r.error_kind is not None for r in rows) == sum(bool(e["error"]) for e in ends.values()) > 0
    assert {r.error_kind for r in rows} == {None, "closed"}
    assert sorted(r.ttft_ms or 0 for r in rows if r.ttft_ms) == near_all(sorted(1e3 * s for s in first.values()))
    phases = [row for row in load.rows if isinstance(row, LoadPhase)]
    assert len(phases) == 8 and sum(p.planned_requests for p in phases) == 60


def test_llama_benchy_results_and_progress_merge() -> None:
    (load,) = loads_of(captured("llama-benchy/pair"))
    raw = json.loads(captured("llama-benchy/pair/result.json").read_text())["benchmarks"][0]
    rows, requests = results_of(load), requests_of(load)
    assert value(rows, "ttft_ms", "mean") == near(raw["e2e_ttft"]["mean"])
    assert len(requests) == len(raw["e2e_ttft"]["values"]) == 6
    assert {(r.completion_tokens, r.concurrency, r.chunks) for r in requests} == {(8, 2, 8)}
    assert load.ts == min(r.sent_at for r in requests) and load.base_url == "http://127.0.0.1:8000/v1"

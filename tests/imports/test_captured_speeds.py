"""What the tools that measure speed wrote, against numbers made anew of the raw values in their own files."""

from __future__ import annotations

import csv
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import fmean, median, pstdev, stdev
from typing import Any

import pytest

from load_records import LoadPhase
from tests.imports.captured import captured, load_of, loads_of, one, requests_of, results_of, value

CLOSE = {"rel": 1e-9, "abs": 1e-9}


def near(wanted: float) -> Any:
    return pytest.approx(wanted, **CLOSE)


# --- llama-benchy -----------------------------------------------------------------------------------------------------
NAMES = {
    "pp_throughput": "prompt_tps", "pp_req_throughput": "prompt_tps_per_request", "tg_throughput": "output_tps",
    "tg_req_throughput": "decode_tps", "peak_throughput": "peak_output_tps", "peak_req_throughput": "peak_decode_tps",
    "ttfr": "ttfr_ms", "est_ppt": "prompt_ms", "e2e_ttft": "ttft_ms",
}  # fmt: skip


def test_llama_benchy_json_gives_the_means_and_deviations_of_its_values() -> None:
    path = captured("llama-benchy/result.json")
    load, raw = load_of(path), json.loads(path.read_text())
    assert (load.tool, load.tool_version, load.model) == ("llama-benchy", raw["version"], raw["model"])
    rows = results_of(load)
    assert len(rows) == len(NAMES) * len(raw["benchmarks"])
    for bench in raw["benchmarks"]:
        c = bench["concurrency"]
        point = f"pp{bench['prompt_size']} tg{bench['response_size']} d{bench['context_size']} c{c}"
        for name, metric in NAMES.items():
            told, values = one(rows, metric, "mean", point), bench[name]["values"]
            assert told.value == near(fmean(values)) and told.sd == near(stdev(values)) and told.n == len(values)
            assert (told.concurrency, told.prompt_tokens, told.depth_tokens) == (
                c, bench["prompt_size"], bench["context_size"],
            )  # fmt: skip
            assert told.definition == "llama-benchy 0.4.0"


def test_llama_benchy_says_where_runs_are_missing() -> None:
    path = captured("llama-benchy/result.json")
    raw = json.loads(path.read_text())
    rows = results_of(load_of(path))
    told = {r.point: r.reason for r in rows if r.metric == "ttft_ms"}
    for bench in raw["benchmarks"]:
        c, values = bench["concurrency"], len(bench["e2e_ttft"]["values"])
        point = f"pp{bench['prompt_size']} tg{bench['response_size']} d{bench['context_size']} c{c}"
        assert told[point] == (None if values == 3 * c else f"values_missing present={values} wanted={3 * c}")
    assert any(told.values()) and not all(told.values())


def test_llama_benchy_csv_has_every_number_and_no_deviation() -> None:
    path = captured("llama-benchy/result.csv")
    rows = results_of(load_of(path))
    with path.open(newline="") as file:
        means = [float(v) for row in csv.DictReader(file) for k, v in row.items() if k.endswith("_mean") and v]
    assert sorted(r.value or 0.0 for r in rows) == sorted(means)
    assert all(r.sd is None and r.reason and r.reason.endswith("sd_count_not_told") for r in rows)
    assert value(rows, "output_tps", "mean", "pp256 tg32 d512 c2") == near(3.964975115278474)
    assert "may_count_chunks" in str(one(rows, "decode_tps", "mean", "pp256 tg32 d0 c1").reason)


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
    told = [json.loads(line) for line in path.read_text().splitlines()]
    starts = {t["request_id"]: t for t in told if t["type"] == "request_start"}
    ends = {t["request_id"]: t for t in told if t["type"] == "request_end"}
    first = {t["request_id"]: t["ttft_s"] for t in told if t["type"] == "request_first_token"}
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


def near_all(wanted: list[float]) -> Any:
    return pytest.approx(wanted, **CLOSE)


def test_llama_benchy_s_results_and_progress_side_by_side_are_one_load() -> None:
    (load,) = loads_of(captured("llama-benchy/pair"))
    raw = json.loads(captured("llama-benchy/pair/result.json").read_text())["benchmarks"][0]
    rows, requests = results_of(load), requests_of(load)
    assert value(rows, "ttft_ms", "mean") == near(raw["e2e_ttft"]["mean"])
    assert len(requests) == len(raw["e2e_ttft"]["values"]) == 6
    assert {(r.completion_tokens, r.concurrency, r.chunks) for r in requests} == {(8, 2, 8)}
    assert load.ts == min(r.sent_at for r in requests) and load.base_url == "http://127.0.0.1:8000/v1"


# --- vllm bench serve, sglang.bench_serving ---------------------------------------------------------------------------
def test_vllm_bench_serve_with_every_request() -> None:
    path = captured("vllm_bench/result-detailed.json")
    load, raw = load_of(path), json.loads(path.read_text())
    rows, requests = results_of(load), requests_of(load)
    ttfts, lats = [1e3 * s for s in raw["ttfts"]], [1e3 * s for s in raw["latencies"]]
    tpots = [(e - t) / (n - 1) for e, t, n in zip(lats, ttfts, raw["output_lens"], strict=True)]
    itls = [1e3 * gap for gaps in raw["itls"] for gap in gaps]
    for metric, values in (("ttft_ms", ttfts), ("tpot_ms", tpots), ("itl_ms", itls)):
        mean = one(rows, metric, "mean")
        assert (mean.value, mean.n) == (pytest.approx(fmean(values)), len(values))
        assert mean.sd == pytest.approx(stdev(values)) and value(rows, metric, "median") == pytest.approx(
            median(values)
        )
    assert value(rows, "output_tps", "mean") == near(sum(raw["output_lens"]) / raw["duration"])
    assert value(rows, "request_tps", "mean") == near(24 / raw["duration"])
    assert [r.ttft_ms for r in requests] == near_all(ttfts) and [r.total_ms for r in requests] == near_all(lats)
    assert [len(r.chunk_us or ()) for r in requests] == [len(gaps) + 1 for gaps in raw["itls"]]
    assert {(r.concurrency, r.completion_tokens, r.error_kind) for r in requests} == {(3, 256, None)}
    since = [s - min(raw["start_times"]) for s in raw["start_times"]]
    assert [r.since_phase_s for r in requests] == near_all(since)
    assert all(
        (r.sent_at - load.ts).total_seconds() == pytest.approx(s, abs=1e-5)
        for r, s in zip(requests, since, strict=True)
    )
    assert "counts_pieces" in str(one(rows, "peak_output_tps", "max").reason)


@pytest.mark.parametrize("name", ["result.jsonl", "result_sglang.jsonl"])
def test_sglang_bench_serving_line_by_line(name: str) -> None:
    path = captured(f"sglang_bench/{name}")
    load = load_of(path)
    raw = json.loads(path.read_text())  # with a bare Infinity
    rows, requests = results_of(load), requests_of(load)
    assert value(rows, "output_tps", "mean") == near(raw["total_output_tokens"] / raw["duration"])
    assert value(rows, "e2e_ms", "p95") == near(raw["p95_e2e_latency_ms"])
    assert load.params["request_rate"] == "Infinity" and load.tool == "sglang.bench_serving"
    spread = one(rows, "ttft_ms", "mean")
    n = raw["completed"]
    assert spread.sd == near(raw["std_ttft_ms"] * (n / (n - 1)) ** 0.5)
    if "ttfts" in raw:
        assert [r.ttft_ms for r in requests] == near_all([1e3 * s for s in raw["ttfts"]])
        assert spread.sd == pytest.approx(stdev(1e3 * s for s in raw["ttfts"]))
        assert all("sent_at" in r.extra and r.since_phase_s is None for r in requests)
    else:
        assert not requests


# --- GuideLLM ---------------------------------------------------------------------------------------------------------
def guidellm_requests(path: Path) -> Iterator[tuple[dict[str, Any], str]]:
    for bench in json.loads(path.read_text())["benchmarks"]:
        streams = bench["config"]["strategy"]["streams"]
        yield bench, f"{streams} at once"


def test_guidellm_json_gives_what_its_requests_say() -> None:
    path = captured("guidellm/benchmarks.json")
    load = load_of(path)
    rows = results_of(load)
    for bench, point in guidellm_requests(path):
        raw = bench["requests"]["successful"]
        for metric, values in (
            ("e2e_ms", [1e3 * r["request_latency"] for r in raw]),
            ("ttft_ms", [r["time_to_first_token_ms"] for r in raw]),
            ("completion_tokens", [r["output_tokens"] for r in raw]),
        ):
            mean = one(rows, metric, "mean", point)
            assert (mean.value, mean.n) == (pytest.approx(fmean(values)), len(raw))
            assert mean.sd == pytest.approx(stdev(values), abs=1e-9)
        tokens = [r["output_tokens"] - 1 for r in raw]
        weighted = sum(n * r["inter_token_latency_ms"] for n, r in zip(tokens, raw, strict=True)) / sum(tokens)
        tpot = one(rows, "tpot_ms", "mean", point)
        assert tpot.value == pytest.approx(weighted) and tpot.sd is None and tpot.reason == "sd_is_weighted"
        assert value(rows, "requests", "total", point) == len(raw) == 12
    requests = requests_of(load)
    assert len(requests) == 24 and {r.concurrency for r in requests} == {1, 4} and load.prompt_set_hash
    assert len({r.prompt_hash for r in requests}) > 1 and all(r.prompt_hash for r in requests)


def test_guidellm_csv_says_the_same() -> None:
    rows = results_of(load_of(captured("guidellm/benchmarks.csv")))
    assert value(rows, "e2e_ms", "mean", "4 at once") == pytest.approx(482.3588927586874)
    assert one(rows, "e2e_ms", "mean", "4 at once").sd == pytest.approx(25.104246799394703 * (12 / 11) ** 0.5)
    assert value(rows, "ttft_ms", "median", "1 at once") == pytest.approx(71.56586647033691)
    path = captured("guidellm/benchmarks.json")
    whole = {(r.point, r.metric, r.statistic): r for r in results_of(load_of(path))}
    for row in rows:
        other = whole[row.point, row.metric, row.statistic]
        assert (row.value, row.sd) == (pytest.approx(other.value), pytest.approx(other.sd))


# --- AIPerf -----------------------------------------------------------------------------------------------------------
def test_aiperf_s_profile_and_its_records_tell_the_same() -> None:
    load = load_of(captured("aiperf/run"))
    records = captured("aiperf/run/profile_export.jsonl").read_text().splitlines()
    raw = [{k: v["value"] for k, v in json.loads(line)["metrics"].items()} for line in records]
    rows, requests = results_of(load), requests_of(load)
    for metric, name in (
        ("e2e_ms", "request_latency"), ("ttft_ms", "time_to_first_token"), ("tpot_ms", "inter_token_latency"),
        ("decode_tps", "output_token_throughput_per_user"), ("completion_tokens", "output_sequence_length"),
    ):  # fmt: skip
        values = [r[name] for r in raw]
        mean = one(rows, metric, "mean")
        assert (mean.value, mean.sd, mean.n) == (pytest.approx(fmean(values)), pytest.approx(stdev(values)), 16)
        assert value(rows, metric, "median") == pytest.approx(median(values))
    assert (load.tool_version, load.model, load.planned_requests) == ("0.13.0", "tiny", 16)
    assert {r.concurrency for r in requests} == {4} and {r.token_source for r in requests} == {"usage"}
    assert sum(r.completion_tokens or 0 for r in requests) == sum(r["usage_completion_tokens"] for r in raw)
    assert sorted(r.total_ms or 0 for r in requests) == near_all(sorted(r["request_latency"] for r in raw))
    assert [r.sequence for r in requests] == list(range(16)) and requests[0].since_phase_s == 0


def test_aiperf_s_warm_up_is_a_phase_and_no_load_of_its_own() -> None:
    """Its folder holds the sums of each phase once more."""
    (load,) = loads_of(captured("aiperf/warmed"))
    rows, requests = results_of(load), requests_of(load)
    assert [r.phase for r in requests] == ["warmup"] * 4 + ["measure"] * 8
    assert [(r.phase_index, r.sequence) for r in requests] == [(0, n) for n in range(4)] + [(1, n) for n in range(8)]
    assert requests[4].since_phase_s == 0
    measured = [r.ttft_ms for r in requests if r.phase == "measure" and r.ttft_ms]
    assert value(rows, "ttft_ms", "mean") == pytest.approx(fmean(measured)) and one(rows, "ttft_ms", "mean").n == 8
    phases = [row for row in load.rows if isinstance(row, LoadPhase)]
    assert [(p.phase_index, p.kind, p.planned_requests) for p in phases] == [(0, "warmup", 4), (1, "measure", 8)]


def test_aiperf_csv_is_the_same_rounded() -> None:
    whole = {(r.metric, r.statistic): r.value for r in results_of(load_of(captured("aiperf/run")))}
    rows = results_of(load_of(captured("aiperf/run/profile_export_aiperf.csv")))
    assert len(rows) == len(whole)
    for row in rows:
        wanted = whole[row.metric, row.statistic]
        assert wanted is not None and row.value == pytest.approx(wanted, abs=0.00501)


def test_aiperf_records_alone_say_how_many_were_in_flight() -> None:
    load = load_of(captured("aiperf/run/profile_export.jsonl"))
    assert {r.concurrency for r in requests_of(load)} == {4} and "at most 4 requests" in load.notes[0]


def test_aiperf_s_failed_request_is_no_answer() -> None:
    (request,) = requests_of(load_of(captured("aiperf/no_object_field.first_record.jsonl")))
    assert request.error_kind == "malformed" and request.completion_tokens is None and request.ttft_ms is None


# --- EvalScope --------------------------------------------------------------------------------------------------------
def database_rows(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as database:
        return database.execute(
            "SELECT latency, first_chunk_latency, completion_tokens, success FROM result ORDER BY start_time"
        ).fetchall()


@pytest.mark.parametrize("name", ["evalscope/standin", "evalscope/fail", "evalscope/llamacpp"])
def test_evalscope_s_levels_agree_with_their_requests(name: str) -> None:
    top = captured(name)
    load = load_of(top)
    rows, requests = results_of(load), requests_of(load)
    levels = sorted(top.glob("parallel_*"), key=lambda level: int(level.name.split("_")[1]))
    for place, level in enumerate(levels):
        at_once = int(level.name.split("_")[1])
        raw = database_rows(level / "benchmark_data.db")
        point, mine = f"{at_once} at once", [r for r in requests if r.phase_index == place]
        well = [row for row in raw if row[3]]
        assert value(rows, "e2e_ms", "mean", point) == pytest.approx(1e3 * fmean(row[0] for row in well), abs=0.051)
        assert value(rows, "ttft_ms", "mean", point) == pytest.approx(1e3 * fmean(row[1] for row in well), abs=0.0051)
        assert value(rows, "e2e_ms", "max", point) == pytest.approx(1e3 * max(row[0] for row in well), abs=0.051)
        assert value(rows, "failed_requests", "total", point) == len(raw) - len(well)
        assert [r.total_ms for r in mine] == [None if row[0] is None else near(1e3 * row[0]) for row in raw]
        assert [r.error_kind for r in mine] == [None if row[3] else "failed" for row in raw]
        assert {r.concurrency for r in mine} == {at_once}


def test_evalscope_s_accept_rate_is_no_acceptance() -> None:
    rows = results_of(load_of(captured("evalscope/standin/parallel_1_number_4/benchmark_summary.json")))
    told = json.loads(captured("evalscope/standin/parallel_1_number_4/benchmark_summary.json").read_text())
    assert value(rows, "tokens_per_piece", "mean") == told["Avg Decoded Tok/Iter"]
    assert told["Spec. Accept Rate"] not in [r.value for r in rows]
    assert not {r.metric for r in rows} & {"acceptance_rate", "acceptance_length"}


def test_a_deviation_of_n_is_not_one_of_n_less_one() -> None:
    """The check of the checks above: the two differ by more than they allow."""
    assert pstdev([1.0, 2.0, 4.0]) != pytest.approx(stdev([1.0, 2.0, 4.0]), rel=0.1)

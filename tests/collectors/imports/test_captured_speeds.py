"""Files of tools that measure speed, against numbers recomputed from the raw values in them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from statistics import fmean, median, pstdev, stdev
from typing import Any

import pytest

from load_records import LoadPhase
from tests.collectors.imports.captured import captured, load_of, loads_of, requests_of, result_at, results_of, value

CLOSE = {"rel": 1e-9, "abs": 1e-9}


def near(value: float) -> Any:
    return pytest.approx(value, **CLOSE)


def near_all(values: list[float]) -> Any:
    return pytest.approx(values, **CLOSE)


# --- vllm bench serve, sglang.bench_serving ---------------------------------------------------------------------------
def test_vllm_bench_serve_with_every_request() -> None:
    path = captured("vllm_bench/result-detailed.json")
    load, raw = load_of(path), json.loads(path.read_text())
    rows, requests = results_of(load), requests_of(load)
    ttfts, lats = [1e3 * s for s in raw["ttfts"]], [1e3 * s for s in raw["latencies"]]
    tpots = [(e - t) / (n - 1) for e, t, n in zip(lats, ttfts, raw["output_lens"], strict=True)]
    itls = [1e3 * gap for gaps in raw["itls"] for gap in gaps]
    for metric, values in (("ttft_ms", ttfts), ("tpot_ms", tpots), ("itl_ms", itls)):
        mean = result_at(rows, metric, "mean")
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
    assert "counts_pieces" in str(result_at(rows, "peak_output_tps", "max").reason)


@pytest.mark.parametrize("name", ["result.jsonl", "result_sglang.jsonl"])
def test_sglang_bench_serving_line_by_line(name: str) -> None:
    path = captured(f"sglang_bench/{name}")
    load = load_of(path)
    raw = json.loads(path.read_text())  # with a bare Infinity
    rows, requests = results_of(load), requests_of(load)
    assert value(rows, "output_tps", "mean") == near(raw["total_output_tokens"] / raw["duration"])
    assert value(rows, "e2e_ms", "p95") == near(raw["p95_e2e_latency_ms"])
    assert load.params["request_rate"] == "Infinity" and load.tool == "sglang.bench_serving"
    spread = result_at(rows, "ttft_ms", "mean")
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


def test_guidellm_json_matches_its_requests() -> None:
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
            mean = result_at(rows, metric, "mean", point)
            assert (mean.value, mean.n) == (pytest.approx(fmean(values)), len(raw))
            assert mean.sd == pytest.approx(stdev(values), abs=1e-9)
        tokens = [r["output_tokens"] - 1 for r in raw]
        weighted = sum(n * r["inter_token_latency_ms"] for n, r in zip(tokens, raw, strict=True)) / sum(tokens)
        tpot = result_at(rows, "tpot_ms", "mean", point)
        assert tpot.value == pytest.approx(weighted) and tpot.sd is None and tpot.reason == "sd_is_weighted"
        assert value(rows, "requests", "total", point) == len(raw) == 12
    requests = requests_of(load)
    assert len(requests) == 24 and {r.concurrency for r in requests} == {1, 4} and load.prompt_set_hash
    assert len({r.prompt_hash for r in requests}) > 1 and all(r.prompt_hash for r in requests)


def test_guidellm_csv_says_the_same() -> None:
    rows = results_of(load_of(captured("guidellm/benchmarks.csv")))
    assert value(rows, "e2e_ms", "mean", "4 at once") == pytest.approx(482.3588927586874)
    assert result_at(rows, "e2e_ms", "mean", "4 at once").sd == pytest.approx(25.104246799394703 * (12 / 11) ** 0.5)
    assert value(rows, "ttft_ms", "median", "1 at once") == pytest.approx(71.56586647033691)
    path = captured("guidellm/benchmarks.json")
    whole = {(r.point, r.metric, r.statistic): r for r in results_of(load_of(path))}
    for row in rows:
        other = whole[row.point, row.metric, row.statistic]
        assert (row.value, row.sd) == (pytest.approx(other.value), pytest.approx(other.sd))


def test_guidellm_model_of_csv_and_of_older_reports(tmp_path: Path) -> None:
    assert load_of(captured("guidellm/benchmarks.csv")).model == load_of(captured("guidellm/benchmarks.json")).model
    report = json.loads(captured("guidellm/benchmarks.json").read_text()) | {"config": {}, "args": {"profile": "sweep"}}
    for benchmark in report["benchmarks"]:
        benchmark["config"]["backend"] = {"model": "some-8b"}
    path = tmp_path / "benchmarks.json"
    path.write_text(json.dumps(report))
    load = load_of(path)
    assert (load.model, load.params["profile"]) == ("some-8b", "sweep")


# --- AIPerf -----------------------------------------------------------------------------------------------------------
def test_aiperf_profile_and_records_agree() -> None:
    load = load_of(captured("aiperf/run"))
    records = captured("aiperf/run/profile_export.jsonl").read_text().splitlines()
    raw = [{k: v["value"] for k, v in json.loads(line)["metrics"].items()} for line in records]
    rows, requests = results_of(load), requests_of(load)
    for metric, name in (
        ("e2e_ms", "request_latency"), ("ttft_ms", "time_to_first_token"), ("tpot_ms", "inter_token_latency"),
        ("decode_tps", "output_token_throughput_per_user"), ("completion_tokens", "output_sequence_length"),
    ):  # fmt: skip
        values = [r[name] for r in raw]
        mean = result_at(rows, metric, "mean")
        assert (mean.value, mean.sd, mean.n) == (pytest.approx(fmean(values)), pytest.approx(stdev(values)), 16)
        assert value(rows, metric, "median") == pytest.approx(median(values))
    assert (load.tool_version, load.model, load.planned_requests) == ("0.13.0", "tiny", 16)
    assert {r.concurrency for r in requests} == {4} and {r.token_source for r in requests} == {"usage"}
    assert sum(r.completion_tokens or 0 for r in requests) == sum(r["usage_completion_tokens"] for r in raw)
    assert sorted(r.total_ms or 0 for r in requests) == near_all(sorted(r["request_latency"] for r in raw))
    assert [r.sequence for r in requests] == list(range(16)) and requests[0].since_phase_s == 0


def test_aiperf_warm_up_is_a_phase_not_a_load() -> None:
    """Its folder holds the sums of each phase once more."""
    (load,) = loads_of(captured("aiperf/warmed"))
    rows, requests = results_of(load), requests_of(load)
    assert [r.phase for r in requests] == ["warmup"] * 4 + ["measure"] * 8
    assert [(r.phase_index, r.sequence) for r in requests] == [(0, n) for n in range(4)] + [(1, n) for n in range(8)]
    assert requests[4].since_phase_s == 0
    measured = [r.ttft_ms for r in requests if r.phase == "measure" and r.ttft_ms]
    assert (
        value(rows, "ttft_ms", "mean") == pytest.approx(fmean(measured)) and result_at(rows, "ttft_ms", "mean").n == 8
    )
    phases = [row for row in load.rows if isinstance(row, LoadPhase)]
    assert [(p.phase_index, p.kind, p.planned_requests) for p in phases] == [(0, "warmup", 4), (1, "measure", 8)]


def test_aiperf_csv_is_the_same_rounded() -> None:
    whole, of_table = (
        {(r.metric, r.statistic): r for r in results_of(load_of(captured(f"aiperf/run{name}"))) if r.metric != "stated"}
        for name in ("", "/profile_export_aiperf.csv")
    )
    assert of_table.keys() == whole.keys()
    for key, row in of_table.items():
        assert row.value == pytest.approx(whole[key].value, abs=0.00501)


def test_aiperf_records_give_requests_in_flight() -> None:
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
def test_evalscope_levels_agree_with_requests(name: str) -> None:
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
    document = json.loads(captured("evalscope/standin/parallel_1_number_4/benchmark_summary.json").read_text())
    assert value(rows, "tokens_per_piece", "mean") == document["Avg Decoded Tok/Iter"]
    assert document["Spec. Accept Rate"] not in [r.value for r in rows]
    assert not {r.metric for r in rows} & {"acceptance_rate", "acceptance_length"}


def test_population_deviation_is_not_sample_one() -> None:
    """The check of the checks above: the two differ by more than they allow."""
    assert pstdev([1.0, 2.0, 4.0]) != pytest.approx(stdev([1.0, 2.0, 4.0]), rel=0.1)

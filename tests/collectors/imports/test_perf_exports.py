"""Files and tables of GenAI-Perf and AIPerf, as their versions write them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.collectors.imports.captured import results_of, value
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import metrics_of

STATISTICS = {"avg": 1500.5, "p99": 1900.5, "p75": 1600.5, "p50": 1490.5, "p25": 1400.5, "min": 900.5, "std": 50.0}
EXPORT: dict[str, Any] = {
    "request_throughput": {"unit": "requests/sec", "avg": 6.25},
    "request_goodput": {"unit": "requests/sec", "avg": 5.25},
    "request_latency": {"unit": "ms", **STATISTICS},
    "request_count": {"unit": "count", "avg": 100.0},
    "time_to_second_token": {"unit": "ms", "avg": 9.5, "p99": 12.5},
    "output_token_throughput_per_request": {"unit": "tokens/sec", "avg": 80.5},
}
EXPECTED = [
    ("request_tps", "mean", 6.25), ("goodput_rps", "mean", 5.25), ("e2e_ms", "mean", 1500.5), ("e2e_ms", "p99", 1900.5),
    ("e2e_ms", "p75", 1600.5), ("e2e_ms", "median", 1490.5), ("e2e_ms", "p25", 1400.5), ("e2e_ms", "min", 900.5),
    ("requests", "total", 100), ("stated", "mean", 9.5), ("stated", "p99", 12.5), ("e2e_tps", "mean", 80.5),
]  # fmt: skip


def test_json_of_genai_perf(tmp_path: Path) -> None:
    config = {"model": ["org/model"], "endpoint_type": "chat", "u": "localhost:8000", "concurrency": 8}
    (load,) = loads_of_text(tmp_path, "profile_export_genai_perf.json", json.dumps(EXPORT | {"input_config": config}))
    assert (load.tool, load.model, load.base_url) == ("GenAI-Perf", "org/model", "localhost:8000")
    assert metrics_of(load) == EXPECTED and {row.concurrency for row in results_of(load)} == {8}
    assert load.params["endpoint_type"] == "chat"


def test_json_of_early_aiperf(tmp_path: Path) -> None:
    config = {"endpoint": {"model_names": ["org/model"], "url": "http://localhost:8000"},
              "loadgen": {"concurrency": 8, "request_count": 100}}  # fmt: skip
    text = json.dumps(EXPORT | {"input_config": config, "start_time": "2025-10-10T10:11:12", "was_cancelled": False})
    (load,) = loads_of_text(tmp_path, "profile_export_aiperf.json", text)
    assert (load.tool, load.model, load.planned_requests) == ("aiperf", "org/model", 100)
    assert metrics_of(load) == EXPECTED and {row.concurrency for row in results_of(load)} == {8}


def test_later_metrics_of_aiperf(tmp_path: Path) -> None:
    later = {
        "aiperf_version": "0.13.0", "goodput": {"unit": "requests/sec", "avg": 5.25},
        "spec_decode_acceptance_length": {"unit": "ratio", "avg": 2.5, "p10": 1.5},
        "spec_decode_draft_acceptance_rate": {"unit": "%", "avg": 60.0},
        "total_osl": {"unit": "tokens", "avg": 12850}, "nvidia_average_gpu_power": {"unit": "W", "avg": 410.5},
        "input_config": {},
    }  # fmt: skip
    text = json.dumps(
        {"request_throughput": EXPORT["request_throughput"], "request_latency": {"unit": "sec", "avg": 2}} | later
    )
    (load,) = loads_of_text(tmp_path, "profile_export_aiperf.json", text)
    assert metrics_of(load) == [
        ("request_tps", "mean", 6.25), ("e2e_ms", "mean", 2000), ("goodput_rps", "mean", 5.25),
        ("acceptance_length", "mean", 2.5), ("acceptance_length", "p10", 1.5), ("acceptance_rate", "mean", 0.6),
        ("completion_tokens", "total", 12850), ("stated", "mean", 410.5),
    ]  # fmt: skip


def test_csv_of_genai_perf(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "profile_export_genai_perf.csv",
        "Metric,avg,min,max,p99,p95,p90,p75,p50,p25\n"
        'Request Latency (ms),"1,512.50",756.25,"4,537.50",3.0,2.0,2.0,2.0,"1,490.50",1.0\n'
        "Output Sequence Length,128.50,64.25,385.50,255.71,250.58,244.15,224.88,192.75,160.62\n\n"
        "Metric,Value\nOutput Token Throughput (per sec),812.50\nRequest Throughput (per sec),6.25\n"
        "Request Goodput (requests/sec),5.25\nRequest Count (count),100.00\n",
    )  # fmt: skip
    assert load.tool == "GenAI-Perf"
    rows = results_of(load)
    assert (value(rows, "e2e_ms", "mean"), value(rows, "e2e_ms", "median")) == (1512.5, 1490.5)
    assert (value(rows, "e2e_ms", "p25"), value(rows, "completion_tokens", "mean")) == (1, 128.5)
    assert metrics_of(load)[-4:] == [
        ("output_tps", "mean", 812.5), ("request_tps", "mean", 6.25), ("goodput_rps", "mean", 5.25),
        ("requests", "total", 100),
    ]  # fmt: skip


def test_csv_of_aiperf_with_the_gpus_below(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "profile_export_aiperf.csv",
        "Metric,avg,min,max,sum,p1,p50,p99,std\nTime to Second Token (ms),9.50,1,30,,5,9.25,18.91,0.95\n"
        "Inter Token Latency (ms),11.50,5.75,34.50,,5.8,11.25,22.89,1.15\n\n"
        "Metric,Value\nGoodput (requests/sec),5.25\nRequest Count,100.00\n\n\n"
        "Endpoint,GPU_Index,GPU_Name,GPU_UUID,Metric,avg,min,max\n"
        "localhost:9400,0,NVIDIA H200,GPU-1,Power (W),410,400,420\n",
    )  # fmt: skip
    assert load.tool == "aiperf"
    assert [row for row in metrics_of(load) if row[0] != "stated"] == [
        ("tpot_ms", "mean", 11.5), ("tpot_ms", "min", 5.75), ("tpot_ms", "max", 34.5), ("tpot_ms", "p1", 5.8),
        ("tpot_ms", "median", 11.25), ("tpot_ms", "p99", 22.89), ("goodput_rps", "mean", 5.25),
        ("requests", "total", 100),
    ]  # fmt: skip
    assert ("stated", "mean", 9.5) in metrics_of(load) and "GPUs" in load.notes[0]


@pytest.mark.parametrize(
    ("delimiter", "numbers"), [(",", ("11.50", '"1,522.89"')), ("\t", ("11.50", "1,522.89")),
                               (";", ("11.50", "1522.89")), (";", ("11,50", "1.522,89"))]
)  # fmt: skip
def test_csv_of_aiperf_that_a_spreadsheet_wrote(tmp_path: Path, delimiter: str, numbers: tuple[str, str]) -> None:
    lines = (
        ("Metric", "avg", "p99", "std"), ("Inter Token Latency (ms)", *numbers, ""), ("Metric", "Value"),
        ("Request Count", "100"),
    )  # fmt: skip
    text = "".join(f"{delimiter.join(line)}\n" for line in lines)
    (load,) = loads_of_text(tmp_path, "profile_export_aiperf.csv", text)
    assert load.tool == "aiperf"
    assert metrics_of(load) == [("tpot_ms", "mean", 11.5), ("tpot_ms", "p99", 1522.89), ("requests", "total", 100)]


def table(title: str, *rows: str) -> str:
    lines = [title, "┏━━━━━┳━━━━━━┓", "┃ Metric ┃ avg ┃", "┡━━━━━╇━━━━━━┩"]
    return "\n".join([*lines, *(f"│ {row} │" for row in rows), "└─────┴──────┘"]) + "\n"


def test_tables_of_one_run_of_aiperf_apart(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "post.txt",
        table("NVIDIA AIPerf | LLM Metrics", "Request Latency (ms) │ 1,500.50", "Goodput (requests/sec) │ 5.25")
        + "\n\n"
        + table("NVIDIA AIPerf | LLM Metrics: Spec Decode", "Acceptance Length (ratio) │ 2.50",
                "Draft Acceptance Rate (%) │ 60.00") + "\n\n"
        + table("GPU Power Efficiency (NVIDIA)", "Average GPU Power (W) │ 410.50")
        + "\nCLI Command: aiperf profile --model org/model --concurrency 8\nBenchmark Duration: 16.00 sec\n",
    )  # fmt: skip
    assert metrics_of(load) == [
        ("e2e_ms", "mean", 1500.5), ("goodput_rps", "mean", 5.25), ("acceptance_length", "mean", 2.5),
        ("acceptance_rate", "mean", 0.6), ("stated", "mean", 410.5), ("duration_s", "total", 16),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {8}


def test_perf_analyzer_of_triton(tmp_path: Path) -> None:
    """Its requests are those of any model."""
    level = (
        "Request concurrency: {level}\n  Client: \n    Request count: 100\n    Throughput: 6.25 infer/sec\n"
        "    Avg latency: 1512500 usec (standard deviation 15125 usec)\n    p50 latency: 1502500 usec\n"
        "    p99 latency: 1702500 usec\n    Avg HTTP time: 1500 usec (send/recv 10 usec + response wait 1490 usec)\n"
    )
    text = (
        "*** Measurement Settings ***\n  Batch size: 1\n  Service Kind: OPENAI\n  Measurement window: 5000 msec\n\n"
        f"{level.format(level=8)}{level.format(level=16)}"
        "Inferences/Second vs. Client Average Batch Latency\n"
        "Concurrency: 8, throughput: 6.25 infer/sec, latency 1512500 usec\n"
        "Concurrency: 16, throughput: 6.25 infer/sec, latency 1512500 usec\n"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.tool == "perf_analyzer" and metrics_of(load)[:6] == [
        ("requests", "total", 100), ("request_tps", "mean", 6.25), ("e2e_ms", "mean", 1512.5),
        ("e2e_ms", "median", 1502.5), ("e2e_ms", "p99", 1702.5), ("stated", "mean", 1.5),
    ]  # fmt: skip
    assert [row.concurrency for row in results_of(load)] == [8] * 6 + [16] * 6


def test_speeds_below_a_table_of_early_genai_perf(tmp_path: Path) -> None:
    text = table("LLM Metrics", "Request latency (ms) │ 1,500.50").replace("Metric ┃", "Statistic ┃")
    below = (
        "Output token throughput (per sec): 184.50\nRequest throughput (per sec): 0.75\n"
        "Request goodput (per sec): 0.5\n"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text + below)
    assert metrics_of(load) == [
        ("e2e_ms", "mean", 1500.5), ("output_tps", "mean", 184.5), ("request_tps", "mean", 0.75),
        ("goodput_rps", "mean", 0.5),
    ]  # fmt: skip


EXPORTED_CSV = (
    "Metric,avg,min,max,p99,p50\nTime To First Token (ms),95.50,80.25,150.75,149.50,90.50\n"
    'Request Latency (ms),"1,700.50","1,500.25","2,000.75","1,999.50","1,690.50"\n\n'
    "Metric,Value\nOutput Token Throughput (per sec),600.50\nRequest Count (count),48.00\n"
)


@pytest.mark.parametrize(
    "text", [f"Our run:\n\n```\n{EXPORTED_CSV}```\n", f"Our run:\n\n{EXPORTED_CSV}\nIs it slow?\n"]
)
def test_csv_within_a_text(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert load.tool == "GenAI-Perf"
    assert [(row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("ttft_ms", "mean", 95.5), ("ttft_ms", "min", 80.25), ("ttft_ms", "max", 150.75), ("ttft_ms", "p99", 149.5),
        ("ttft_ms", "median", 90.5), ("e2e_ms", "mean", 1700.5), ("e2e_ms", "min", 1500.25),
        ("e2e_ms", "max", 2000.75), ("e2e_ms", "p99", 1999.5), ("e2e_ms", "median", 1690.5),
        ("output_tps", "mean", 600.5), ("requests", "total", 48),
    ]  # fmt: skip


def test_statistics_of_unknown_metrics_and_single_values(tmp_path: Path) -> None:
    (load,) = loads_of_text(
        tmp_path, "profile_export_aiperf.csv",
        "Metric,avg,min,max,sum,p50,p99,std\n"
        "Request Latency (ms),100.00,50.00,150.00,400.00,100.00,150.00,30.00\n"
        "Inter Chunk Latency (ms),10.00,1.00,20.00,390.00,10.00,20.00,3.00\n"
        "Time to Second Token (ms),25.00,5.00,60.00,100.00,20.00,60.00,6.00\n"
        "OSL Mismatch Diff % (%),-73.50,-98.00,-25.50,-294.00,-73.00,-28.00,17.00\n\n"
        "Metric,Value\nOSL Mismatch Count,4.00\nRequest Count,4.00\nTotal Output Tokens (tokens),200.00\n"
        "Benchmark Phase Share (%),40.00\n",
    )  # fmt: skip
    rows = results_of(load)
    latency = next(row for row in rows if (row.metric, row.statistic) == ("e2e_ms", "mean"))
    assert (latency.n, latency.sd) == (4, pytest.approx(30 * (4 / 3) ** 0.5))
    assert {row.n for row in rows if row.metric == "itl_ms"} == {None}  # 39 chunks, and no requests
    stated = [(row.point.partition(": ")[2], row.statistic, row.value) for row in rows if row.metric == "stated"]
    assert stated == [
        ("time_to_second_token", "mean", 25.0), ("time_to_second_token", "min", 5.0),
        ("time_to_second_token", "max", 60.0), ("time_to_second_token", "median", 20.0),
        ("time_to_second_token", "p99", 60.0),
        ("osl_mismatch_diff_%", "mean", -73.5), ("osl_mismatch_diff_%", "min", -98.0),
        ("osl_mismatch_diff_%", "max", -25.5), ("osl_mismatch_diff_%", "median", -73.0),
        ("osl_mismatch_diff_%", "p99", -28.0),
        ("osl_mismatch_count", "total", 4.0), ("total_output_tokens", "total", 200.0),
        ("benchmark_phase_share", "stated", 40.0),
    ]  # fmt: skip


HEADLESS = (
    "Why is only one of these filled?\n"
    "│      Input Sequence Length (tokens) │  512.00 │ 512.00 │ 512.00 │ 512.00 │ 512.00 │ 512.00 │ 0.00 │\n"
    "│ Output Token Throughput (tokens/sec) │ 1,388.50 │   N/A │    N/A │    N/A │    N/A │    N/A │  N/A │\n"
    "│           Request Count (requests) │   50.00 │    N/A │    N/A │    N/A │    N/A │    N/A │  N/A │\n"
)


def test_rows_of_aiperf_whose_head_was_lost(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", HEADLESS)
    assert load.tool == "aiperf" and metrics_of(load) == [
        ("prompt_tokens", "mean", 512.0), ("output_tps", "mean", 1388.5), ("requests", "total", 50.0),
    ]  # fmt: skip
    assert load.params == {} and load.notes[0].startswith("The head of the table is missing")


def test_rows_in_another_order_than_aiperfs_are_none_of_it(tmp_path: Path) -> None:
    text = HEADLESS.replace("512.00 │ 512.00", "512.00 │ 900.00", 1)
    assert all(load.tool != "aiperf" for load in loads_of_text(tmp_path, "post.md", f"{text}\nDecode: 45.5 tok/s\n"))

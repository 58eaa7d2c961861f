"""Summaries of EvalScope's `perf` as its versions write and print them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.collectors.imports.captured import loads_of, results_of, value
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_printed_benchmarks import metrics_of

EARLY = {
    "Time taken for tests (s)": 62.5, "Number of concurrency": 8, "Total requests": 100, "Succeed requests": 99,
    "Failed requests": 1, "Output token throughput (tok/s)": 812.5, "Total token throughput (tok/s)": 1612.5,
    "Request throughput (req/s)": 1.5, "Average latency (s)": 4.9, "Average time to first token (s)": 0.125,
    "Average time per output token (s)": 0.0185, "Average inter-token latency (s)": 0.018,
    "Average input tokens per request": 500.5, "Average output tokens per request": 507.5,
}  # fmt: skip
EXPECTED = [
    ("duration_s", "total", 62.5), ("requests", "total", 99), ("failed_requests", "total", 1),
    ("output_tps", "mean", 812.5), ("total_tps", "mean", 1612.5), ("request_tps", "mean", 1.5),
    ("e2e_ms", "mean", 4900), ("ttft_ms", "mean", 125), ("tpot_ms", "mean", 18.5), ("itl_ms", "mean", 18),
    ("prompt_tokens", "mean", 500.5), ("completion_tokens", "mean", 507.5),
]  # fmt: skip


def test_early_summary(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "benchmark_summary.json", json.dumps(EARLY))
    assert load.tool == "evalscope" and metrics_of(load) == EXPECTED and load.planned_requests == 100
    assert {row.concurrency for row in results_of(load)} == {8}


def test_all_percentiles_in_both_units(tmp_path: Path) -> None:
    rows = [{"Percentiles": "10%", "TTFT (s)": 0.1, "Latency (s)": 4.1, "Output tokens": 490, "Output (tok/s)": 99.5},
            {"Percentiles": "50%", "TTFT (ms)": 125.0, "Latency (s)": 4.8, "Decode (tok/s)": 54.5}]  # fmt: skip
    (load,) = loads_of_text(tmp_path, "benchmark_percentile.json", json.dumps(rows))
    assert metrics_of(load) == [
        ("ttft_ms", "p10", 100), ("e2e_ms", "p10", 4100), ("completion_tokens", "p10", 490), ("e2e_tps", "p10", 99.5),
        ("ttft_ms", "median", 125), ("e2e_ms", "median", 4800), ("decode_tps", "median", 54.5),
    ]  # fmt: skip


def frame(heads: list[str], *rows: list[str]) -> str:
    edge = "+" + "+".join("-" * 36 for _ in heads) + "+"
    lines = [
        edge,
        "| " + " | ".join(heads) + " |",
        edge.replace("-", "="),
        *("| " + " | ".join(r) + " |" for r in rows),
    ]
    return "\n".join([*lines, edge]) + "\n"


def test_printed_summary_and_percentiles(tmp_path: Path) -> None:
    text = (
        "$ evalscope perf --model org/model --parallel 8\n2025-05-01 10:11:12,123 - evalscope - INFO - \n"
        "Benchmarking summary:\n" + frame(["Key", "Value"], *([name, str(v)] for name, v in EARLY.items()))
        + "2025-05-01 10:11:12,124 - evalscope - INFO - \nPercentile results:\n"
        + frame(["Percentiles", "TTFT (s)", "Output tokens", "Output (tok/s)"],
                ["10%", "0.1", "490", "99.5"], ["99%", "0.17", "512", "nan"])
    )  # fmt: skip
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert (load.tool, load.model) == ("evalscope", "org/model")
    assert metrics_of(load) == [
        *EXPECTED, ("ttft_ms", "p10", 100), ("completion_tokens", "p10", 490), ("e2e_tps", "p10", 99.5),
        ("ttft_ms", "p99", 170), ("completion_tokens", "p99", 512),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {8}


OUTLINE = """Benchmarking summary:
┌─────────────────────────┬───────────┐
│ Metric                  │ Value     │
├─────────────────────────┼───────────┤
│ ── General ──           │           │
│ Test Duration (s)       │ 62.50     │
│ Concurrency             │ 8         │
│ Total / Success / Failed│ 100 / 99 / 1 │
│ Req Throughput (req/s)  │ 1.50      │
│ Avg TTFT (ms)           │ 125.00    │
│ Avg First-Turn TTFT (ms)│ 225.00    │
│ KV Cache Hit Rate (%)   │ 40.0      │
│ Avg Decoded Tok/Iter    │ 2.50      │
│ Spec. Accept Rate       │ 0.60      │
└─────────────────────────┴───────────┘
Percentile results:
┌───────────────┬──────┬──────┬──────┐
│ Metric        │  min │  50% │  99% │
├───────────────┼──────┼──────┼──────┤
│ Latency (s)   │ 3.90 │ 4.80 │ 5.50 │
│ Input (tok/s) │ 98.5 │ 99.5 │ 99.9 │
└───────────────┴──────┴──────┴──────┘
"""


def test_later_printed_summary(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", OUTLINE)
    assert metrics_of(load) == [
        ("duration_s", "total", 62.5), ("requests", "total", 99), ("failed_requests", "total", 1),
        ("request_tps", "mean", 1.5), ("ttft_ms", "mean", 125), ("stated", "mean", 225), ("stated", "stated", 40),
        ("tokens_per_piece", "mean", 2.5), ("e2e_ms", "min", 3900), ("e2e_ms", "median", 4800),
        ("e2e_ms", "p99", 5500), ("stated", "min", 98.5), ("stated", "median", 99.5), ("stated", "p99", 99.9),
    ]  # fmt: skip


REPORT = """╭──────────────────────────────────────────────────────────╮
│ Performance Test Summary Report                          │
╰──────────────────────────────────────────────────────────╯

Basic Information:
┌─────────────────┬────────────────────┐
│ Model           │ org/model          │
│ Total Generated │ 50,272.2 tokens    │
│ Avg Output Rate │ 417.20 tokens/sec  │
└─────────────────┴────────────────────┘


                       Detailed Performance Metrics
┏━━━━━━┳━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━━━┓
┃      ┃      ┃      Avg ┃      P99 ┃    Gen. ┃      Avg ┃  Success ┃
┃Conc. ┃  RPS ┃  Lat.(s) ┃  Lat.(s) ┃  toks/s ┃  TPOT(s) ┃     Rate ┃
┡━━━━━━╇━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━━━┩
│    1 │ 0.25 │    4.012 │    4.215 │  126.50 │    0.008 │   100.0% │
│    8 │ 1.60 │    4.900 │    5.500 │  812.50 │    0.018 │    99.0% │
└──────┴──────┴──────────┴──────────┴─────────┴──────────┴──────────┘

               Best Performance Configuration
 Highest RPS         Concurrency 8 (1.60 req/sec)
 Lowest Latency      Concurrency 1 (4.012 seconds)
"""


def test_report_of_several_levels(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", REPORT)
    assert (load.tool, load.model) == ("evalscope", "org/model")
    assert [(row.metric, row.statistic, row.value) for row in results_of(load) if row.concurrency == 8] == [
        ("request_tps", "mean", 1.6), ("e2e_ms", "mean", 4900), ("e2e_ms", "p99", 5500), ("output_tps", "mean", 812.5),
        ("tpot_ms", "mean", 18), ("stated", "stated", 99),
    ]  # fmt: skip
    assert len(results_of(load)) == 12


def test_later_report_with_metrics_below_each_other(tmp_path: Path) -> None:
    text = """Basic Information:
┌─────────────────┬────────────────────┐
│ Model           │ org/model          │
└─────────────────┴────────────────────┘
       Performance Overview
┏━━━━━━┳━━━━━━┳━━━━━┳━━━━━━┳━━━━━━━━┳━━━━━━━━━┓
┃Conc. ┃ Rate ┃ Num ┃  RPS ┃  Gen/s ┃ Success ┃
┡━━━━━━╇━━━━━━╇━━━━━╇━━━━━━╇━━━━━━━━╇━━━━━━━━━┩
│    8 │    - │ 100 │ 1.60 │ 812.50 │   99.0% │
└──────┴──────┴─────┴──────┴────────┴─────────┘

             Per-Request Metrics
┏━━━━━━┳━━━━━━┳━━━━━━━━━━━━━━━━━━━┳━━━━━━━┳━━━━━━━┳━━━━━━━┳━━━━━━━┓
┃Conc. ┃ Rate ┃ Metric            ┃   avg ┃   p50 ┃   p99 ┃   max ┃
┡━━━━━━╇━━━━━━╇━━━━━━━━━━━━━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━╇━━━━━━━┩
│    8 │    - │ Latency (s)       │ 4.900 │ 4.800 │ 5.500 │ 5.600 │
│      │      │ Input Tokens      │ 500.5 │     - │     - │     - │
│      │      │ Decode toks/s     │ 54.50 │     - │     - │     - │
│      │      │ Decoded Tok/Iter  │  2.50 │     - │     - │     - │
│      │      │ Spec. Accept Rate │ 60.0% │     - │     - │     - │
│      │      │ 1st-Turn TTFT (ms)│ 225.0 │     - │     - │     - │
└──────┴──────┴───────────────────┴───────┴───────┴───────┴───────┘
"""
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert metrics_of(load) == [
        ("request_tps", "mean", 1.6), ("output_tps", "mean", 812.5), ("stated", "stated", 99), ("e2e_ms", "mean", 4900),
        ("e2e_ms", "median", 4800), ("e2e_ms", "p99", 5500), ("e2e_ms", "max", 5600), ("prompt_tokens", "mean", 500.5),
        ("decode_tps", "mean", 54.5), ("tokens_per_piece", "mean", 2.5), ("stated", "mean", 225),
    ]  # fmt: skip
    rows = results_of(load)
    assert {row.concurrency for row in rows} == {8} and value(rows, "decode_tps", "mean") == 54.5


LOGGED = """Processing:  90%|###  | 9/10 [01:21<00:05]2025-07-17 15:11:32,377 - evalscope - INFO - {
  "Time taken for tests (s)": 60.5,
  "Number of concurrency": 8,
  "Total requests": 90,
  "Succeed requests": 90,
  "Failed requests": 0,
  "Average latency (s)": 4.5,
  "Average package latency (s)": 0.0525
}
"""


def test_state_of_a_load_before_its_summary_is_no_result(tmp_path: Path) -> None:
    table = frame(["Key", "Value"], *([name, str(v)] for name, v in EARLY.items()))
    (load,) = loads_of_text(tmp_path, "post.txt", f"{LOGGED}Benchmarking summary:\n{table}")
    assert metrics_of(load) == EXPECTED


def test_logged_state_without_a_summary(tmp_path: Path) -> None:
    """The last of several counts."""
    (load,) = loads_of_text(tmp_path, "post.txt", LOGGED.replace("90", "40") + LOGGED)
    assert metrics_of(load) == [
        ("duration_s", "total", 60.5), ("requests", "total", 90), ("failed_requests", "total", 0),
        ("e2e_ms", "mean", 4500), ("stated", "mean", 0.0525),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {8}


def test_oldest_printed_summary(tmp_path: Path) -> None:
    """Its times are seconds without saying so."""
    text = (
        "Benchmarking summary: \n Time taken for tests: 22.512 seconds\n Expected number of requests: 100\n"
        " Number of concurrency: 128\n Total requests: 100\n Succeed requests: 99\n Failed requests: 1\n"
        " Average QPS: 4.5\n Average latency: 14.25\n Throughput(average output tokens per second): 891.25\n"
        " Average time to first token: 2.75\n Average output tokens per request: 200.5\n"
        " Average time per output token: 0.0112\n Average package latency: 0.06\n"
        " Percentile of time to first token: \n     p50: 2.7\n     p99: 2.95\n"
        " Percentile of request latency: \n     p50: 14.5\n     p98: 21.5\n\nWhat do they mean?\n"
    )
    (load,) = loads_of_text(tmp_path, "post.txt", text)
    assert load.tool == "evalscope" and metrics_of(load) == [
        ("duration_s", "total", 22.512), ("requests", "total", 99), ("failed_requests", "total", 1),
        ("request_tps", "mean", 4.5), ("e2e_ms", "mean", 14250), ("output_tps", "mean", 891.25),
        ("ttft_ms", "mean", 2750), ("completion_tokens", "mean", 200.5), ("tpot_ms", "mean", 11.2),
        ("stated", "mean", 0.06), ("ttft_ms", "median", 2700), ("ttft_ms", "p99", 2950), ("e2e_ms", "median", 14500),
        ("e2e_ms", "p98", 21500),
    ]  # fmt: skip
    assert {row.concurrency for row in results_of(load)} == {128}


RATED = {
    "Test Duration (s)": 12.5, "Concurrency": -1, "Request Rate (req/s)": 2.5, "Total Requests": 20,
    "Success Requests": 20, "Failed Requests": 0, "Stream Requests": 20, "Non-Stream Requests": 0,
    "Req Throughput (req/s)": 1.5, "Avg Latency (s)": 3.25, "Avg Input Tokens": 128.0,
    "Output Throughput (tok/s)": 250.5, "Input Throughput (tok/s)": 0.0, "Avg TTFT (ms)": 95.5, "Avg TPOT (ms)": 0.0,
}  # fmt: skip


def test_levels_of_rates_are_told_apart(tmp_path: Path) -> None:
    for rate in (2.5, 5.0):
        folder = tmp_path / "out" / f"rate_{rate}_number_20"
        folder.mkdir(parents=True)
        summary = {**RATED, "Request Rate (req/s)": rate, "Avg TTFT (ms)": 95.5 + rate}
        (folder / "benchmark_summary.json").write_text(json.dumps(summary))
    (load,) = loads_of(tmp_path / "out")
    rows = results_of(load)
    assert [(row.point, row.value) for row in rows if row.metric == "ttft_ms"] == [
        ("2.5 requests/s", 98), ("5 requests/s", 100.5),
    ]  # fmt: skip
    assert {row.metric for row in rows} == {
        "duration_s", "requests", "failed_requests", "request_tps", "e2e_ms", "prompt_tokens", "output_tps", "ttft_ms",
    }, "what is 0 there was not measured, and the rate is no result"  # fmt: skip


SPEEDS = [
    {"Prompt Tokens": 1, "Speed(tokens/s)": 50.69, "GPU Memory(GB)": 0.97},
    {"Prompt Tokens": 6129, "Speed(tokens/s)": 51.36, "GPU Memory(GB)": 0.0},
]
GRID = """2026-08-22 10:11:12 - evalscope - INFO:
Speed Benchmark Results:
┌─────────────────┬───────────────────┬──────────────────┐
│   Prompt Tokens │   Speed(tokens/s) │   GPU Memory(GB) │
├─────────────────┼───────────────────┼──────────────────┤
│               1 │             50.69 │             0.97 │
├─────────────────┼───────────────────┼──────────────────┤
│            6129 │             51.36 │             0    │
└─────────────────┴───────────────────┴──────────────────┘
"""


@pytest.mark.parametrize(("name", "text"), [("speed_benchmark.json", json.dumps(SPEEDS, indent=4)), ("post.txt", GRID)])
def test_speeds_of_prompts_of_several_lengths(tmp_path: Path, name: str, text: str) -> None:
    (load,) = loads_of_text(tmp_path, name, text)
    assert load.tool == "evalscope"
    assert [(row.point, row.metric, row.statistic, row.value, row.prompt_tokens) for row in results_of(load)] == [
        ("pp1", "e2e_tps", "mean", 50.69, 1), ("pp1: GPU memory", "stated", "mean", 0.97, 1),
        ("pp6129", "e2e_tps", "mean", 51.36, 6129),
    ]  # fmt: skip


def test_report_in_html(tmp_path: Path) -> None:
    heads = ("Conc.", "Rate", "RPS", "Avg Lat.(s)", "P99 Lat.(s)", "Avg TTFT(ms)", "Gen. tok/s", "Success Rate")
    rows = (
        ("8", "INF", "1.5", "3.25", "4.5", "95.5", "250.5", "100.0%"),
        ("INF", "5.0", "2.5", "4.25", "5.5", "105.5", "350.5", "95.0%"),
    )
    head = "".join(f"<th>{name}</th>" for name in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    text = (
        "<!DOCTYPE html>\n<html><head><title>Performance Report — acme/small</title></head><body>\n"
        "<table><tbody><tr><td>Model</td><td>acme/small</td></tr><tr><td>Total Requests</td><td>70</td></tr></tbody>"
        f"</table><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>\n"
        '<section id="section-latency"><table><tr><td>TTFT 5 ms</td></tr></table></section></body></html>\n'
    )
    (load,) = loads_of_text(tmp_path, "perf_report.html", text)
    assert (load.tool, load.model) == ("evalscope", "acme/small")
    assert [(row.point, row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("8 at once", "request_tps", "mean", 1.5), ("8 at once", "e2e_ms", "mean", 3250),
        ("8 at once", "e2e_ms", "p99", 4500), ("8 at once", "ttft_ms", "mean", 95.5),
        ("8 at once", "output_tps", "mean", 250.5), ("8 at once: success rate", "stated", "stated", 100),
        ("5 requests/s", "request_tps", "mean", 2.5), ("5 requests/s", "e2e_ms", "mean", 4250),
        ("5 requests/s", "e2e_ms", "p99", 5500), ("5 requests/s", "ttft_ms", "mean", 105.5),
        ("5 requests/s", "output_tps", "mean", 350.5), ("5 requests/s: success rate", "stated", "stated", 95),
    ]  # fmt: skip

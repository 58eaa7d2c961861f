"""Testers of any HTTP server: what oha, hey, wrk2 and bombardier print, and the JSON and CSV that such tools write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from tests.collectors.imports.captured import requests_of, results_of
from tests.collectors.imports.test_answer_lines import key_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

OHA = """Summary:
  Success rate:\t98.00%
  Total:\t31.5000 sec
  Slowest:\t5.0000 sec
  Fastest:\t1.2000 sec
  Average:\t2.5000 sec
  Requests/sec:\t3.2500

  Total data:\t1.20 MiB
  Size/request:\t12.30 KiB
  Size/sec:\t40.00 KiB

Response time histogram:
   1.200 sec [1]  |■
   2.400 sec [98] |■■■■■■■■■■■■

Response time distribution:
  10.00% in 1.3000 sec
  50.00% in 2.4000 sec
  99.90% in 4.9000 sec

Response time histogram (2xx only):
   1.200 sec [1]  |■

Response time distribution (2xx only):
  50.00% in 2.3000 sec

Details (average, fastest, slowest):
  DNS+dialup:\t0.0011 sec, 0.0010 sec, 0.0012 sec
  DNS-lookup:\t0.0000 sec, 0.0000 sec, 0.0000 sec

Status code distribution:
  [200] 89 responses
  [201] 1 responses
  [503] 2 responses
  [400] 1 responses

Error distribution:
  [8] aborted due to deadline
  [3] connection refused
"""
OHA_VALUES = {
    "duration_s total": 31.5, "e2e_ms max": 5000, "e2e_ms min": 1200, "e2e_ms mean": 2500, "request_tps mean": 3.25,
    "e2e_ms p10": 1300, "e2e_ms median": 2400, "e2e_ms p99.9": 4900, "requests total": 90, "failed_requests total": 6,
    "incomplete_requests total": 8,
}  # fmt: skip
HEY = """
Summary:
  Total:\t30.5000 secs
  Slowest:\t5.0000 secs
  Fastest:\t1.2000 secs
  Average:\t2.5000 secs
  Requests/sec:\t3.2500

Response time histogram:
  1.200 [1]\t|■
  1.580 [99]\t|■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■

Latency distribution:
  10%% in 1.2500 secs
  50%% in 2.4000 secs

Status code distribution:
  [200]\t98 responses
  [500]\t2 responses

Error distribution:
  [3]\tPost "http://x/v1": context deadline exceeded
"""
WRK2 = """Running 30s test @ http://localhost:8000/v1/completions
  2 threads and 16 connections
  Thread calibration: mean lat.: 2087.123ms, rate sampling interval: 22ms
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     2.60s     1.90s   12.50s    68.46%
    Req/Sec     1.04k     1.08k    2.50k    72.79%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    2.40s
 99.000%   11.20s
 99.900%   12.30s
100.000%   12.50s

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

     921.000     0.000000            1         1.00
   12503.000     1.000000           60          inf
#[Mean    =     2602.123, StdDeviation   =     1919.001]
#[Max     =    12496.000, Total count    =           60]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------

  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    2.10s
 99.000%    3.10s
100.000%    4.50s

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.325     0.000000            1         1.00
#[Mean    =        6.588, StdDeviation   =       70.891]
#[Max     =     1413.120, Total count    =           60]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  60 requests in 30.00s, 19.81MB read
Requests/sec:      2.05
Transfer/sec:    676.18KB
"""
BOMBARDIER = """Bombarding http://localhost:8000/v1/chat/completions with 100 request(s) using 8 connection(s)
 100 / 100 [======================================================] 100.00% 3/s 30s
Done!
Statistics        Avg      Stdev        Max
  Reqs/sec         3.25       5.02      21.00
  Latency         2.41s   500.36ms      5.00s
  Latency Distribution
     50%      2.40s
     99%      4.90s
  HTTP codes:
    1xx - 0, 2xx - 95, 3xx - 0, 4xx - 1, 5xx - 2
    others - 2
  Errors:
    dialing to the given TCP address timed out - 2
  Throughput:     3.06KB/s
"""


@pytest.mark.parametrize("frame", ["{}", "My load:\n\n```\n{}```\n\nIs it slow?\n"])
@pytest.mark.parametrize(
    ("tool", "text", "level", "values"),
    [
        ("oha or hey", OHA, None, OHA_VALUES),
        (
            "oha or hey", HEY, None,
            {"duration_s total": 30.5, "e2e_ms max": 5000, "e2e_ms min": 1200, "e2e_ms mean": 2500,
             "request_tps mean": 3.25, "e2e_ms p10": 1250, "e2e_ms median": 2400, "requests total": 98,
             "failed_requests total": 5},
        ),
        (
            "wrk", WRK2, 16,
            {"e2e_ms mean": 2600, "e2e_ms max": 12500, "e2e_ms median": 2400, "e2e_ms p99": 11200,
             "e2e_ms p99.9": 12300, "stated median": 2100, "stated p99": 3100, "requests total": 60,
             "duration_s total": 30, "request_tps mean": 2.05},
        ),
        (
            "bombardier", BOMBARDIER, 8,
            {"request_tps mean": 3.25, "request_tps max": 21, "e2e_ms mean": 2410, "e2e_ms max": 5000,
             "e2e_ms median": 2400, "e2e_ms p99": 4900, "requests total": 95, "failed_requests total": 5},
        ),
    ],
)  # fmt: skip
def test_printed_reports(
    tmp_path: Path, tool: str, text: str, level: int | None, values: Mapping[str, float], frame: str
) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", frame.replace("{}", text))
    assert load.tool == tool
    assert {key_of(row): row.value for row in results_of(load)} == values
    assert {row.concurrency for row in results_of(load)} == {level}


@pytest.mark.parametrize(("unit", "factor"), [("ms", 1e-3), ("10 sec", 10), ("min", 60)])
def test_oha_chooses_its_unit(tmp_path: Path, unit: str, factor: float) -> None:
    (load,) = loads_of_text(tmp_path, "oha.txt", OHA.replace(" sec", f" {unit}"))
    is_time = {key for key in OHA_VALUES if key.startswith(("e2e", "duration"))}
    expected = {key: value * (factor if key in is_time else 1) for key, value in OHA_VALUES.items()}
    assert {key_of(row): row.value for row in results_of(load)} == pytest.approx(expected)


OHA_JSON = {
    "summary": {
        "successRate": 0.98, "total": 31.5, "slowest": 5.0, "fastest": 1.2, "average": 2.5, "requestsPerSec": 3.25,
        "totalData": 1000, "sizePerRequest": 10, "sizePerSec": 31.7,
    },
    "metrics": {"success_rate": 0.98, "requests_per_sec": 3.25, "latency_ms": {"mean": 2500.0, "p50": 2400.0}},
    "responseTimeHistogram": {"1.2": 1, "2.4": 99},
    "latencyPercentiles": {"p10": 1.3, "p50": 2.4, "p99.9": 4.9},
    "firstBytePercentiles": {"p50": 0.25},
    "rps": {"mean": 30.5, "stddev": 1.0, "max": 90.0, "min": 1.0, "percentiles": {"p50": 3.0}},
    "details": {
        "DNSDialup": {"average": 0.001, "fastest": 0.001, "slowest": 0.001},
        "firstByte": {"average": 0.3, "fastest": 0.2, "slowest": 0.5},
    },
    "statusCodeDistribution": {"200": 89, "201": 1, "503": 2, "400": 1},
    "errorDistribution": {"aborted due to deadline": 8, "connection refused": 3},
}  # fmt: skip
AUTOCANNON_JSON = {
    "title": "mine", "url": "http://localhost:8000/v1/completions", "connections": 8, "pipelining": 1,
    "duration": 30.5, "start": "2026-11-20T10:00:00.000Z", "finish": "2026-11-20T10:00:30.500Z", "errors": 1,
    "timeouts": 1, "non2xx": 2, "1xx": 0, "2xx": 96, "3xx": 0, "4xx": 0, "5xx": 2,
    "latency": {
        "average": 2500.5, "mean": 2500.5, "stddev": 0, "min": 1200, "max": 5000, "p0_1": 1200, "p2_5": 1250,
        "p50": 2400, "p99_9": 4950, "totalCount": 98,
    },
    "requests": {
        "average": 3.25, "mean": 3.25, "stddev": 1.5, "min": 1, "max": 6, "total": 98, "p50": 3, "sent": 106,
    },
    "throughput": {"average": 1000, "mean": 1000, "stddev": 1, "min": 1, "max": 2000, "total": 30000, "p97_5": 1500},
}  # fmt: skip
BOMBARDIER_JSON = {
    "spec": {
        "numberOfConnections": 8, "testType": "number-of-requests", "numberOfRequests": 100, "method": "POST",
        "url": "http://localhost:8000/v1/completions", "body": "", "stream": False, "timeoutSeconds": 2,
        "client": "fasthttp",
    },
    "result": {
        "bytesRead": 1000, "bytesWritten": 1000, "timeTakenSeconds": 30.5, "req1xx": 0, "req2xx": 95, "req3xx": 0,
        "req4xx": 1, "req5xx": 2, "others": 2, "errors": [{"description": "timeout", "count": 2}],
        "latency": {"mean": 2410000.5, "stddev": 500360.0, "max": 5000000, "percentiles": {"50": 2400000}},
        "rps": {"mean": 3.25, "stddev": 5.0, "max": 21.0, "percentiles": {"50": 3.0}},
    },
}  # fmt: skip


@pytest.mark.parametrize("in_text", [False, True])
@pytest.mark.parametrize(
    ("tool", "report", "level", "values"),
    [
        (
            "oha", OHA_JSON, None,
            {**OHA_VALUES, "stated mean": 300, "stated min": 200, "stated max": 500, "stated median": 250},
        ),
        (
            "autocannon", AUTOCANNON_JSON, 8,
            {"e2e_ms mean": 2500.5, "e2e_ms min": 1200, "e2e_ms max": 5000, "e2e_ms p0.1": 1200, "e2e_ms p2.5": 1250,
             "e2e_ms median": 2400, "e2e_ms p99.9": 4950, "request_tps mean": 3.25, "request_tps min": 1,
             "request_tps max": 6, "request_tps median": 3, "duration_s total": 30.5, "requests total": 96,
             "failed_requests total": 3},
        ),
        (
            "bombardier", BOMBARDIER_JSON, 8,
            {"e2e_ms mean": 2410.0005, "e2e_ms max": 5000, "e2e_ms median": 2400, "request_tps mean": 3.25,
             "request_tps max": 21, "request_tps median": 3, "duration_s total": 30.5, "requests total": 95,
             "failed_requests total": 5},
        ),
    ],
)  # fmt: skip
def test_reports_as_json(
    tmp_path: Path,
    tool: str,
    report: Mapping[str, object],
    level: int | None,
    values: Mapping[str, float],
    in_text: bool,
) -> None:
    written = json.dumps(report, indent=2)
    text = f"What it wrote:\n\n```json\n{written}\n```\n" if in_text else written
    (load,) = loads_of_text(tmp_path, "post.md" if in_text else "report.json", text)
    assert load.tool == tool
    assert {key_of(row): row.value for row in results_of(load)} == values
    assert {row.concurrency for row in results_of(load)} == {level}
    assert any("does not say what was requested" in note for note in load.notes)


def test_a_report_without_a_timed_request_is_refused(tmp_path: Path) -> None:
    summary = {**OHA_JSON["summary"], "slowest": None, "fastest": None, "average": None}  # type: ignore[dict-item]
    text = json.dumps({**OHA_JSON, "summary": summary, "latencyPercentiles": {"p50": None}})
    with pytest.raises(ImportRefusedError, match="timed no request"):
        loads_of_text(tmp_path, "oha.json", text)


HEY_CSV = (
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
    "2.5000,0.0010,0.0000,0.0001,2.4000,0.0001,200,0.0000\n1.5000,0.0010,0.0000,0.0001,1.4000,0.0001,200,1.0000\n"
    "0.1000,0.0000,0.0000,0.0001,0.1000,0.0000,503,2.6000\n"
)
OHA_CSV = (
    "request-start,DNS,DNS+dialup,Response-delay,request-duration,bytes,status\n"
    "0,0.001,0.001,2.4,2.5,100,200\n1,0.001,0.001,1.4,1.5,100,200\n2.6,0,0,0.1,0.1,10,503\n"
)


@pytest.mark.parametrize(("tool", "text"), [("hey", HEY_CSV), ("oha", OHA_CSV)])
def test_lines_of_csv_are_requests(tmp_path: Path, tool: str, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "requests.csv", text)
    requests = requests_of(load)
    assert load.tool == tool and load.planned_requests == 3
    assert [(row.total_ms, row.since_phase_s, row.http_status, row.error_kind) for row in requests] == [
        (2500.0, 0.0, 200, None), (1500.0, 1.0, 200, None), (None, 2.6, 503, "http"),
    ]  # fmt: skip
    assert {row.concurrency for row in requests} == {2}


def test_json_below_a_sentence_whose_last_part_is_one_line(tmp_path: Path) -> None:
    parts = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in AUTOCANNON_JSON.items())
    (load,) = loads_of_text(tmp_path, "post.md", f"autocannon gave me:\n\n{{\n{parts}\n}}\n")
    assert load.tool == "autocannon"
    assert next(row.value for row in results_of(load) if row.metric == "e2e_ms") == 2500.5


def test_two_runs_below_each_other_are_two_loads(tmp_path: Path) -> None:
    text = f"$ oha -c 8 http://x/v1\n{OHA}\n$ oha -c 16 http://x/v1\n{OHA.replace('3.2500', '5.5000')}"
    loads = loads_of_text(tmp_path, "post.txt", text)
    rates = [(row.concurrency, row.value) for load in loads for row in results_of(load) if row.metric == "request_tps"]
    assert rates == [(8, 3.25), (16, 5.5)]


def test_durations_keep_their_digits(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "post.txt", BOMBARDIER.replace("2.41s", "471.00us").replace("5.00s", "51.00ms"))
    assert [row.value for row in results_of(load) if row.metric == "e2e_ms"][:2] == [0.471, 51.0]

"""Tables with blank lines between their rows or with their units in a second row, and results within a server's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

READINGS = [
    ("ttft_ms", 45.5, 1), ("tpot_ms", 8.2, 1), ("output_tps", 120.5, 1),
    ("ttft_ms", 81.5, 8), ("tpot_ms", 11.5, 8), ("output_tps", 640.5, 8),
]  # fmt: skip
BARRED = (
    "| Concurrency | TTFT (ms) | TPOT (ms) | Output (tok/s) |\n|---|---|---|---|\n"
    "| 1 | 45.5 | 8.2 | 120.5 |\n| 8 | 81.5 | 11.5 | 640.5 |\n"
)
BARRED_UNITS = BARRED.replace(" (ms)", "").replace(" (tok/s)", "")
COLUMNS = (
    "Concurrency      TTFT (ms)   TPOT (ms)   Output (tok/s)\n"
    "1                45.5        8.2         120.5\n8                81.5        11.5        640.5\n"
)
COLUMN_UNITS = COLUMNS.replace(" (ms)", "     ").replace(" (tok/s)", "")


RULED = BARRED.replace("|---|---|---|---|", "| --- | --- | --- | --- |")
RULELESS = BARRED.replace("|---|---|---|---|\n", "")


def below_the_heads(text: str, row: str) -> str:
    head, _, rows = text.partition("\n")
    return f"{head}\n{row}\n{rows}"


@pytest.mark.parametrize(
    "text",
    [
        BARRED.replace("\n", "\n\n"),
        "My sweep:\n\n" + BARRED.replace("\n", "\n\n") + "It is fine.\n",
        BARRED.replace(" |\n| 8", " |\n\n| 8"),
        BARRED.replace("|---|---|---|---|\n", "|---|---|---|---|\n\n"),
        COLUMNS.replace("\n", "\n\n"),
        BARRED_UNITS.replace("| 1 |", "|  | (ms) | (ms) | (tok/s) |\n| 1 |"),
        BARRED_UNITS.replace("| 1 |", "| # | ms | ms | tok/s |\n| 1 |"),
        below_the_heads(COLUMN_UNITS, "                 (ms)        (ms)        (tok/s)"),
        below_the_heads(COLUMN_UNITS, "reqs             ms          ms          tok/s"),
        below_the_heads(COLUMN_UNITS, f"reqs             ms          ms          tok/s\n{'-' * 60}"),
        "concurrency,ttft,tpot,output\n,ms,ms,tok/s\n1,45.5,8.2,120.5\n8,81.5,11.5,640.5\n",
    ],
)
def test_each_value_has_its_column(tmp_path: Path, text: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.csv" if "," in text else "post.md", text)
    assert [(row.metric, row.value, row.concurrency) for row in results_of(load)] == READINGS


@pytest.mark.parametrize("rows", [RULED, RULELESS])
@pytest.mark.parametrize("bar", [" |\n", "\n| "])
def test_a_row_may_have_a_cell_on_each_line(tmp_path: Path, rows: str, bar: str) -> None:
    broken = "\n".join(bar.join(line.split(" | ")) for line in rows.splitlines())
    for text in (broken, f"My sweep of yesterday:\n{broken}\nIt is fast enough for me.\n"):
        (load,) = loads_of_text(tmp_path, "post.md", text)
        assert [(row.metric, row.value, row.concurrency) for row in results_of(load)] == READINGS


def test_the_line_above_a_broken_table_is_its_arm(tmp_path: Path) -> None:
    table = "| Metric |\nOld |\nNew |\n| Mean TTFT |\n{} ms |\n{} ms |\n| Output throughput |\n{} tok/s |\n |\n"
    text = f"Card A with FP8\n{table.format(81.5, 90.5, 120.5)}So be it.\nCard B with INT4\n{table.format(4, 5, 6)}"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.point.partition(" (")[0], row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("Card A with FP8: Mean TTFT: Old", "ttft_ms", "mean", 81.5),
        ("Card A with FP8: Mean TTFT: New", "ttft_ms", "mean", 90.5),
        ("Card A with FP8: Output throughput: Old", "output_tps", "stated", 120.5),
        ("Card B with INT4: Mean TTFT: Old", "ttft_ms", "mean", 4),
        ("Card B with INT4: Mean TTFT: New", "ttft_ms", "mean", 5),
        ("Card B with INT4: Output throughput: Old", "output_tps", "stated", 6),
    ]


def test_tables_that_follow_each_other_keep_their_heads(tmp_path: Path) -> None:
    other = "\n| Users | E2E (ms) | x | Output (tok/s) |\n|---|---|---|---|\n| 4 | 900.5 | a | 300.5 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", BARRED + other)
    assert [(row.metric, row.value, row.concurrency) for row in results_of(load)] == [
        *READINGS, ("e2e_ms", 900.5, 4), ("output_tps", 300.5, 4),
    ]  # fmt: skip


ACCESS = 'INFO:     127.0.0.1:40000 - "POST /v1/completions HTTP/1.1" 200 OK\n'
SERVING = (
    "============ Serving Benchmark Result ============\nSuccessful requests:                     100\n"
    f"{ACCESS}Output token throughput (tok/s):         419.50\n"
    "---------------Time to First Token----------------\n"
    "INFO 11-20 10:01:20 [loggers.py:127] Engine 000: Running: 0 reqs, Waiting: 0 reqs\n"
    "Mean TTFT (ms):                          95.50\n==================================================\n"
)
OHA = (
    "Summary:\n  Success rate:\t100.00%\n  Total:\t30.0000 secs\n"
    "srv  log_server_r: request: POST /completion 127.0.0.1 200\n  Slowest:\t5.0000 secs\n"
    "slot      release: id  0 | task 0 | stop processing: n_past = 639, truncated = 0\n  Average:\t2.5000 secs\n"
    "  Requests/sec:\t3.2500\n"
)


def test_a_servers_lines_within_a_summary(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "terminal.txt", ACCESS * 3 + SERVING + ACCESS)
    assert {(row.metric, row.value) for row in results_of(load)} == {
        ("requests", 100), ("output_tps", 419.5), ("ttft_ms", 95.5),
    }  # fmt: skip
    assert not any("INFO" in name for name in load.params)


def test_a_servers_lines_within_a_testers_report(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "terminal.txt", "srv  update_slots: all slots are idle\n\n" + OHA)
    assert {(row.metric, row.statistic, row.value) for row in results_of(load)} == {
        ("duration_s", "total", 30), ("e2e_ms", "max", 5000), ("e2e_ms", "mean", 2500), ("request_tps", "mean", 3.25),
    }  # fmt: skip


def test_a_sweep_whose_name_is_a_unit(tmp_path: Path) -> None:
    text = "| QPS | TTFT p99 | Output |\n|---|---|---|\n| req/s | ms | tok/s |\n| 2 | 150.5 | 450.5 |\n"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [(row.metric, row.statistic, row.value) for row in results_of(load)] == [
        ("ttft_ms", "p99", 150.5), ("output_tps", "stated", 450.5),
    ]  # fmt: skip

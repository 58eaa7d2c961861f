"""Texts as people publish them: tables with and without bars, lines of a log in other words, printed benchmarks."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import fmean, stdev

import pytest

from collectors.imports.log_file import ImportRefusedError
from load_records import Accuracy, RequestRecord, Result, SuiteCheck
from samples import Sample
from tests.collectors.imports.captured import SOURCES, load_of, loads_of, requests_of, result_at, results_of, value


def rows_of(tmp_path: Path, text: str) -> list[Sample]:
    path = tmp_path / "a.md"
    path.write_text(text)
    return [row for load in loads_of(path) for row in load.rows]


FIVE = """
╔══════════════════════════════════════════════════════╗
║ Benchmark: Gemma4-31b-it — 2026-05-07 00:16
╚══════════════════════════════════════════════════════╝
Warm-up... done
── Sequential (1 request) ──────────────────────────────
Run 1/2:
[Q&A ] 256 tokens in 6.54s = 39.1 tok/s
[Math ] 32 tokens in 1.03s = 30.9 tok/s
Run 2/2:
[Q&A ] 256 tokens in 6.55s = 39.0 tok/s
[Math ] 30 tokens in 1.04s = 30.7 tok/s
── Concurrent (4 parallel requests) ───────────────────────────
Sending 4 requests simultaneously, measuring total throughput...
[req1 ] 1024 tokens = 30.3 tok/s (end-to-end)
[req2 ] 1024 tokens = 31.3 tok/s (end-to-end)
Total: 2048 tokens in 34.59s
Total throughput: 59.2 tok/s (2 requests completed)
"""


def test_the_five_prompts_as_printed(tmp_path: Path) -> None:
    path = tmp_path / "five.txt"
    path.write_text(FIVE)
    load = load_of(path)
    rows, requests = results_of(load), requests_of(load)
    told = result_at(rows, "e2e_tps", "mean", "class Q&A")
    assert (told.value, told.sd, told.n) == (
        pytest.approx(fmean([39.1, 39.0])), pytest.approx(stdev([39.1, 39.0])), 2,
    )  # fmt: skip
    assert [(r.prompt_class, r.completion_tokens, r.total_ms) for r in requests[:2]] == [
        ("Q&A", 256, pytest.approx(6540)), ("Math", 32, pytest.approx(1030)),
    ]  # fmt: skip
    assert result_at(rows, "e2e_tps", "mean", "class Math").output_tokens is None  # it ended early once
    assert value(rows, "output_tps", "mean", "2 at once") == 59.2 and value(rows, "duration_s", "total") == 34.59
    assert [r.concurrency for r in requests] == [1, 1, 1, 1, 2, 2] and requests[-1].total_ms is None
    assert load.model == "Gemma4-31b-it" and all(r.ttft_ms is None for r in requests)


SHIFTED = """Benchmark: llama-benchy 0.3.5, 3 runs per config
| model | test | t/s (total) | t/s (req) | peak t/s | peak t/s (req) | ttfr (ms) | est_ppt (ms) | e2e_ttft (ms) |
|---|---|---|---|---|---|---|---|---|
| g/m | pp128 (c2) | 1142.43 ± 15.71 | 575.81 ± 8.37 | 225.78 ± 3.14 | 224.07 ± 3.14 | 225.81 ± 3.14 | ||
| g/m | tg32 (c2) | 13.93 ± 0.33 | 7.04 ± 0.09 | 16.00 ± 0.00 | 8.00 ± 0.00 | |||
| g/m | pp128 (c4) | 1189.79 ± 2.08 | 427.42 ± 129.01 | 333.62
"""


def test_table_without_empty_cells_is_aligned(tmp_path: Path) -> None:
    path = tmp_path / "b.md"
    path.write_text(SHIFTED)
    load = load_of(path)
    rows = results_of(load)
    assert (load.tool, load.tool_version, load.model) == ("llama-benchy", "0.3.5", "g/m")
    assert {(r.metric, r.value) for r in rows} == {
        ("prompt_tps", 1142.43), ("prompt_tps_per_request", 575.81), ("ttfr_ms", 225.78), ("prompt_ms", 224.07),
        ("ttft_ms", 225.81), ("output_tps", 13.93), ("decode_tps", 7.04), ("peak_output_tps", 16.0),
        ("peak_decode_tps", 8.0),
    }  # fmt: skip
    total, each = result_at(rows, "output_tps", "mean"), result_at(rows, "ttft_ms", "mean")
    assert (total.n, total.sd) == (3, pytest.approx(0.33 * 1.5**0.5)) and (each.n, each.sd) == (
        6,
        pytest.approx(3.14 * 1.2**0.5),
    )
    assert total.reason == "counts_chunks" and each.reason is None and total.point == "pp128 tg32 d0 c2"
    assert load.notes == ["Line 6 was left out: it is cut off, or its numbers do not fit its columns."]


@pytest.mark.parametrize(
    ("cell", "expected_rows"),
    [
        ("109.8 tok/s", [("max", 109.8, None)]),
        ("~80 tok/s", [("max", 80.0, "stated_as_about")]),
        ("90-100 tok/s", [("min", 90.0, "stated_as_range"), ("max", 100.0, "stated_as_range")]),
        ("1,090 t/s", [("max", 1090.0, None)]),
        ("262K ctx", []),
        ("—", []),
        ("+4.0%", []),
    ],
)
def test_a_number_as_people_write_it(
    tmp_path: Path, cell: str, expected_rows: list[tuple[str, float, str | None]]
) -> None:
    try:
        rows = rows_of(tmp_path, f"| Config | Peak TG |\n|---|---|\n| A | {cell} |\n")
    except ImportRefusedError:
        rows = []
    actual_rows = [(r.statistic, r.value, r.reason) for r in rows if isinstance(r, Result) and r.metric == "output_tps"]
    assert actual_rows == expected_rows and len(rows) == len(expected_rows)


def test_lines_of_a_log_in_other_words(tmp_path: Path) -> None:
    text = (
        "| a | b |\n|---|---|\n\n"
        "Generation throughput: 107.6 tok/s acceptance length: 4.98 draft acceptance: 99.5%\n"
        "Typical decode throughput: around 70-90 tok/s\nfull_layer_tokens=139515\n"
    )
    rows = [row for row in rows_of(tmp_path, text) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value) for r in rows] == [
        ("output_tps", "stated", 107.6), ("acceptance_length", "stated", 4.98), ("acceptance_rate", "stated", 0.995),
        ("output_tps", "min", 70.0), ("output_tps", "max", 90.0), ("kv_cache_tokens", "stated", 139515.0),
    ]  # fmt: skip


BARE = """Base model NVIDIA quant Turbo (this model)
GPU memory 58.9 GiB 31 GiB 18.5 GiB (-68% base, -40% nvidia)
GPQA Diamond 75.71% 75.46% 72.73% (-2.98% base, -2.73% nvidia)
Prefill 6352 tok/s 11069 tok/s 15359 tok/s (+142% base, +39% nvidia)
Decode (single) 24.1 tok/s 39.2 tok/s 51 tok/s (+112% base, +30% nvidia)
"""


def test_columns_whose_bars_were_lost(tmp_path: Path) -> None:
    rows = rows_of(tmp_path, BARE)
    actual_rows = [(r.metric, r.value) for r in rows if isinstance(r, Result)]
    assert actual_rows == [
        ("model_load_gib", 58.9), ("model_load_gib", 31.0), ("model_load_gib", 18.5),
        ("prompt_tps", 6352.0), ("prompt_tps", 11069.0), ("prompt_tps", 15359.0),
        ("decode_tps", 24.1), ("decode_tps", 39.2), ("decode_tps", 51.0),
    ]  # fmt: skip
    shares = [(a.task, a.value, a.n, a.reason) for a in rows if isinstance(a, Accuracy)]
    assert [(task, share) for task, share, _, _ in shares] == [
        (f"GPQA Diamond: column {n} of 3", s) for n, s in enumerate((0.7571, 0.7546, 0.7273), 1)
    ]
    assert all(n is None and reason and reason == "item_count_not_told" for _, _, n, reason in shares)


def test_a_table_of_passed_and_failed_cases(tmp_path: Path) -> None:
    text = (
        "| Test | Streaming | Result |\n|---|---|---|\n"
        "| Single tool call | No | ✅ Valid JSON arguments |\n| Agentic loop | Yes | ❌ ended after one step |\n"
    )
    rows = [(c.case_name, c.mode, c.is_pass, c.why) for c in rows_of(tmp_path, text) if isinstance(c, SuiteCheck)]
    assert rows == [
        ("Single tool call", "whole", True, None),
        ("Agentic loop", "streaming", False, "ended after one step"),
    ]


def test_lost_first_head_cell_keeps_column_names(tmp_path: Path) -> None:
    text = (
        "| Single user | 4 concurrent users | |\n|---|---|---|\n| Decode (tg128) | ~6.9 tok/s | ~27 tok/s aggregate |\n"
    )
    alone, together = (r for r in rows_of(tmp_path, text) if isinstance(r, Result))
    assert (alone.metric, alone.value, "Single user" in alone.point) == ("decode_tps", 6.9, True)
    assert (together.metric, together.value, together.concurrency) == ("output_tps", 27.0, 4)


# --- whole texts ------------------------------------------------------------------------------------------------------
NUMBER = re.compile(r"^(?:up to|around|~|<)? ?(\d[\d,]*(?:\.\d+)?)(K)?", re.IGNORECASE)
MEASURED = re.compile(
    r"tok/s|t/s|req/s|\bms\b|\bs\b|\bmin\b|GiB|\bMB\b|%|\btok(?:ens)?\b|×|\dx\b|±|^\d[\d.,]*$|accept", re.IGNORECASE
)
DIFFERENCES = re.compile(r"speedup|delta|Δ|savings|gain|節省|增加", re.IGNORECASE)
NOT_MEASURED = re.compile(r"item|nodes|concurrency|併發數|gpu|vram$|quant$|issue|max context|streaming", re.IGNORECASE)


def table_numbers(text: str) -> list[tuple[int, float]]:
    """(line, number) of each cell that states a measurement, by another reading than the importer's."""
    found, heads, lines = [], [], text.splitlines()
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            heads = []
        elif not heads:
            heads = cells
        elif not set(line) <= set("|-: "):
            for place, cell in enumerate(cells[1:], 1):
                head = heads[place] if place < len(heads) else ""
                match = NUMBER.match(cell)
                is_count = bool(NOT_MEASURED.search(head)) and not re.search(r"[a-z%]", cell)
                is_count |= bool(NOT_MEASURED.search(heads[0])) and not re.search(r"tok/s|\bs\b|[\d.]+%", cell)
                is_derived = DIFFERENCES.search(f"{head} {cells[0]}")
                if match and MEASURED.search(cell) and not is_count and not is_derived:
                    scale = 1e3 if match[2] else 1.0
                    found.append((number, float(match[1].replace(",", "")) * scale))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name[:3])
def test_every_number_of_every_published_table(path: Path) -> None:
    rows = [row for load in loads_of(path) for row in load.rows]
    values: list[float] = [row.value for row in rows if isinstance(row, Result | Accuracy) and row.value is not None]
    values += [r.total_ms / 1e3 for r in rows if isinstance(r, RequestRecord) and r.total_ms is not None]
    ours = {round(value, 6) for value in values}
    scales = (1.0, 0.01, 1e3, 60.0)  # per cent, seconds to milliseconds, minutes
    lost_rows = [
        (line, number)
        for line, number in table_numbers(path.read_text())
        if not any(round(number * scale, 6) in ours for scale in scales)
    ]
    assert lost_rows == []


def source(number: str) -> Path:
    sources = [path for path in SOURCES if path.name.startswith(number)]
    if not sources:
        pytest.skip("PITWALL_CORPUS names no folder beside which the texts lie")
    return sources[0]


def test_the_other_reading_finds_numbers() -> None:
    counts = [len(table_numbers(source(number).read_text())) for number in ("000", "001", "002", "003", "004")]
    assert counts == [22, 188, 0, 64, 0]


def test_every_number_of_the_columns_without_bars() -> None:
    path = source("004")
    lines = path.read_text().split("Usage")[0].splitlines()
    bare = [re.sub(r"\(.*", "", line) if "Decode (" not in line else re.sub(r"\([-+].*", "", line) for line in lines]
    values = [float(n) for line in bare for n in re.findall(r"(?<!~)\b(\d+(?:\.\d+)?) (?:GiB|tok/s|req/s)", line)]
    shares = [float(n) / 100 for line in bare for n in re.findall(r"(\d+\.\d+)%", line)]
    rows = [row for load in loads_of(path) for row in load.rows]
    results = [row for row in rows if isinstance(row, Result)]
    actual_values = [row.value for row in results if ": column " in row.point]
    assert sorted(v or 0.0 for v in actual_values) == sorted(values) and len(values) == 30
    (of_sentence,) = [row for row in results if row.value not in values]  # 'TTFT — <70 ms'
    assert (of_sentence.metric, of_sentence.statistic, of_sentence.value) == ("ttft_ms", "max", 70.0)
    assert [row.value for row in rows if isinstance(row, Accuracy)] == [pytest.approx(share) for share in shares]


def test_every_number_of_the_printed_benchmark() -> None:
    path = source("002")
    text = path.read_text()
    (load,) = loads_of(path)
    requests = requests_of(load)
    assert [r.extra["stated_tps"] for r in requests] == [float(n) for n in re.findall(r"= ([\d.]+) tok/s", text)]
    values = [1e3 * float(n) for n in re.findall(r"in ([\d.]+)s =", text)]
    assert [r.total_ms for r in requests if r.total_ms] == [pytest.approx(ms) for ms in values]
    assert len(requests) == 14 and value(results_of(load), "output_tps", "mean", "4 at once") == 118.3


LEVELS = """| Concurrency | Agg tok/s | Per-req tok/s | TTFT p50 | ITL mean | P99 TPOT (ms) | E2E p50 |
|---|---|---|---|---|---|---|
| **×1** | 16.5 | 41.5 | 475ms | 24.5ms | 30.5 | 0.5s |
| c=16 | 152.5 | 13.5 | 331ms | 72.5ms | 90.5 | 12.25s |
"""


def test_statistics_and_levels_in_their_heads(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, LEVELS) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows] == [
        ("output_tps", "stated", 16.5, 1), ("decode_tps", "stated", 41.5, 1), ("ttft_ms", "median", 475.0, 1),
        ("itl_ms", "mean", 24.5, 1), ("tpot_ms", "p99", 30.5, 1), ("e2e_ms", "median", 500.0, 1),
        ("output_tps", "stated", 152.5, 16), ("decode_tps", "stated", 13.5, 16), ("ttft_ms", "median", 331.0, 16),
        ("itl_ms", "mean", 72.5, 16), ("tpot_ms", "p99", 90.5, 16), ("e2e_ms", "median", 12250.0, 16),
    ]  # fmt: skip


SEVERAL = """| Metric | Value |
|---|---|
| **Throughput** | 43.5 tok/s avg (40.5 – 45.5) |
| **TTFT** | 78ms p50, 150ms p95 |
| **E2E latency** | 3.25s avg (300 max_tokens) |
"""


def test_several_statistics_in_a_cell(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SEVERAL) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value) for r in rows] == [
        ("output_tps", "mean", 43.5), ("output_tps", "min", 40.5), ("output_tps", "max", 45.5),
        ("ttft_ms", "median", 78.0), ("ttft_ms", "p95", 150.0), ("e2e_ms", "mean", 3250.0),
    ]  # fmt: skip


SERVED = """| Metric | Before | After | Improvement |
|---|---|---|---|
| Total token throughput (tok/s) | 7152.5 | 8432.5 | +17.9% |
| Output Token Throughput Per User (tokens/sec/user) | 69.5 | 62.5 | -10% |
| Output Token Throughput (tokens/sec) | 67.5 | 60.5 | -10% |
| Request Throughput (requests/sec) | 0.5 | 0.25 | -50% |
| Output Sequence Length (tokens) | 126.5 | 502.5 | |
| Req Tput (RPS) | 0.75 | 1.75 | |
"""


def test_units_as_benchmark_tools_write_them(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SERVED) if isinstance(row, Result)]
    assert [(r.metric, r.value) for r in rows if "Before" in r.point] == [
        ("total_tps", 7152.5), ("decode_tps", 69.5), ("output_tps", 67.5), ("request_tps", 0.5),
        ("completion_tokens", 126.5), ("request_tps", 0.75),
    ]  # fmt: skip
    assert len(rows) == 12


COLUMNS = """Results of today:
Engine       Ctx  TTFT(ms)  Total(ms)  Prefill t/s  Decode t/s
first       1009    10207      11720           99        66.5
second one  1450      480       1674         3022          84

Done in 5 minutes.
"""


def test_columns_aligned_by_blanks(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, COLUMNS) if isinstance(row, Result)]
    assert [(r.metric, r.value, r.unit) for r in rows] == [
        ("ttft_ms", 10207, "ms"), ("stated", 11720, "ms"), ("prompt_tps", 99, "tok/s"), ("decode_tps", 66.5, "tok/s"),
        ("ttft_ms", 480, "ms"), ("stated", 1674, "ms"), ("prompt_tps", 3022, "tok/s"), ("decode_tps", 84, "tok/s"),
    ]  # fmt: skip
    assert rows[0].point == "first, Ctx=1009: TTFT(ms) (line 3)" and rows[-1].point.startswith(
        "second one, Ctx=1450: Decode"
    )


# --- conditions and names that tables state in other words ------------------------------------------------------------
SWEPT = """| ISL | Output tokens | Concur | N | TTFT P50 (ms) | Tok/s | Req/s |
|---|---|---|---|---|---|---|
| 64 | 32 | 8 | 16 | 90.5 | 25.5 | 0.25 |
"""


def test_other_heads_of_a_load(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SWEPT) if isinstance(row, Result)]
    assert [(r.metric, r.value, r.concurrency, r.prompt_tokens, r.output_tokens) for r in rows] == [
        ("ttft_ms", 90.5, 8, 64, 32), ("stated", 25.5, 8, 64, 32), ("request_tps", 0.25, 8, 64, 32),
    ]  # fmt: skip
    assert {r.point.partition(":")[0] for r in rows} == {"64, Output tokens=32, Concur=8, N=16"}


SECTIONS = """# Speeds of a small machine

## first-model, two nodes
Config: TP=2, --kv-cache-dtype=fp8

| Batch | tok/s per request | Aggregate tok/s |
|---|---|---|
| 1 (serial) | 17.5 | 17.5 |
| 2 (concurrent) | 12.5 | 24.5 |

**second-model (8 bit)**

```
# comment of a script
```
--kv-cache-dtype fp8
| Metric | 1K | 8K |
|---|---|---|
| Prefill (tok/s) | 14.5 | FAIL |
| TPOT (ms/tok) | 22.5 | — |
| Context window | 4096 tokens | n/a |
"""


def test_sections_settings_and_failures_of_tables(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SECTIONS) if isinstance(row, Result)]
    assert [(r.point, r.metric, r.value, r.concurrency) for r in rows] == [
        ("first-model, two nodes: 1 (serial): tok/s per request (line 8)", "decode_tps", 17.5, 1),
        ("first-model, two nodes: 1 (serial): Aggregate tok/s (line 8)", "output_tps", 17.5, 1),
        ("first-model, two nodes: 2 (concurrent): tok/s per request (line 9)", "decode_tps", 12.5, 2),
        ("first-model, two nodes: 2 (concurrent): Aggregate tok/s (line 9)", "output_tps", 24.5, 2),
        ("second-model (8 bit): Prefill (tok/s): 1K (line 19)", "prompt_tps", 14.5, None),
        ("second-model (8 bit): Prefill (tok/s): 8K (line 19)", "prompt_tps", None, None),
        ("second-model (8 bit): TPOT (ms/tok): 1K (line 20)", "tpot_ms", 22.5, None),
    ]  # fmt: skip
    assert rows[5].reason == "not_a_number text=FAIL"


def test_refusal_of_a_table_says_what_the_text_looks_like(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"a.md looks like a text that begins “| Name | Note |”.*its unit"):
        rows_of(tmp_path, "| Name | Note |\n|---|---|\n| A | good |\n")


PARTS = """| test | result |
|---|---|
| pp4096 (c1) | **1,642-1,653 tok/s**, TTFT 2.25-2.5 s |
| pp128 (c8) | 469.5 tok/s; TTFT 437.5 ms |
"""


def test_several_metrics_in_a_cell(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, PARTS) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows] == [
        ("prompt_tps", "min", 1642.0, 1), ("prompt_tps", "max", 1653.0, 1), ("ttft_ms", "min", 2250.0, 1),
        ("ttft_ms", "max", 2500.0, 1), ("prompt_tps", "stated", 469.5, 8), ("ttft_ms", "stated", 437.5, 8),
    ]  # fmt: skip
    assert rows[2].point == "pp4096 (c1): result (line 3), TTFT"


def test_per_cent_of_known_tasks_are_accuracies(tmp_path: Path) -> None:
    text = "Task | first-model | second-model\n-- | -- | --\nwinogrande | 0.00% | 80.25%\narc_easy | 98.00% | 86.50%\n"
    rows = [(row.task, row.value) for row in rows_of(tmp_path, text) if isinstance(row, Accuracy)]
    assert rows == [
        ("winogrande: first-model", 0.0), ("winogrande: second-model", 0.8025),
        ("arc_easy: first-model", 0.98), ("arc_easy: second-model", 0.865),
    ]  # fmt: skip


PLUS = """Summary:
+-----------------------------------+-----------+
| Key                               |     Value |
+===================================+===========+
| Output token throughput (tok/s)   | 1078.5    |
+-----------------------------------+-----------+
| Average latency (s)               |   24.5    |
+-----------------------------------+-----------+
| Average time to first token (s)   |    0.5    |
+-----------------------------------+-----------+
| Average time per output token (s) |    0.0625 |
+-----------------------------------+-----------+
| Average inter-token latency (s)   |    0.125  |
+-----------------------------------+-----------+
"""
BOX = str.maketrans({"|": "│", "+": "┼", "-": "─", "=": "═"})


@pytest.mark.parametrize("is_box", [False, True])
def test_tables_in_frames(tmp_path: Path, is_box: bool) -> None:
    text = PLUS.translate(BOX).replace("inter─token", "inter-token").replace("\n┼", "\n├") if is_box else PLUS
    rows = [row for row in rows_of(tmp_path, text) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value) for r in rows] == [
        ("output_tps", "stated", 1078.5), ("e2e_ms", "mean", 24500.0), ("ttft_ms", "mean", 500.0),
        ("tpot_ms", "mean", 62.5), ("itl_ms", "mean", 125.0),
    ]  # fmt: skip
    assert rows[1].point == "Average latency (s) (line 7)"


SUMMARY = """Is the first one the first token latency, and the second the average?

Load time: 18507.00 ms
Generate time: 21.88 ± 1.20 ms
TTFT (ms): 20.88
Requests: 64
Throughput : 47.89 ± 1.07 tokens/s

Thanks for 3 answers: 12 ms is a lot.
"""


def test_a_summary_that_a_script_prints(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text(SUMMARY)
    load = load_of(path)
    assert [(r.point, r.metric, r.value, r.unit) for r in results_of(load)] == [
        ("Load time (line 3)", "stated", 18507.0, "ms"), ("Generate time (line 4)", "stated", 21.88, "ms"),
        ("TTFT (ms) (line 5)", "ttft_ms", 20.88, "ms"), ("Throughput (line 7)", "output_tps", 47.89, "tok/s"),
    ]  # fmt: skip
    assert load.params == {"Requests (line 6)": 64.0}


def test_pairs_of_a_line(tmp_path: Path) -> None:
    rows = [
        row for row in rows_of(tmp_path, "warm-1 wall=2.35s ttft_ms=140 tok/s=59.5 n=128\n") if isinstance(row, Result)
    ]
    assert [(r.point, r.metric, r.value) for r in rows] == [
        ("warm-1 wall (line 1)", "duration_s", 2.35), ("warm-1 ttft ms (line 1)", "ttft_ms", 140.0),
        ("warm-1 tok/s (line 1)", "stated", 59.5),
    ]  # fmt: skip


LINE_BREAKS = (
    "| Case | baseline | Optimized |\n|---|---|---|\n"
    "| **Short Prompt** | Total TPS: 24223.22<br>Mean TPOT(ms): 62.10 "
    '| Total TPS: 25172.82 <span style="color:red;">(+4.0%)</span><br/>Mean TPOT(ms): 55.31 |\n'
)


def test_lines_within_a_cell(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, LINE_BREAKS) if isinstance(row, Result)]
    assert [(r.point, r.metric, r.statistic, r.value) for r in rows] == [
        ("**Short Prompt**: baseline (line 3), Total TPS", "total_tps", "stated", 24223.22),
        ("**Short Prompt**: baseline (line 3), Mean TPOT(ms)", "tpot_ms", "mean", 62.1),
        ("**Short Prompt**: Optimized (line 3), Total TPS", "total_tps", "stated", 25172.82),
        ("**Short Prompt**: Optimized (line 3), Mean TPOT(ms)", "tpot_ms", "mean", 55.31),
    ]


SHARED = """| # concurrent | prefill tok/s · TTFT (ms) · decode tok/s | ITL p50 / p99 (ms) |
|---|---|---|
| 1 | 3975 · 217.5 · 146.95 | 6.8 / 7.25 |
| 4 | - | 9 / 12 |
"""


def test_a_column_of_several_values(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SHARED) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows] == [
        ("prompt_tps", "stated", 3975.0, 1), ("ttft_ms", "stated", 217.5, 1), ("output_tps", "stated", 146.95, 1),
        ("itl_ms", "median", 6.8, 1), ("itl_ms", "p99", 7.25, 1), ("itl_ms", "median", 9.0, 4),
        ("itl_ms", "p99", 12.0, 4),
    ]  # fmt: skip


COUNTS = """| Metric | a | b |
|---|---|---|
| Request Count (requests) | 64.00 | 60 |
| acceptance_rate | 0.625 | 62.5 |
"""


def test_counts_and_rates_of_a_table(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, COUNTS) if isinstance(row, Result)]
    assert [(r.metric, r.value) for r in rows] == [
        ("requests", 64.0), ("requests", 60.0), ("acceptance_rate", 0.625), ("acceptance_rate", 0.625),
    ]  # fmt: skip


UNITS_AT_THE_END = """## C of one tool
| Tool | C | aggregate tok/s | TTFT p50 ms | latency (p50, s) | tok/s/user p50 |
|---|---:|---:|---:|---:|---:|
| llm-decode-bench | 4 | 358.0 | 115.8 | 0.5 | 109.9 |
"""


def test_units_at_the_end_of_a_head(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, UNITS_AT_THE_END) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value, r.concurrency) for r in rows] == [
        ("output_tps", "stated", 358.0, 4), ("ttft_ms", "median", 115.8, 4), ("e2e_ms", "median", 500.0, 4),
        ("decode_tps", "median", 109.9, 4),
    ]  # fmt: skip


TAIL = """Median ITL (ms):                         22.52
P50 ITL (ms):                            22.52
P99 ITL (ms):                            41.28
==================================================
Testing input=8192 output=1024 rps=65 num_prompts=325
"""


def test_the_end_of_a_summary_and_the_settings_of_the_next(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, TAIL) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value) for r in rows] == [("itl_ms", "median", 22.52), ("itl_ms", "p99", 41.28)]


SECONDS = """| Concurrency | Backend | Avg Latency (sec) | Tokens/sec | Decode |
|---|---|---|---|---|
| 80 | vLLM | 1.3634 | 2547.06 | **45.5** tok/sec |
| 80 | other | 1.541 | 2543.24 | ~6.5 tokens per second |
"""


def test_seconds_and_rates_as_people_write_them(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, SECONDS) if isinstance(row, Result)]
    assert [(r.metric, r.statistic, r.value, r.unit, r.concurrency) for r in rows] == [
        ("e2e_ms", "mean", 1363.4, "ms", 80), ("stated", "stated", 2547.06, "tok/s", 80),
        ("output_tps", "stated", 45.5, "tok/s", 80), ("e2e_ms", "mean", 1541.0, "ms", 80),
        ("stated", "stated", 2543.24, "tok/s", 80), ("output_tps", "stated", 6.5, "tok/s", 80),
    ]  # fmt: skip


ENGINES = """### Throughput (tokens/sec)

| Batch Size | TensorRT-LLM | vLLM (0.6) | Requests | Difference |
|---|---|---|---|---|
| 1 | 71.26 | 68.18 | 100 | 4.5% |
| 64 | 2359.84 | 2545.08 | 100 | -7.3% |
"""


def test_a_heading_has_the_unit_of_columns_of_engines(tmp_path: Path) -> None:
    rows = [row for row in rows_of(tmp_path, ENGINES) if isinstance(row, Result)]
    assert [(r.metric, r.value) for r in rows] == [
        ("output_tps", 71.26), ("output_tps", 68.18), ("output_tps", 2359.84), ("output_tps", 2545.08),
    ]  # fmt: skip

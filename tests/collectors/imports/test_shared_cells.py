"""Cells and rows of several parts: values that a head or a legend names, wrapped rows, heads of two lines, quotes."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.results.looks import looks_of
from collectors.imports.results.prose.sentences import read_sentences
from collectors.imports.results.prose.shared_columns import names_of_parts
from collectors.imports.results.source import ResultFile
from tests.collectors.imports.captured import loads_of
from tests.collectors.imports.test_prose_figures import figures_of, results_of_text

NAMES = {
    "pp/tg t/s": ["pp t/s", "tg t/s"],
    "TTFT p50/p99 (ms)": ["TTFT p50 (ms)", "TTFT p99 (ms)"],
    "p50 / p99 TTFT (ms)": ["p50 TTFT (ms)", "p99 TTFT (ms)"],
    "c=8 (tok/s / TTFT ms)": ["c=8 tok/s", "c=8 TTFT ms"],
    "decode (tok/s) / ttft (ms) c=8": ["decode (tok/s), c=8", "ttft (ms) c=8"],
    "tok/s/user": ["tok/s/user"],
    "ms/token": ["ms/token"],
}


@pytest.mark.parametrize(("label", "names"), NAMES.items())
def test_names_of_the_values_of_a_cell(label: str, names: list[str]) -> None:
    assert list(names_of_parts(label)) == names


def test_heads_that_name_two_metrics(tmp_path: Path) -> None:
    text = (
        "| Arm | prefill/decode (tok/s) | c=8 (tok/s / TTFT ms) |\n|---|---|---|\n"
        "| A | 1045.5/45.5 | 310.5 / 81.5 |\n| B | OOM | 320.5 / 82.5 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows if row.value] == [
        ("prompt_tps", 1045.5, None), ("output_tps", 45.5, None), ("stated", 310.5, 8), ("ttft_ms", 81.5, 8),
        ("stated", 320.5, 8), ("ttft_ms", 82.5, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("legend", ["Cells are decode tok/s / TTFT ms.", "**Decode tok/s / TTFT ms**"])
def test_a_legend_names_the_values_of_cells(tmp_path: Path, legend: str) -> None:
    text = f"{legend}\n\n| Arm | TP | 8K | 32K |\n|---|---|---|---|\n| A | 2 | 45.5 / 1200 | 35.5 / 4200 |\n"
    assert figures_of(tmp_path, text) == [
        ("decode_tps", "stated", 45.5), ("ttft_ms", "stated", 1200.0),
        ("decode_tps", "stated", 35.5), ("ttft_ms", "stated", 4200.0),
    ]  # fmt: skip


def test_cells_with_more_values_than_names_have_no_figure(tmp_path: Path) -> None:
    text = "| Arm | prefill/decode tok/s | Decode tok/s |\n|---|---|---|\n| A | 900 / 45.5 / 46.5 | 47.5 |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 47.5)]


SIDES = """| Metric | Input | Output |
|---|---|---|
| Throughput (tok/s) | 1244.5 | 466.5 |

| Phase | Throughput (tok/s) |
|---|---|
| Prefill | 1234.5 |
| Decode | 45.5 |
| prefill-heavy | 145.5 |
"""


def test_a_bare_side_says_whose_throughput_it_is(tmp_path: Path) -> None:
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, SIDES)] == [
        ("prompt_tps", 1244.5), ("output_tps", 466.5), ("prompt_tps", 1234.5), ("output_tps", 45.5),
        ("output_tps", 145.5),
    ]  # fmt: skip


FRAMED = """┏━━━━━━━━━━┳━━━━━━━━━━━┳━━━━━━━━━┓
┃ Arm      ┃ TPOT      ┃ TTFT    ┃
┃          ┃ (ms)      ┃ (ms)    ┃
┡━━━━━━━━━━╇━━━━━━━━━━━╇━━━━━━━━━┩
│ A        │ 8.5       │ 45.5    │
│ B        │ 9.5       │ 55.5    │
│          │           │ (warm)  │
└──────────┴───────────┴─────────┘
"""


def test_heads_and_rows_of_a_frame_in_several_lines(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, FRAMED)
    assert [(row.metric, row.value, row.point) for row in rows] == [
        ("tpot_ms", 8.5, "A: TPOT (ms) (line 5)"), ("ttft_ms", 45.5, "A: TTFT (ms) (line 5)"),
        ("tpot_ms", 9.5, "B: TPOT (ms) (line 6)"), ("ttft_ms", 55.5, "B: TTFT (ms), warm (line 6)"),
    ]  # fmt: skip


def test_broken_rows_are_whole_again(tmp_path: Path) -> None:
    text = (
        "| Arm | Decode (tok/s) | TTFT (ms) |\n|---|---|---|\n| A with\na long name | 45.5 | 81.5 |\n"
        "| B | 55.5\n| 91.5 |\n| C | 65.5 | 71.5 |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows] == [
        ("decode_tps", 45.5), ("ttft_ms", 81.5), ("decode_tps", 55.5), ("ttft_ms", 91.5), ("decode_tps", 65.5),
        ("ttft_ms", 71.5),
    ]  # fmt: skip
    assert rows[0].point == "A with a long name: Decode (tok/s) (line 3)"


GROUPED = """             ttft_ms          tok_s
                mean    p99    mean    p99
arm concurrency
A   1           81.5   91.5    45.5   35.5
    8           82.5   92.5    46.5   36.5
"""
COUNTED = """  arm ttft_ms       tok_s
         mean   p99  mean   p99
0   A    81.5  91.5  45.5  35.5
1   B    82.5  92.5  46.5  36.5
"""


@pytest.mark.parametrize("text", [GROUPED, COUNTED])
def test_heads_of_a_dataframe_in_two_lines(tmp_path: Path, text: str) -> None:
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value) for row in rows[:4]] == [
        ("ttft_ms", "mean", 81.5), ("ttft_ms", "p99", 91.5), ("stated", "mean", 45.5), ("stated", "p99", 35.5),
    ]  # fmt: skip
    assert len(rows) == 8


def test_quotations_within_each_other(tmp_path: Path) -> None:
    text = "> > | Arm | Decode (tok/s) |\n> > |---|---|\n> > | A | 65.5 |\n>\n> I see 45.5 tok/s decode.\n\nMine.\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 65.5), ("decode_tps", "stated", 45.5)]


def test_values_without_names_of_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("some-model,1,81.5,45.5\nsome-model,8,82.5,310.5\n")
    assert looks_of(ResultFile(path, path.name)) == "comma-separated values without a line that names their columns"


def test_the_unit_behind_the_last_value_is_that_of_all(tmp_path: Path) -> None:
    text = "| build | cold TTFT | warm TTFT |\n|---|---|---|\n| A | 9.5s | 3.5 / 4.5s |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.point) for row in rows] == [
        ("ttft_ms", 9500.0, "A: cold TTFT (line 3)"), ("ttft_ms", 3500.0, "A: warm TTFT (line 3), value 1 of 2"),
        ("ttft_ms", 4500.0, "A: warm TTFT (line 3), value 2 of 2"),
    ]  # fmt: skip


def test_names_in_code_marks_and_remarks_behind_numbers(tmp_path: Path) -> None:
    text = (
        "| metric | value |\n|---|---|\n| `total_tok_s` | 1402.5 |\n| `prefill_tok_s` | 1124.5 |\n"
        "| `tpot_p50_ms` | **8.5** \u2190 the old one |\n"
    )
    assert figures_of(tmp_path, text) == [
        ("total_tps", "stated", 1402.5), ("prompt_tps", "stated", 1124.5), ("tpot_ms", "median", 8.5),
    ]  # fmt: skip


def test_tests_of_llama_bench_within_a_cell(tmp_path: Path) -> None:
    text = "| Arm | Result |\n|---|---|\n| A | 1396.5 pp512, 96.5 tg128 |\n| B | pp512: 1059.5, tg128: 62.5 |\n"
    assert [(metric, value) for metric, _, value in figures_of(tmp_path, text)] == [
        ("prompt_tps", 1396.5), ("decode_tps", 96.5), ("prompt_tps", 1059.5), ("decode_tps", 62.5),
    ]  # fmt: skip


def test_arms_of_a_line_with_a_label_each(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, "On main: ~201.5 tok/s, on the branch: ~220.5 tok/s\n")
    assert [(row.value, "main" in row.point) for row in rows] == [(201.5, True), (220.5, False)]


def test_the_unit_of_a_columns_first_number_is_that_of_the_column(tmp_path: Path) -> None:
    text = "| ctx | New one | Cost |\n|---|---|---|\n| 4k | **94.5** tok/s | 87.5 |\n| 8k | **92.5** | 86.5 |\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.value, row.unit) for row in rows] == [(94.5, "tok/s"), (92.5, "tok/s")]


def test_levels_with_their_parts_in_brackets(tmp_path: Path) -> None:
    text = "| concurrency | TTFT | tokens/s/user |\n|---|---|---|\n| 640 (=40x16) | 839.5 | 53.5 |\n"
    [row] = results_of_text(tmp_path, text)
    assert (row.metric, row.value, row.concurrency) == ("decode_tps", 53.5, 640)
    assert "839.5" not in row.point


def test_columns_without_a_unit_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| c | aggregate tok/s | per stream |\n|---|---|---|\n| 8 | 87.5 | 10.5 |\n")
    [load] = loads_of(path)
    assert load.notes == ["The column 'per stream' states no unit: its numbers were left out."]


def test_a_statistic_in_brackets_with_a_number_is_that_of_the_other_number(tmp_path: Path) -> None:
    text = "| Metric | Value |\n|---|---|\n| Decode | 24.5 tok/s c1 (peak 39) |\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 24.5)]


def test_settings_of_a_line_of_pairs_name_the_point(tmp_path: Path) -> None:
    text = "words  c=1  ttft=0.5s  decode=22.5 tok/s\nwords  c=4  ttft=1.5s  decode=18.5 tok/s\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 500.0, 1), ("decode_tps", 22.5, 1), ("ttft_ms", 1500.0, 4), ("decode_tps", 18.5, 4),
    ]  # fmt: skip


def test_words_between_pairs_and_labels_are_read_too(tmp_path: Path) -> None:
    text = "5k words ttft=2.5s  -> 1946.5 tok/s prefill\n18k words ttft=8.5s  -> 1933.5 tok/s prefill\n"
    assert sorted((metric, value) for metric, _, value in figures_of(tmp_path, text)) == [
        ("prompt_tps", 1933.5), ("prompt_tps", 1946.5), ("ttft_ms", 2500.0), ("ttft_ms", 8500.0),
    ]  # fmt: skip


def test_durations_of_loading_and_of_caches(tmp_path: Path) -> None:
    text = (
        "Load weight end. elapsed=1.5 s, avail mem=12.5 GB\n\n"
        "| Arm | A |\n|---|---|\n| Start, warm compile cache | 3.5 s |\n| out tok/s | 21.5 |\n"
    )
    assert sorted((metric, value) for metric, _, value in figures_of(tmp_path, text)) == [
        ("output_tps", 21.5), ("stated", 3.5), ("stated", 12.5), ("weights_load_s", 1.5),
    ]  # fmt: skip


def test_a_table_that_lost_its_heads(tmp_path: Path) -> None:
    text = (
        "RESULTS ( main / branch )\n\n-- | -- | --\nTotal Token   Throughput (tokens/sec): | 23998.5 | 24113.5\n"
        "Total   Latency (ms): | 262159.5 | 260907.5\nAverage   request latency (ms): | 257805.5 | 256444.5\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.statistic, row.value) for row in rows] == [
        ("total_tps", "stated", 23998.5), ("total_tps", "stated", 24113.5), ("stated", "stated", 262159.5),
        ("stated", "stated", 260907.5), ("e2e_ms", "mean", 257805.5), ("e2e_ms", "mean", 256444.5),
    ]  # fmt: skip
    assert len({row.point for row in rows}) == 6


def test_a_workload_of_long_prefill_is_no_speed_of_the_prompt(tmp_path: Path) -> None:
    assert figures_of(tmp_path, "Decode is about 98.5 tok/s on the long-prefill benchmark.") == [
        ("decode_tps", "stated", 98.5)
    ]
    assert figures_of(tmp_path, "It is near 98.5 tok/s on the long-prefill shape.") == [("stated", "stated", 98.5)]


def test_workloads_named_single_and_failures_of_zero(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "| Workload | Throughput (tok/s) | P99 TTFT (ms) |\n|---|---|---|\n| single_long | 144.5 | 1002.5 |\n"
        "| single stream | 35.5 | 0.00 |\n"
    )
    [load] = loads_of(path)
    assert [(row.metric, row.value) for row in load.result_rows] == [
        ("output_tps", 144.5), ("ttft_ms", 1002.5), ("decode_tps", 35.5),
    ]  # fmt: skip
    assert load.notes == ["Latencies of 0 were left out: nothing answers in no time, so nothing was measured."]


@pytest.mark.parametrize(
    "sentence",
    [
        "It tops out there; no stable 100 tok/s result was seen.",
        "TTFT is constant (prefill 60 ms + one hop + the copy 15 ms + the rest).",
        "\u4ee3\u4ef7\u662f TTFT \u591a ~200 ms",
    ],
)
def test_what_was_denied_or_is_a_part_of_a_sum_is_no_figure(sentence: str) -> None:
    assert read_sentences(sentence) == []


def test_totals_in_chinese(tmp_path: Path) -> None:
    text = "| \u6307\u6807 | A |\n|---|---|\n| \u603b\u541e\u5410 (tok/s) | 38,316 |\n"
    assert figures_of(tmp_path, text) == [("total_tps", "stated", 38316.0)]


def test_values_between_commas_and_decimal_commas(tmp_path: Path) -> None:
    text = "| Arm | TPS | decode rows |\n|---|---|---|\n| A | 132,75 | `56.5`, `57.5`, `58.5 tok/s` |\n"
    assert figures_of(tmp_path, text) == [
        ("stated", "stated", 132.75), ("decode_tps", "stated", 56.5), ("decode_tps", "stated", 57.5),
        ("decode_tps", "stated", 58.5),
    ]  # fmt: skip


def test_what_cells_of_words_do_not_state(tmp_path: Path) -> None:
    text = (
        "| Config | Max ctx | Max tokens | Decode TPS (a/b) | Best for |\n|---|---|---|---|---|\n"
        "| A | **262K** | 5,519,481 | 73.5 / 106.5 | agents on 2x 24 GB cards |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.output_tokens) for row in rows] == [
        ("decode_tps", 73.5, None), ("decode_tps", 106.5, None),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "rows"),
    [
        ("Synthetic fixtures have 145/135/121 tok/s.", []),
        ("The drafts accept 5.5 / 80 % there, code decode +64% vs none.", [("acceptance_rate", 0.8)]),
        ("It takes most of the one 24 GB card.", []),
        ("\u53ea\u80fd\u5f97\u523025.5t/s\u7684\u8f93\u51fa\u901f\u5ea6", [("output_tps", 25.5)]),
    ],
)
def test_figures_of_odd_sentences(sentence: str, rows: list[tuple[str, float]]) -> None:
    statements = read_sentences(sentence)
    assert [
        (statement.metric_name.metric, round(statement.value.low * statement.metric_name.factor, 9))
        for statement in statements
    ] == rows


def test_a_range_from_a_value_that_is_stored(tmp_path: Path) -> None:
    text = "| Arm | Decode (tok/s) |\n|---|---|\n| A | 7.5 |\n\nAt load it drops from 7.5 to 1.5 tok/s decode.\n"
    assert ("decode_tps", "min", 1.5) in figures_of(tmp_path, text)


def test_a_formula_is_no_figure(tmp_path: Path) -> None:
    text = "Decode: 45.5 tok/s\n\nIt is converted with `decode tok/s = 1000 / TPOT_ms`.\n"
    assert figures_of(tmp_path, text) == [("decode_tps", "stated", 45.5)]

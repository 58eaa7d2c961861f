"""Tables without bars: printed DataFrames, separated values, HTML; and the bare lines above tables and figures."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.prose.column_tables import read_column_tables
from tests.collectors.imports.captured import load_of, loads_of, results_of
from tests.collectors.imports.test_prose_figures import results_of_text

COUNTED = """From my notebook:

   concurrency quant  ttft_ms  output_tok_s
0            1   fp8     81.5         100.5
1            8   NaN    120.5           NaN

[2 rows x 4 columns]
"""
NAMED = """         mean_ttft_ms  tok_per_s
backend
vllm             81.5     1203.5
sglang           75.5     1310.5
"""
TWO_INDEXES = """                     ttft_ms  tok_s
backend concurrency
vllm    1               81.5  100.5
        8              120.5  700.5
sglang  1               75.5  104.5
"""
WRAPPED = """        model  batch_size  \\
0  org/Some-7B           1
1  org/Some-7B          16

   throughput_tok_s  latency_ms
0              95.5        10.5
1            1203.5        13.5
"""
DESCRIBED = """          ttft_ms  output_tps
count  100.000000  100.000000
mean    81.500000   98.500000
std     12.500000    4.500000
25%     72.500000   96.500000
50%     80.500000   99.500000
max    140.500000  108.500000
"""


def figures(tmp_path: Path, text: str) -> list[tuple[str, str, str, float | None]]:
    """Name without its line, metric, statistic and value of each result."""
    rows = results_of_text(tmp_path, text)
    return [(row.point.partition(" (line")[0], row.metric, row.statistic, row.value) for row in rows]


def test_a_printed_data_frame(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, COUNTED)
    assert [(row.point, row.metric, row.value, row.concurrency) for row in rows] == [
        ("1, fp8: ttft_ms (line 4)", "ttft_ms", 81.5, 1), ("1, fp8: output_tok_s (line 4)", "output_tps", 100.5, 1),
        ("8: ttft_ms (line 5)", "ttft_ms", 120.5, 8),
    ]  # fmt: skip


def test_a_data_frame_with_a_named_index(tmp_path: Path) -> None:
    assert figures(tmp_path, NAMED) == [
        ("vllm: mean_ttft_ms", "ttft_ms", "mean", 81.5), ("vllm: tok_per_s", "stated", "stated", 1203.5),
        ("sglang: mean_ttft_ms", "ttft_ms", "mean", 75.5), ("sglang: tok_per_s", "stated", "stated", 1310.5),
    ]  # fmt: skip


def test_a_data_frame_with_two_indexes_writes_the_outer_one_once(tmp_path: Path) -> None:
    rows = [row for row in results_of_text(tmp_path, TWO_INDEXES) if row.metric == "ttft_ms"]
    assert [(row.point.partition(":")[0], row.value, row.concurrency) for row in rows] == [
        ("vllm, concurrency=1", 81.5, 1), ("vllm, concurrency=8", 120.5, 8), ("sglang, concurrency=1", 75.5, 1),
    ]  # fmt: skip


def test_a_wide_data_frame_is_printed_in_parts(tmp_path: Path) -> None:
    assert figures(tmp_path, WRAPPED) == [
        ("org/Some-7B, batch size=1: throughput_tok_s", "output_tps", "stated", 95.5),
        ("org/Some-7B, batch size=1: latency_ms", "e2e_ms", "stated", 10.5),
        ("org/Some-7B, batch size=16: throughput_tok_s", "output_tps", "stated", 1203.5),
        ("org/Some-7B, batch size=16: latency_ms", "e2e_ms", "stated", 13.5),
    ]  # fmt: skip


def test_what_describe_prints(tmp_path: Path) -> None:
    rows = [(statistic, value) for _, metric, statistic, value in figures(tmp_path, DESCRIBED) if metric == "ttft_ms"]
    assert rows == [("mean", 81.5), ("p25", 72.5), ("median", 80.5), ("max", 140.5)]


def test_columns_of_words_beside_a_single_column_of_figures(tmp_path: Path) -> None:
    text = "model      quant   tok/s\nSome-8B    Q4_K_M  45.5\nOther-8B   Q8_0    50.5\n"
    assert [value for *_, value in figures(tmp_path, text)] == [45.5, 50.5]


@pytest.mark.parametrize("separator", [",", "; ", "\t"])
def test_separated_values_between_words(tmp_path: Path, separator: str) -> None:
    lines = [("engine", "concurrency", "ttft_ms", "output_tok_s"), ("A", "1", "81.5", "100.5"), ("B", "8", "", "700.5")]
    text = "Here they are.\n\n```\n" + "\n".join(map(separator.join, lines)) + "\n```\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("ttft_ms", 81.5, 1), ("output_tps", 100.5, 1), ("output_tps", 700.5, 8),
    ]  # fmt: skip


def test_a_sentence_with_commas_is_no_head(tmp_path: Path) -> None:
    text = "We saw TTFT (ms), TPOT (ms), tok/s\nof vLLM, SGLang, 3\n\nDecode: 45.5 tok/s\n"
    assert [value for *_, value in figures(tmp_path, text)] == [45.5]


HTML = """<table><caption>Offline</caption>
<thead><tr><th rowspan="2">Model</th><th colspan="2">A</th><th>B</th></tr>
<tr><th>TTFT (ms)</th><th>tok/s</th><th>TTFT (ms)</th></tr></thead>
<tbody>
<tr><td rowspan=2><b>Some-8B</b></td><td>81.5</td><td>100.5</td><td>82.5</td></tr>
<tr><td>91.5</td><td>&mdash;</td><td>92.5</td></tr>
</tbody></table>
"""


@pytest.mark.parametrize("html", [HTML, HTML.replace("table", "TABLE").replace("td", "TD")])
def test_tables_in_html(tmp_path: Path, html: str) -> None:
    rows = results_of_text(tmp_path, f"# Speeds\n\n{html}\nDecode: 45.5 tok/s\n")
    assert [(row.point, row.value) for row in rows] == [
        ("Some-8B: A TTFT (ms) (line 7)", 81.5), ("Some-8B: A tok/s (line 7)", 100.5),
        ("Some-8B: B TTFT (ms) (line 7)", 82.5), ("Some-8B: A TTFT (ms) (line 8)", 91.5),
        ("Some-8B: B TTFT (ms) (line 8)", 92.5), ("Decode (line 11)", 45.5),
    ]  # fmt: skip


HEAD = "<table><tr><th>Arm</th><th>TTFT (ms)</th><th>tok/s</th></tr>\n"
INNER = f"{HEAD}<tr><td>a</td><td>81.5</td><td>9.5</td></tr></table>"


@pytest.mark.parametrize(
    ("html", "rows"),
    [
        (
            f"{HEAD}<tr><td>A</td><td>10</td><td rowspan=2>20.5</td></tr><tr><td>B</td></tr>"
            "<tr><td>C</td><td>11</td><td>21.5</td></tr></table>",
            [("A", 10.0), ("A", 20.5), ("B", 20.5), ("C", 11.0), ("C", 21.5)],
        ),
        (
            f"{HEAD}<tr><td rowspan=0>A</td><td>1.5</td><td>2.5</td></tr><tr><td>3.5</td><td>4.5</td></tr></table>",
            [("A", 1.5), ("A", 2.5), ("A", 3.5), ("A", 4.5)],
        ),
        (
            f"<table><tr><th>Arm</th><th>tok/s</th></tr><tr><td>A</td><td>{INNER}</td></tr></table>",
            [("a", 81.5), ("a", 9.5)],
        ),
        (f"<!-- {INNER.replace('81.5', '7.5')} -->\n{INNER}", [("a", 81.5), ("a", 9.5)]),
        (
            INNER.replace("<tr><td>", "<!--<tr><td>old</td><td>1</td><td>2</td></tr>--><tr><td>"),
            [("a", 81.5), ("a", 9.5)],
        ),
        (INNER.replace("81.5", "81.5<sup>1</sup>").replace("9.5", "10<sup>3</sup>"), [("a, 10^3", 81.5)]),
        (INNER.replace("81.5", "<del>70</del> 81.5"), [("a", 81.5), ("a", 9.5)]),
    ],
    ids=["lacking cell", "to the last row", "nested", "comment", "comment inside", "note mark", "deleted"],
)
def test_cells_of_html_keep_their_columns(tmp_path: Path, html: str, rows: list[tuple[str, float]]) -> None:
    assert [(name.partition(":")[0], value) for name, *_, value in figures(tmp_path, html)] == rows


def test_a_raised_mark_of_a_footnote_is_no_digit(tmp_path: Path) -> None:
    text = "| Arm | tok/s | both |\n|---|---|---|\n| A | 45.5<sup>1</sup> | 46.5<sup>2</sup> tok/s, 24 ms |\n"
    assert [value for *_, value in figures(tmp_path, text)] == [45.5, 46.5, 24.0]


def test_parts_of_a_sum(tmp_path: Path) -> None:
    text = "| Arm | Memory (GB) |\n|---|---|\n| A | 12.5 + 4.5 |\n"
    assert figures(tmp_path, text) == [
        ("A: Memory (GB)", "stated", "stated", 12.5),
        ("A: Memory (GB)", "stated", "stated", 4.5),
    ]


def test_bare_lines_above_tables_and_figures(tmp_path: Path) -> None:
    table = "| Test | tok/s |\n|---|---|\n| pp512 | {} |\n"
    text = f"Card A\n\n{table.format(5000)}\nCard B\n\n{table.format(9000)}\nArm C\nDecode: 45.5 tok/s\nTTFT: 81.5 ms\n"
    text += "Arm D\nDecode: 55.5 tok/s\n"
    assert [(name.partition(":")[0], value) for name, *_, value in figures(tmp_path, text)] == [
        ("Card A", 5000.0), ("Card B", 9000.0), ("Arm C", 45.5), ("Arm C", 81.5),
        ("Arm D", 55.5),
    ]  # fmt: skip


def test_the_build_that_llama_bench_prints_is_no_heading(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text(
        "A\n\n| X | tok/s |\n|---|---|\n| a | 1.5 |\n\n"
        "build: 2496f9c14 (9049)\n\n| X | tok/s |\n|---|---|\n| b | 2.5 |\n"
    )
    (load,) = loads_of(path)
    assert [row.point for row in load.result_rows] == ["A: a: tok/s (line 5)", "b: tok/s (line 11)"]


def test_headings_of_a_copied_page(tmp_path: Path) -> None:
    table = "| Setup | tok/s |\n|---|---|\n| Default | {} |\n"
    words = "It is simple, but the story of its speed is much longer than it looks at first.\n"
    text = f"Speeds of engines\nResults\nOllama\n{words}{table.format(45.5)}vLLM\n{words}{table.format(95.5)}"
    assert [(name, value) for name, *_, value in figures(tmp_path, text)] == [
        ("Ollama: Default: tok/s", 45.5), ("vLLM: Default: tok/s", 95.5),
    ]  # fmt: skip


def test_a_cell_that_names_its_unit_after_other_words_is_no_name_of_its_row(tmp_path: Path) -> None:
    text = "| run | ctx | conc | primary metric |\n|---|---|---|---|\n| a | 262144 | 1 | 73.5 output tok/s |\n"
    assert figures(tmp_path, text) == [("a, ctx=262144, conc=1: primary metric", "output_tps", "stated", 73.5)]


def test_a_table_whose_rule_was_lost_and_a_drawn_chart(tmp_path: Path) -> None:
    text = "| Concurrency | TTFT (ms) | tok/s |\n| 1 | 81.5 | 100.5 |\n"
    (first, second) = results_of_text(tmp_path, text)
    assert (first.value, second.value, second.concurrency) == (81.5, 100.5, 1)
    chart = "│ ////// │ │ //// │\n│ Studio 41.5 eff tok/s │ best │ Other 38.5 eff tok/s │ best\n"
    assert [row.value for row in results_of_text(tmp_path, chart)] == [41.5, 38.5]


CHART = """```mermaid
xychart-beta
  title "At 10 req/s"
  x-axis ["Arm A", "Arm B"]
  y-axis "Throughput (tokens/sec)" 0 --> 2000
  bar [1778.5, 1734.5]
  line [1778.5, 1734.5]
```
"""


def test_a_chart_of_mermaid(tmp_path: Path) -> None:
    assert figures(tmp_path, CHART) == [
        ("At 10 req/s: Arm A: Throughput (tokens/sec)", "output_tps", "stated", 1778.5),
        ("At 10 req/s: Arm B: Throughput (tokens/sec)", "output_tps", "stated", 1734.5),
    ]  # fmt: skip


def test_series_of_a_chart_that_are_equal_and_figures_below_it(tmp_path: Path) -> None:
    text = (
        'xychart-beta\n  x-axis ["a, b", "e"]\n  y-axis "TTFT (ms)" 0 --> 99\n'
        '  bar "A" [10.5, 20.5]\n  bar "B"[10.5, 20.5]\n\nDecode: 45.5 tok/s\n'
    )
    assert [(name, value) for name, *_, value in figures(tmp_path, text)] == [
        ("a, b: A TTFT (ms)", 10.5), ("a, b: B TTFT (ms)", 10.5), ("e: A TTFT (ms)", 20.5), ("e: B TTFT (ms)", 20.5),
        ("Decode", 45.5),
    ]  # fmt: skip


def test_letters_of_arms_are_no_levels(tmp_path: Path) -> None:
    texts = (
        "| Arm | tok/s | ttft ms |\n|---|---|---|\n| A | 100 | 10 |\n| C | 300 | 30 |\n| D | 400 | 40 |\n",
        "| Metric | A | C | D |\n|---|---|---|---|\n| output tok/s | 100 | 300 | 400 |\n| ttft ms | 10 | 30 | 40 |\n",
    )
    for text in texts:
        rows = results_of_text(tmp_path, text)
        assert sorted(row.value or 0 for row in rows) == [10, 30, 40, 100, 300, 400]
        assert {(row.concurrency, row.depth_tokens) for row in rows} == {(None, None)}
    rows = results_of_text(tmp_path, "| c | d | output tok/s |\n|---|---|---|\n| 8 | 512 | 100 |\n")
    assert [(row.concurrency, row.depth_tokens, row.value) for row in rows] == [(8, 512, 100)]


def test_a_data_frame_that_leaves_out_rows(tmp_path: Path) -> None:
    text = "    concurrency  ttft_ms\n0             1     81.5\n..          ...      ...\n9           128    320.5\n"
    rows = results_of_text(tmp_path, f"{text}\n[10 rows x 2 columns]\n")
    assert [(row.point, row.value, row.concurrency) for row in rows] == [
        ("1: ttft_ms (line 2)", 81.5, 1), ("128: ttft_ms (line 4)", 320.5, 128),
    ]  # fmt: skip


def test_rows_of_statistics_without_counts_and_sums(tmp_path: Path) -> None:
    text = (
        "## latency:\n\n| metric | value | unit |\n|---|---|---|\n| count | 10 | - |\n| total | 1.5 | s |\n"
        "| mean | 0.15 | s |\n| p50 | 0.14 | s |\n| stdev_ | 0.08 | % |\n\n## speed\n\nDecode: 45.5 tok/s\n"
    )
    assert [(statistic, value) for _, _, statistic, value in figures(tmp_path, text)] == [
        ("mean", 150.0), ("median", 140.0), ("stated", 45.5),
    ]  # fmt: skip


def test_columns_with_the_unit_of_the_title_are_no_names(tmp_path: Path) -> None:
    text = "Throughput in tokens/sec:\n| Model | RTX 5090 | RTX 6000 Pro |\n|---|---|---|\n| A 8B | 195 | 165 |\n"
    assert [name for name, *_ in figures(tmp_path, text)] == ["A 8B: RTX 5090", "A 8B: RTX 6000 Pro"]


def test_a_speed_above_columns_and_what_others_published(tmp_path: Path) -> None:
    text = (
        "Generation speed (tg128):\n| Concurrency | Solo | Shared | Winner |\n|---|---|---|---|\n"
        "| c1 | 57.5 | 69.5 | Shared (+20%) |\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("decode_tps", 57.5, 1),
        ("decode_tps", 69.5, 1),
    ]
    text = (
        "| Source | tok/s |\n|---|---|\n| This lab | 17.5 |\n| NVIDIA official | 11.5 |\n"
        "| Real prompting | 28.5 tok/s |\n"
    )
    assert [(metric, value) for _, metric, _, value in figures(tmp_path, text)] == [("stated", 17.5), ("stated", 28.5)]


def test_tables_without_units_are_refused_for_that(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("| Slot | Decode |\n|---|---|\n| A | 22.5 |\n")
    with pytest.raises(ImportRefusedError, match=r"neither a head, nor a row, nor the line above a table states one"):
        loads_of(path)


def test_pairs_below_each_other_are_no_columns(tmp_path: Path) -> None:
    text = (
        "Log Output: 1.03 lines\n"
        "  run-1   wall= 8.58s  ttft=115ms  toks=1000  wall_TPS=116.5  decode_TPS=118.1\n"
        "  run-2   wall= 7.99s  ttft= 86ms  toks=1000  wall_TPS=125.1  decode_TPS=126.5\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [row.value for row in rows if row.metric == "ttft_ms"] == [115.0, 86.0]
    assert {row.output_tokens for row in rows} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "a1  b2  c3\n" * 40_000,
        "<table>" + "<!--" * 100_000,
        "x  tok/s  \\\n0  1  2\n\n" * 10_000,
    ],
)
def test_rows_of_no_table_and_open_marks_are_read_in_linear_time(tmp_path: Path, text: str) -> None:
    started = time.process_time()
    results_of_text(tmp_path, f"Decode: 45.5 tok/s\n\n{text}")
    assert time.process_time() - started < 30


def test_heads_without_rows_are_read_in_linear_time() -> None:
    started = time.process_time()
    tables, _ = read_column_tables("a,ttft_ms,tok_s\n" * 150_000, lambda cell: "_" in cell)
    assert (tables, time.process_time() - started < 20) == ([], True)


def test_columns_above_a_rule_in_one_piece(tmp_path: Path) -> None:
    text = """
Model       File          Status   Cov    TPS  P-tok
----------------------------------------------------
gemma3:12b  a.md          ok       56%   14.5   1761
qwen2.5-coder:14b  a.md   ok       76%   19.5   1205
"""
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value) for row in rows if row.unit == "tok/s"] == [("stated", 14.5), ("stated", 19.5)]
    assert "gemma3:12b" in rows[0].point
    (load,) = loads_of(tmp_path / "a.md")
    assert load.model is None


def test_levels_below_the_only_head_with_a_unit(tmp_path: Path) -> None:
    text = (
        "  throughput(token/s)      batch=4        batch=16      batch=64\n"
        "eagle3-chat                     1142             3549            5840\n"
        "flash-chat                      1527             3844            4486\n\n"
        "  throughput(token/s)      batch=4        batch=16      batch=64\n"
        "eagle3-math                     1018             2311            3226\n"
    )
    rows = [(name.partition(":")[0], metric, value) for name, metric, _, value in figures(tmp_path, text)]
    assert rows == [
        ("eagle3-chat", "output_tps", 1142.0), ("eagle3-chat", "output_tps", 3549.0),
        ("eagle3-chat", "output_tps", 5840.0), ("flash-chat", "output_tps", 1527.0),
        ("flash-chat", "output_tps", 3844.0), ("flash-chat", "output_tps", 4486.0),
        ("eagle3-math", "output_tps", 1018.0), ("eagle3-math", "output_tps", 2311.0),
        ("eagle3-math", "output_tps", 3226.0),
    ]  # fmt: skip


def test_bars_above_a_rule_in_one_piece(tmp_path: Path) -> None:
    text = (
        "=== Benchmarking an arm ===\n\n"
        "  C |    Tok/s |  Req/s |     Lat |  Reqs\n"
        "------------------------------------------\n"
        "  1 |      7.5 |   0.04 |   23.5s |     4\n"
        " 16 |     36.5 |   0.19 |   66.5s |    32\n"
    )
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        ("stated", 7.5, 1), ("request_tps", 0.04, 1), ("e2e_ms", 23_500.0, 1), ("requests", 4.0, 1),
        ("stated", 36.5, 16), ("request_tps", 0.19, 16), ("e2e_ms", 66_500.0, 16), ("requests", 32.0, 16),
    ]  # fmt: skip


def test_a_count_of_accepted_tokens_is_no_rate(tmp_path: Path) -> None:
    text = (
        "  Prompt  Wall(s)      TPS    Draft   Accept\n  ------ -------- -------- -------- --------\n"
        "       0    1.077     20.5     5.00       22\n       1    0.043      4.5     5.00        0\n"
    )
    assert [(row.metric, row.value) for row in results_of_text(tmp_path, text)] == [
        ("duration_s", 1.077), ("stated", 20.5), ("duration_s", 0.043), ("stated", 4.5),
    ]  # fmt: skip


FIGURES = [("prompt_tps", 820.0), ("output_tps", 25.0), ("prompt_tps", 1156.0), ("output_tps", 30.0)]
PARTED_CELLS = {
    "tabs": "Model\tPrompt\tGeneration\nA\t820 t/s\t25 t/s\nB\t1156 t/s\t30 t/s\n",
    "blanks": "Model  Prompt     Generation\nA      820 t/s    25 t/s\nB      1156 t/s   30 t/s\n",
    "names": "Model\tEngine\tPrompt\tGeneration\nA\tvLLM\t820 t/s\t25 t/s\nB\tSGLang\t1156 t/s\t30 t/s\n",
    "lines": "Model\nPrompt\nGeneration\nA\n820 t/s\n25 t/s\nB\n1156 t/s\n30 t/s\n",
    "lines below a title": "Results\nModel\nPrompt\nGeneration\nA\n820 t/s\n25 t/s\nB\n1156 t/s\n30 t/s\n",
    "lines with two names": "Model\nEngine\nPrompt\nGeneration\nA\nX\n820 t/s\n25 t/s\nB\nY\n1156 t/s\n30 t/s\n",
    "paragraphs": "Model\n\nPrompt\n\nGeneration\n\nA\n\n820 t/s\n\n25 t/s\n\nB\n\n1156 t/s\n\n30 t/s\n",
}


@pytest.mark.parametrize("text", PARTED_CELLS.values(), ids=PARTED_CELLS)
def test_heads_without_units_stand_above_figures(tmp_path: Path, text: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(text)
    rows = results_of(load_of(path))
    assert [(row.metric, row.value) for row in rows] == FIGURES
    assert [row.point[0] for row in rows] == ["A", "A", "B", "B"]


@pytest.mark.parametrize(
    "text",
    ["Engine\tDecode tok/s\nA\t820\nB\t900\n", "Engine  Decode tok/s\nA  820\nB  900\n",
     "Engine\nDecode tok/s\nA\n820\nB\n900\n", "Engine\tDecode\nA\t820 tok/s\nB\t900 tok/s\n"],
)  # fmt: skip
def test_tables_of_two_columns(tmp_path: Path, text: str) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"I ran both.\n\n{text}")
    assert [(row.metric, row.value, row.point[0]) for row in results_of(load_of(path))] == [
        ("decode_tps", 820.0, "A"), ("decode_tps", 900.0, "B"),
    ]  # fmt: skip


def test_a_cut_row_of_cells_in_lines_makes_no_table(tmp_path: Path) -> None:
    path = tmp_path / "post.md"
    path.write_text("Decode: 45.5 tok/s\n\nModel\nTTFT (ms)\nDecode (tok/s)\nA\n820\n25\nB\n900\n")
    assert [row.value for row in results_of(load_of(path))] == [45.5]

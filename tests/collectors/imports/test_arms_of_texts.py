"""Words that tell figures apart: headings, labels, rows that a merged cell covers, levels that stand around a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from load_records import Result
from tests.collectors.imports.captured import load_of, loads_of, results_of


def results_of_text(tmp_path: Path, text: str) -> list[Result]:
    path = tmp_path / "a.md"
    path.write_text(text)
    return [row for load in loads_of(path) for row in load.rows if isinstance(row, Result)]


SUMMARY = "```\nTotal time: 38.5 s\nAverage latency: 2.5 s\nThroughput: 145.5 tokens/s\n```\n\n"


@pytest.mark.parametrize("heading", ["## {}", "**{}**", "{}:", "<details><summary>{}</summary>"])
def test_summaries_stand_under_their_headings(tmp_path: Path, heading: str) -> None:
    text = "".join(f"{heading.format(name)}\n\n{SUMMARY}" for name in ("Before", "After"))
    rows = results_of_text(tmp_path, text)
    assert [row.point.partition(":")[0] for row in rows] == ["Before"] * 3 + ["After"] * 3
    assert rows[0].point == "Before: Total time (line 4)"


def test_headings_within_headings_and_what_all_share(tmp_path: Path) -> None:
    table = "| Prompt | TTFT (ms) |\n|---|---|\n| 512 | 120 |\n\n"
    text = f"# All\n\n## one 8B\n### Warm\n{table}### Cold\n{table}## two 4B\n### Warm\n{table}"
    assert [row.point.partition(": 512")[0] for row in results_of_text(tmp_path, text)] == [
        "one 8B, Warm", "one 8B, Cold", "two 4B, Warm",
    ]  # fmt: skip


def test_lists_under_a_label_that_names_their_metric(tmp_path: Path) -> None:
    text = "Order by TTFT:\n1. Card A: 0.056s\n2. Card B: 0.06s\n3. Card C: 0.0625s\n\n"
    rows = results_of_text(tmp_path, f"{text}Throughput (tok/s):\n- one: 45\n- two: 50.5\n- three: 60\n")
    assert [(row.metric, row.value) for row in rows] == [
        ("ttft_ms", 56.0), ("ttft_ms", 60.0), ("ttft_ms", 62.5), ("output_tps", 45.0), ("output_tps", 50.5),
        ("output_tps", 60.0),
    ]  # fmt: skip
    assert rows[0].point == "Order by TTFT: Card A (line 2)"


MERGED = """| Case | Metric | A | B (base) | Gap |
|---|---|---|---|---|
| first | request throughput (req/s) | 1.625 | 1.25 | +30.0% |
| | mean E2E (ms) | 615 | 843 | +27.0% |
| second | mean E2E (ms) | 28,239 | 32,767 | +13.8% |
"""


def test_rows_of_a_merged_cell(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, MERGED)
    assert [(row.point.partition(" (line")[0], row.metric, row.statistic, row.value) for row in rows] == [
        ("first, request throughput (req/s): A", "request_tps", "stated", 1.625),
        ("first, request throughput (req/s): B (base)", "request_tps", "stated", 1.25),
        ("first, mean E2E (ms): A", "e2e_ms", "mean", 615.0),
        ("first, mean E2E (ms): B (base)", "e2e_ms", "mean", 843.0),
        ("second, mean E2E (ms): A", "e2e_ms", "mean", 28239.0),
        ("second, mean E2E (ms): B (base)", "e2e_ms", "mean", 32767.0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("title", "head", "point"),
    [
        ("### Single stream (concurrency 1)", "draft | decode tok/s", (1, None, None, None)),
        ("### 64 concurrent, ISL=1024 OSL=128", "draft | output tok/s", (64, 1024, 128, None)),
        ("### 1024 in / 256 out", "draft | output tok/s", (None, 1024, 256, None)),
        ("**pp512 at depth 4096**", "draft | pp512 (tok/s)", (None, 512, None, 4096)),
        ("### Any", "draft | tg128 @ d8192 (tok/s)", (None, None, 128, 8192)),
    ],
)
def test_levels_and_lengths_around_a_table(
    tmp_path: Path, title: str, head: str, point: tuple[int | None, ...]
) -> None:
    (row,) = results_of_text(tmp_path, f"{title}\n\n| {head} |\n|---|---|\n| off | 24.5 |\n")
    assert (row.concurrency, row.prompt_tokens, row.output_tokens, row.depth_tokens) == point


TURNED = """| Metric | Low | High |
|---|---|---|
| Concurrency | 1 | 16 |
| ISL / OSL | 1024 / 128 | 2048 / 128 |
| Input length | 1,024 | 2,048 |
| Output tok/s | 40.5 | 310.5 |
"""


def test_levels_of_a_turned_table(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, TURNED)
    assert [(row.metric, row.value, row.concurrency, row.prompt_tokens) for row in rows] == [
        ("output_tps", 40.5, 1, 1024), ("output_tps", 310.5, 16, 2048),
    ]  # fmt: skip


def test_lengths_in_one_column(tmp_path: Path) -> None:
    (row,) = results_of_text(tmp_path, "| ISL/OSL | Users | tok/s out |\n|---|---|---|\n| 1024/128 | 8 | 24.5 |\n")
    assert (row.concurrency, row.prompt_tokens, row.output_tokens) == (8, 1024, 128)


PAIRS = """org/model-8B-Q4.gguf - draft/4
  code_a       pred= 192 draft= 188 acc= 143 rate=0.761 tok/s=138.5
  code_b       pred= 192 draft= 228 acc= 134 rate=0.588 tok/s=133.5

{"aggregate_accept_rate": 0.8027,
  "wall_s_total": 15.5
}
"""


def test_pairs_with_blanks_and_the_rate_of_drafts(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, PAIRS.replace('{"agg', '"agg').replace("0.8027,", '0.8027,\n"n_requests": 9,'))
    assert [(row.metric, row.value) for row in rows] == [
        ("acceptance_rate", 0.761), ("stated", 138.5), ("acceptance_rate", 0.588), ("stated", 133.5),
        ("acceptance_rate", 0.8027), ("duration_s", 15.5),
    ]  # fmt: skip


UNDER_A_TITLE = """Output tokens/s on one card

vanilla (`org/model-8B`): 133

draft one (`org/draft-1`):
* K=2: 201.5, speedup:  1.51x
* K=4: 198, speedup: 1.48x

draft two:
* K=2: 220.5, speedup: 1.65x, speedup to the first: 1.09x
* batch size: 8
"""


def test_items_of_a_list_have_the_unit_of_the_title(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, UNDER_A_TITLE)
    assert [(row.point.removeprefix("Output tokens/s on one card"), row.metric, row.value) for row in rows] == [
        (": vanilla (org/model-8B) (line 3)", "output_tps", 133.0),
        (", draft one (`org/draft-1`): K=2 (line 6)", "output_tps", 201.5),
        (", draft one (`org/draft-1`): K=4 (line 7)", "output_tps", 198.0),
        (", draft two: K=2 (line 10)", "output_tps", 220.5),
    ]  # fmt: skip


def test_labels_within_code_and_leads_of_items(tmp_path: Path) -> None:
    text = "```\nfirst:\n#n: 80, Throughput: 276.5 token/s\n\nsecond:\n#n: 80, Throughput: 224.5 token/s\n```\n"
    points = [row.point for row in results_of_text(tmp_path, text)]
    assert points == ["first: Throughput (line 3)", "second: Throughput (line 6)"]
    items = "* one, est. speed, output: 45 tok/s\n* k=2: est. speed, output: 60 tok/s\n"
    assert [row.point for row in results_of_text(tmp_path, items)] == [
        "one: speed, output (line 1)", "k=2: speed, output (line 2)",
    ]  # fmt: skip


def test_lengths_of_tests_in_lines(tmp_path: Path) -> None:
    text = "Card A:\n- tg128: ~167\u2013177 tokens/s\n- pp512: 4000 t/s\n"
    rows = results_of_text(tmp_path, text)
    assert [(row.metric, row.prompt_tokens, row.output_tokens) for row in rows] == [
        ("decode_tps", None, 128), ("decode_tps", None, 128), ("prompt_tps", 512, None),
    ]  # fmt: skip


def test_a_sentence_with_one_figure_names_its_arm(tmp_path: Path) -> None:
    (row,) = results_of_text(tmp_path, "Just tried model-27b and can say that I'm getting about 11.5 tps.")
    assert row.point == "Just tried model-27b and can say that I'm getting about 11.5 tps. (line 1)"


GLUED = """EngineBest ForThroughput (50 req)TTFT p50 (10 req)Cold Start
vLLMGeneral use, broad support1,850 tok/s120 ms~62 sec
TensorRT-LLMMax throughput, fixed model2,100 tok/s105 ms~28 min
SGLangShared prefixes, low latency1,920 tok/s112 ms~58 sec

Concurrency vLLM TensorRT-LLM SGLang
1 req120 tok/s130 tok/s125 tok/s
10 req650 tok/s710 tok/s680 tok/s
"""


def test_cells_that_a_copy_glued_together(tmp_path: Path) -> None:
    rows = results_of_text(
        tmp_path, GLUED.replace("Concurrency vLLM TensorRT-LLM SGLang", "ConcurrencyvLLMTensorRT-LLMSGLang")
    )
    assert [(row.metric, row.statistic, row.value) for row in rows[:9]] == [
        ("output_tps", "stated", 1850.0), ("ttft_ms", "median", 120.0), ("stated", "stated", 62.0),
        ("output_tps", "stated", 2100.0), ("ttft_ms", "median", 105.0), ("stated", "stated", 1680.0),
        ("output_tps", "stated", 1920.0), ("ttft_ms", "median", 112.0), ("stated", "stated", 58.0),
    ]  # fmt: skip
    assert rows[0].point == "vLLM, General use, broad support: Throughput (50 req) (line 2)"
    assert [(row.point.partition(" (")[0], row.value, row.concurrency) for row in rows[9:]] == [
        ("1 req: vLLM", 120.0, 1), ("1 req: TensorRT-LLM", 130.0, 1), ("1 req: SGLang", 125.0, 1),
        ("10 req: vLLM", 650.0, 10), ("10 req: TensorRT-LLM", 710.0, 10), ("10 req: SGLang", 680.0, 10),
    ]  # fmt: skip


def test_glued_numbers_without_units_are_not_guessed(tmp_path: Path) -> None:
    text = (
        "Batchtokenstok/s per requestAggregate tok/s\n1 (serial)25617.017.0\n2 (both)25612.124.1\n\nDecode: 45 tok/s\n"
    )
    assert [row.value for row in results_of_text(tmp_path, text)] == [45.0]


def test_names_that_stand_like_their_numbers(tmp_path: Path) -> None:
    rows = results_of_text(
        tmp_path, "- Code wall/decode: **54.5 / 56.5 tok/s**\n- Text wall/decode: **46.5 / 47.5 tok/s**\n"
    )
    assert [(row.point.rpartition(": ")[2], row.value) for row in rows] == [
        ("Code wall (line 1)", 54.5), ("Code decode (line 1)", 56.5), ("Text wall (line 2)", 46.5),
        ("Text decode (line 2)", 47.5),
    ]  # fmt: skip


def test_figures_of_a_line_bear_its_first_words(tmp_path: Path) -> None:
    text = "- short (512): decode 167.5 tok/s, prefill 2197.5 tok/s\nrun 2/3: decode 160 tok/s, prefill 2200 tok/s\n"
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "short (512): decode (line 1)", "short: prefill (line 1)",
        "run 2/3: decode (line 2)", "run 2/3: prefill (line 2)",
    ]  # fmt: skip


BARRED = """========== TEXT (prompt=65 chars) ==========
=== warmups (1) ===
  warm-1     wall=  8.5s  ttft=   115ms  toks=1000  wall_TPS=116.5
=== summary [text] (n=5) ===
  TTFT          mean=    67ms  std=   10ms  min=62ms  max=85ms

========== CODE (prompt=80 chars) ==========
=== summary [code] (n=5) ===
  TTFT          mean=    81ms  std=   10ms  min=72ms  max=95ms
"""


def test_headings_between_bars(tmp_path: Path) -> None:
    points = [row.point for row in results_of_text(tmp_path, f"bench output (5 per prompt)\n\n{BARRED}")]
    assert points == [
        *["TEXT (prompt=65 chars), summary [text] (n=5): TTFT (line 7)"] * 3,
        *["CODE (prompt=80 chars), summary [code] (n=5): TTFT (line 11)"] * 3,
    ]  # fmt: skip


def test_a_table_with_many_rows_of_levels(tmp_path: Path) -> None:
    rows = "".join("| Concurrency | 1 |\n" for _ in range(2000))
    (row,) = results_of_text(tmp_path, f"| Metric | A |\n|---|---|\n{rows}| TTFT (ms) | 81.5 |\n")
    assert (row.metric, row.value, row.concurrency) == ("ttft_ms", 81.5, 1)


def test_labels_that_state_settings(tmp_path: Path) -> None:
    text = "".join(
        f"DRAFT ({setting}):\n#prompts: 40, Throughput: {speed} token/s, Acceptance length: 2.5\n\n"
        for setting, speed in (("steps=4", 91.5), ("steps=2, topk=1", 84.25))
    )
    assert [row.point.partition(" (line")[0] for row in results_of_text(tmp_path, text)] == [
        "DRAFT (steps=4): Throughput", "DRAFT (steps=4): Acceptance length",
        "DRAFT (steps=2, topk=1): Throughput", "DRAFT (steps=2, topk=1): Acceptance length",
    ]  # fmt: skip


def test_the_name_behind_a_bracket_begins_with_its_words(tmp_path: Path) -> None:
    text = "* k=3: [00:51<00:00, output: 70.5 toks/s] **Accept Len: 1.75**"
    assert [row.point for row in results_of_text(tmp_path, text)] == [
        "k=3: output (line 1)",
        "k=3: Accept Len (line 1)",
    ]


SWEEP = """|    PP |     TG |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |
|-------|--------|--------|----------|----------|----------|----------|
|   256 |     64 |      0 |    0.500 |   512.00 |    2.000 |    32.00 |

"""


@pytest.mark.parametrize("heading", ["## {}", "**{}**", "<details>\n<summary>{}</summary>", "{}"])
def test_sweeps_stand_under_their_headings(tmp_path: Path, heading: str) -> None:
    path = tmp_path / "a.md"
    path.write_text("".join(f"{heading.format(name)}\n\n{SWEEP}" for name in ("Main branch", "This PR")))
    assert [load.params.get("heading") for load in loads_of(path)] == ["Main branch", "This PR"]
    path.write_text(f"{heading.format('Main branch')}\n\n{SWEEP}")
    assert [load.params.get("heading") for load in loads_of(path)] == ["Main branch"]


def test_plus_signs_and_dashes_within_a_label(tmp_path: Path) -> None:
    text = "".join(f"{name}:\n```\naccept len: 2.5, throughput: 91.5 tok/s\n```\n\n" for name in ("A + B - C", "- D"))
    assert {row.point.partition(":")[0] for row in results_of_text(tmp_path, text)} == {"A + B - C", "D"}


TWO_HEADS = """| Concurrency | Req/s |  | Tok/s |  | TTFT (ms) |  |
|---|---|---|---|---|---|---|
| | **main** | **#12** | **main** | **#12** | **main** | **#12** |
| 1 | 2.25 | 2.5 | 290.5 | 307.25 | 13.5 | 13.25 |
| 2 | 4.25 | 4.5 | 562.5 | 593.75 | 19.75 | 18.75 |
"""


def test_arms_in_a_second_row_of_heads(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, TWO_HEADS)
    assert [(row.point.partition(" (line")[0], row.metric, row.value, row.concurrency) for row in rows[:6]] == [
        ("1: Req/s main", "request_tps", 2.25, 1), ("1: Req/s #12", "request_tps", 2.5, 1),
        ("1: Tok/s main", "stated", 290.5, 1), ("1: Tok/s #12", "stated", 307.25, 1),
        ("1: TTFT main (ms)", "ttft_ms", 13.5, 1), ("1: TTFT #12 (ms)", "ttft_ms", 13.25, 1),
    ]  # fmt: skip
    assert [row.point.endswith("(line 5)") for row in rows[6:]] == [True] * 6


def test_a_line_that_names_a_model_heads_the_lines_below(tmp_path: Path) -> None:
    path = tmp_path / "bench.log"
    path.write_text(
        "model_name =    a:7b\nprompt = Write a guide\neval rate:            67.5 tokens/s\n"
        "Average of eval rate:  66.5  tokens/s\n-----\n"
        "model_name =    b:14b\nprompt = Write a guide\neval rate:            32.5 tokens/s\n"
        "Average of eval rate:  31.5  tokens/s\n"
    )
    rows = sorted((row.value, row.point.partition(": ")[0]) for row in results_of(load_of(path)))
    assert rows == [(31.5, "b:14b"), (32.5, "b:14b"), (66.5, "a:7b"), (67.5, "a:7b")]


def test_headings_between_hyphens_stand_below_those_between_equals_signs(tmp_path: Path) -> None:
    path = tmp_path / "bench.log"
    path.write_text(
        "".join(
            f"=== arm {arm} ===\n\n--- repetition {n} ---\n  decode DURING prefill:    {speed} tok/s  (5.0 % of it)\n\n"
            for arm, n, speed in (("small", 1, 1.5), ("small", 2, 2.5), ("large", 1, 3.5))
        )
    )
    rows = [(row.metric, row.value, row.point.partition(":")[0]) for row in results_of(load_of(path))]
    assert rows == [
        ("decode_tps", 1.5, "arm small, repetition 1"), ("decode_tps", 2.5, "arm small, repetition 2"),
        ("decode_tps", 3.5, "arm large, repetition 1"),
    ]  # fmt: skip

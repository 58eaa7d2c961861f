"""Tables and matrices of plain numbers: with the unit of their title, of the words around them, or none."""

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.unread_lines import unread_note
from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text
from tests.collectors.imports.test_prose_figures import results_of_text

BOXES = (
    "# C1 ~50 tok/s, README says 83\n\nThe accept length is 2.75.\n\n| | README | this box |\n|---|---|---|\n"
    "| C1 default | 83.5 | **48.9** |\n| C1 greedy | 87.5 | **50.8** |\n| C8 default | 327.5 | 242.0 |\n"
    "| pages | 4.5 | 5.5 |\n"
)


def test_the_unit_of_a_table_is_that_of_words_that_state_one_of_its_cells(tmp_path: Path) -> None:
    (load,) = loads_of_text(tmp_path, "issue.md", BOXES)
    rows = [(row.point, row.metric, row.value, row.unit, row.concurrency) for row in results_of(load)]
    assert rows == [
        ("C1 default: this box (line 7)", "stated", 48.9, "tok/s", 1),
        ("C1 greedy: this box (line 8)", "stated", 50.8, "tok/s", 1),
        ("C8 default: this box (line 9)", "stated", 242.0, "tok/s", 8),
        (rows[-1][0], "acceptance_length", 2.75, "tokens", None),
    ]  # neither the row of another name, nor what the README states, nor the title's rounding
    assert (
        "The table at line 5 states no unit: tok/s is that of “C1 ~50 tok/s, README says 83” for the rows that begin "
        "like 'C1 default', and no others."
    ) in load.notes


def test_a_table_of_levels_is_of_one_unit(tmp_path: Path) -> None:
    text = (
        "| Model | C1 | C8 |\n|---|---|---|\n| Tiny | 45.5 | 240.5 |\n| Other | 35.5 | 200.5 |\n\n"
        "At C8, Tiny gives 240.5 tok/s.\n"
    )
    rows = [(row.value, row.unit, row.concurrency) for row in results_of_text(tmp_path, text)]
    assert rows == [(45.5, "tok/s", 1), (240.5, "tok/s", 8), (35.5, "tok/s", 1), (200.5, "tok/s", 8)]


def test_scores_have_no_unit_of_a_speed(tmp_path: Path) -> None:
    text = "| Model | gsm8k | mmlu |\n|---|---|---|\n| Tiny | 45.5 | 50.5 |\n\nTiny gives 45.5 tok/s.\n"
    assert [row.value for row in results_of_text(tmp_path, text)] == [45.5]


@pytest.mark.parametrize(
    "title", ["# C1 ~60 tok/s", "# The speed is ~50 tok/s", "# C1 is fast", "# C1 ~50 tok/s, TTFT of C1 51 ms"]
)
def test_a_table_without_a_unit_does_not_vanish_without_a_note(tmp_path: Path, title: str) -> None:
    text = BOXES.replace("# C1 ~50 tok/s, README says 83", title)
    load = load_of(_file(tmp_path, text))
    assert not {48.9, 50.8} & {row.value for row in results_of(load)}
    assert (
        "Left out, since they state no unit, were the numbers of the tables at line 5 ('README', 'this box')."
        in load.notes
    )


def test_a_heading_with_a_figure_of_the_table_has_its_unit(tmp_path: Path) -> None:
    text = "# Row of a new card: 63.5 → 96.5 tok/s\n\n| | Baseline | With flag |\n|---|---|---|\n| this | {} | 96.5 |\n"
    rows = results_of_text(tmp_path, text.format(63.5))
    assert [(row.value, row.unit) for row in rows] == [(63.5, "tok/s"), (96.5, "tok/s")]


def test_a_table_of_settings_needs_no_note(tmp_path: Path) -> None:
    text = "TTFT: 81.5 ms\n\n| Setting | Value |\n|---|---|\n| temperature | 0.75 |\n| top_p | 0.95 |\n"
    load = load_of(_file(tmp_path, text))
    assert [row.value for row in results_of(load)] == [81.5] and load.notes == []


def test_a_figure_above_a_table_is_no_title(tmp_path: Path) -> None:
    text = "TTFT: 81.5 ms\n\n| | A | B |\n|---|---|---|\n| x | 10.5 | 20.5 |\n| y | 9.5 | 18.5 |\n"
    load = load_of(_file(tmp_path, text))
    assert [row.value for row in results_of(load)] == [81.5]
    assert load.notes == ["Left out, since they state no unit, were the numbers of the tables at line 3 ('A', 'B')."]


@pytest.mark.parametrize(
    ("title", "metric"),
    [
        ("Output throughput (tok/s)\n\n", "output_tps"),
        ("TTFT (ms) by prompt length and concurrency\n------------------\n", "ttft_ms"),
        ("### Decode tok/s\n", "decode_tps"),
    ],
)
def test_a_matrix_has_the_unit_of_its_title(tmp_path: Path, title: str, metric: str) -> None:
    heads = "         c=1      c=2      c=4\n"
    rows = results_of_text(tmp_path, f"{title}{heads}128     10.5   1120.5   2240.5\n512      9.5   1118.5   2236.5\n")
    metric = "output_tps" if metric == "decode_tps" else metric  # at several levels
    assert [(row.metric, row.value, row.concurrency) for row in rows] == [
        (metric, value, level) for values in ((10.5, 1120.5, 2240.5), (9.5, 1118.5, 2236.5))
        for level, value in zip((1, 2, 4), values, strict=True)
    ]  # fmt: skip


@pytest.mark.parametrize(("title", "heads"), [("What we bought", "2025    2026"), ("Speed in tok/s", "power   price")])
def test_other_numbers_are_no_matrix(tmp_path: Path, title: str, heads: str) -> None:
    text = f"TTFT: 81.5 ms\n\n{title}\n       {heads}\ncards    10.5    20.5\nhosts     9.5    18.5\n"
    assert [row.value for row in results_of_text(tmp_path, text)] == [81.5]


ROWS = (
    "Engine Code TPS Text TPS TTFT VRAM Deg.\n"
    "Tiny-8B 96.8 63.9 361ms 22304 34.6 −32.1% b Tiny-8B 87.8 58.6 341ms 20508 32.1\n"
)


def test_a_rounded_figure_of_a_title_is_no_result_beside_the_exact_one(tmp_path: Path) -> None:
    with pytest.raises(ImportRefusedError, match=r"repeats a value in other words was left out: 100 tok/s"):
        load_of(_file(tmp_path, f"Pushing ~100 TPS on one card\n\n{ROWS}"))
    (load,) = loads_of_text(tmp_path, "post.md", "# Pushing ~100 tok/s\n\nDecode: 96.8 tok/s\n")
    assert [row.value for row in results_of(load)] == [96.8]
    (other,) = loads_of_text(tmp_path, "post.md", "# Pushing ~100 tok/s\n\nDecode: 46.8 tok/s\n")
    assert [row.value for row in results_of(other)] == [46.8, 100.0]


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "issue.md"
    path.write_text(text)
    return path


RUN_TOGETHER = "Model TTFT (ms) TPOT (ms) Decode (tok/s) Tiny-7B Q4 81.5 12.5 45.5 Tiny-8B Q8 {} 14.5 35.5\n"


def test_a_table_on_one_line_is_cut_at_its_names(tmp_path: Path) -> None:
    rows = results_of_text(tmp_path, f"What we saw\n\n{RUN_TOGETHER.format(95.5)}")
    assert [(row.metric, row.value, row.point.partition(":")[0]) for row in rows] == [
        ("ttft_ms", 81.5, "Tiny-7B Q4"), ("tpot_ms", 12.5, "Tiny-7B Q4"), ("decode_tps", 45.5, "Tiny-7B Q4"),
        ("ttft_ms", 95.5, "Tiny-8B Q8"), ("tpot_ms", 14.5, "Tiny-8B Q8"), ("decode_tps", 35.5, "Tiny-8B Q8"),
    ]  # fmt: skip


@pytest.mark.parametrize("cell", ["", "95.5 96.5", "95.5 or"])
def test_a_table_that_cannot_be_cut_for_sure_is_not_read(tmp_path: Path, cell: str) -> None:
    text = f"Acceptance length: 2.75\n\n{RUN_TOGETHER.format(cell)}"
    (load,) = loads_of_text(tmp_path, "post.md", text)
    assert [row.value for row in results_of(load)] == [2.75]
    assert str(unread_note(text, [load])).startswith(
        "Not read: “Model TTFT (ms) TPOT (ms) Decode (tok/s) Tiny-7B Q4 81.5"
    )


PHASES = "| Model | Prompt processing | Generation |\n|---|---|---|\n"
SISTERS = {
    "a column": (PHASES + "| A | 82.5s | 25 t/s |\n| B | 1156 | 5.5 |\n", [82.5, 25.0, 1156.0, 5.5]),
    "columns alike": (
        "| Model | 30K prefill | 30K decode | 146K prefill | 146K decode |\n|---|---|---|---|---|\n"
        "| A | 82.5s | 25 t/s | 1156 | 5.5 t/s |\n",
        [82.5, 25.0, 1156.0, 5.5],
    ),
    "a row": (
        "| Metric | A | B |\n|---|---|---|\n| Prompt processing | 82.5s | 1156 |\n| Generation | 25 t/s | 5.5 |\n",
        [82.5, 1156.0, 25.0, 5.5],
    ),
}


@pytest.mark.parametrize(("text", "values"), SISTERS.values(), ids=SISTERS)
def test_a_number_without_a_unit_has_that_of_its_sisters(tmp_path: Path, text: str, values: list[float]) -> None:
    rows = results_of_text(tmp_path, text)
    assert [row.value for row in rows] == values
    assert {row.unit for row in rows if row.value in (82.5, 1156.0)} == {"s"}
    assert {row.unit for row in rows if row.value in (25.0, 5.5)} == {"tok/s"}
    assert not any("1156" in row.point for row in rows)


@pytest.mark.parametrize(
    "sisters", ["| A | 82.5s | 25 t/s |\n| B | 900 tok/s | 30 t/s |\n", "| A | 0.5 s | 25 t/s |\n"]
)
def test_a_number_whose_sisters_prove_no_unit_is_noted(tmp_path: Path, sisters: str) -> None:
    load = load_of(_file(tmp_path, f"{PHASES}{sisters}| C | 300 | 7 t/s |\n"))
    assert 300.0 not in [row.value for row in results_of(load)]
    assert not any("300" in row.point for row in results_of(load))
    assert (
        "Left out below 'Prompt processing', since they state no unit and the other numbers there prove none: 300."
    ) in load.notes


def test_phases_without_any_unit_are_noted(tmp_path: Path) -> None:
    load = load_of(_file(tmp_path, "| Model | Prefill | Speed |\n|---|---|---|\n| A | 820 | 25 tok/s |\n"))
    assert [(row.point, row.value) for row in results_of(load)] == [("A: Speed (line 3)", 25.0)]
    assert "The column 'Prefill' states no unit: its numbers were left out." in load.notes


def test_settings_have_no_unit_of_a_metric(tmp_path: Path) -> None:
    text = "| Requests | Prefill |\n|---|---|\n| 8 | 820 tok/s |\n| 16 | 900 tok/s |\n"
    assert [row.value for row in results_of_text(tmp_path, text)] == [820.0, 900.0]

"""Command lines that end in their speed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import load_of, results_of
from tests.collectors.imports.test_prose_figures import figures_of

COMMAND = "llmui serve Tiny-8B-INT4 --cache_dir /m --device {} -t 16      {}"


def test_the_options_that_differ_name_the_arms(tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    lines = [COMMAND.format("multi:0,1", "2.8 token/s"), COMMAND.format("cuda", "3.4 token/s")]
    path.write_text("\n\n".join([*lines, "Why is the former slower than the latter?\n"]))
    rows = [(row.point, row.metric, row.value, row.unit) for row in results_of(load_of(path))]
    assert rows == [
        ("--device multi:0,1 (line 1)", "stated", 2.8, "tok/s"), ("--device cuda (line 3)", "stated", 3.4, "tok/s"),
    ]  # fmt: skip


def test_a_command_without_an_option_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "issue.md"
    path.write_text(
        "llama-cli -m a.gguf -ngl 99   # 45.5 tok/s\nllama-cli -m a.gguf -ngl 99 --no-mmap   # 47.5 tok/s\n"
    )
    rows = [(row.point, row.value) for row in results_of(load_of(path))]
    assert rows == [("without --no-mmap (line 1)", 45.5), ("--no-mmap (line 2)", 47.5)]


@pytest.mark.parametrize(
    "lines",
    [
        [COMMAND.format("cuda", "3.4 token/s")],  # nothing tells what it is
        [COMMAND.format("cuda", "3.4 token/s")] * 2,
        [COMMAND.format("cuda", "3.4 ms"), COMMAND.format("cpu", "2.8 ms")],
    ],
)
def test_other_lines_are_no_arms(tmp_path: Path, lines: list[str]) -> None:
    text = "TTFT: 81.5 ms\n\n" + "\n\n".join(lines) + "\n"
    assert not any(value in (2.8, 3.4) for metric, _, value in figures_of(tmp_path, text) if metric == "stated")

"""Lines that a script printed: each is closed, so that its figures have its own label and its own statistic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.collectors.imports.captured import results_of
from tests.collectors.imports.test_posted_benchmarks import loads_of_text

PRINTED = (
    "Tiny-9B bench, a single stream\n\n"
    "  code (greedy, fixed seed): 61.4 / 60.9 tok/s\n"
    "  puzzle peak (temp 0.7, as the paper has it): 72.6 / 70.3 tok/s\n"
    "  letters (greedy, slowest, excluded from the median): 31.8 / 31.1 tok/s\n\n"
    "  greedy median: 61.1 tok/s\n"
)


@pytest.mark.parametrize("fence", ["```\n", ""])
def test_each_line_has_its_own_label_and_statistic(tmp_path: Path, fence: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"It prints:\n\n{fence}{PRINTED}{fence}")
    rows = {row.value: (row.point.partition(" (")[0], row.statistic) for row in results_of(load)}
    assert rows == {
        61.4: ("code", "stated"), 60.9: ("code", "stated"), 72.6: ("puzzle peak", "stated"),
        70.3: ("puzzle peak", "stated"), 31.8: ("letters", "stated"), 31.1: ("letters", "stated"),
        61.1: ("greedy median: 61.1 tok/s", "median"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("label", "statistic"),
    [("letters peak", "stated"), ("peak", "max"), ("speed peak", "max"), ("decode peak", "max"), ("median", "median")],
)
def test_a_word_behind_the_name_of_an_arm_is_no_maximum(tmp_path: Path, label: str, statistic: str) -> None:
    (load,) = loads_of_text(tmp_path, "post.md", f"Three answers below.\n\n{label}: 61.4 tok/s\n")
    assert [row.statistic for row in results_of(load)] == [statistic]

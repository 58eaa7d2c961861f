"""The distinctive part of a name is visible in a narrow place."""

from __future__ import annotations

import pytest

from web.distinctive_names import distinctive_names

LONG = "Qwen3-32B AWQ, n-gram of"


@pytest.mark.parametrize(
    ("names", "texts"),
    [
        ([f"{LONG} 2 tokens", f"{LONG} 4 tokens"], ["… 2 tokens", "… 4 tokens"]),
        (["Demo: plain", "Demo: draft model"], ["plain", "draft model"]),
        (["run 1", "run 2"], ["run 1", "run 2"]),
        (["Demo: draft model #1", "Demo: draft model #2"], ["draft model #1", "draft model #2"]),
        ([f"{LONG} 2 tokens #1", f"{LONG} 2 tokens #2"], ["n-gram of 2 tokens #1", "n-gram of 2 tokens #2"]),
        (["Qwen3-32B FP8 #1", "Qwen3-32B FP8 #2"], ["Qwen3-32B FP8 #1", "Qwen3-32B FP8 #2"]),
        (["Demo:", "Demo: draft model"], ["Demo:", "Demo: draft model"]),
        ([LONG, f"{LONG} 4 tokens"], [LONG, f"{LONG} 4 tokens"]),
        ([LONG, LONG], [LONG, LONG]),
        ([LONG], [LONG]),
        (["", LONG], ["", LONG]),
        ([], []),
    ],
)
def test_long_common_beginning_is_left_out(names: list[str], texts: list[str]) -> None:
    assert distinctive_names(names) == texts

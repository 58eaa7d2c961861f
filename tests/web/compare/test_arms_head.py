"""The names in the head of Compare: what tells the arms apart is seen in a narrow column."""

from __future__ import annotations

import pytest

from web.compare.arms.arms_head import distinctive_names

LONG = "Qwen3-32B AWQ, n-gram of"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([f"{LONG} 2 tokens", f"{LONG} 4 tokens"], ["… 2 tokens", "… 4 tokens"]),
        (["Demo: plain", "Demo: draft model"], ["Demo: plain", "Demo: draft model"]),
        ([LONG, f"{LONG} 4 tokens"], [LONG, f"{LONG} 4 tokens"]),
        ([LONG, LONG], [LONG, LONG]),
        ([LONG], [LONG]),
        (["", LONG], ["", LONG]),
        ([], []),
    ],
)
def test_long_common_prefix_is_left_out(names: list[str], told: list[str]) -> None:
    assert distinctive_names(names) == told

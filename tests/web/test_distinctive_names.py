"""What tells names apart is seen in a narrow place."""

from __future__ import annotations

import pytest

from web.distinctive_names import distinctive_names

LONG = "Qwen3-32B AWQ, n-gram of"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        ([f"{LONG} 2 tokens", f"{LONG} 4 tokens"], ["… 2 tokens", "… 4 tokens"]),
        (["Demo: plain", "Demo: draft model"], ["plain", "draft model"]),
        (["run 1", "run 2"], ["run 1", "run 2"]),
        (["Demo:", "Demo: draft model"], ["Demo:", "Demo: draft model"]),
        ([LONG, f"{LONG} 4 tokens"], [LONG, f"{LONG} 4 tokens"]),
        ([LONG, LONG], [LONG, LONG]),
        ([LONG], [LONG]),
        (["", LONG], ["", LONG]),
        ([], []),
    ],
)
def test_long_common_beginning_is_left_out(names: list[str], shown: list[str]) -> None:
    assert distinctive_names(names) == shown

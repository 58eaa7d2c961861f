"""The positions of a fidelity load on Run."""

from __future__ import annotations

from load_records import GREEDY
from tests.analysis.loads.test_fidelity import position
from web.loads.panels.fidelity_section import depth_cells


def test_row_counts_positions_texts_and_recomputed_prefixes() -> None:
    rows = [position("a", text, 400 + n) for text in range(3) for n in range(4)]
    rows += [position("a", text, 400, part=GREEDY) for text in range(2)]
    assert list(depth_cells(rows)) == [["512", "12", "2", "3", "0.25 %"]]

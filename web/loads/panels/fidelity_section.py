"""Table of the positions that a fidelity load measured on one server, by depth, and of how they read the prefix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import streamlit as st

from analysis.evidence.loads import LoadRecord
from analysis.loads.fidelity import build_fidelity_loads, recomputed_ratio
from load_records import FIDELITY, GREEDY, FidelityPosition
from storage.queries.load_queries import fidelity_positions
from storage.queries.run_data import Queryable
from web import markup
from web.theme import DASH

HEAD = ("Depth, tokens", "Next tokens", "Greedy answers", "Texts", "Prefix computed again")
ABOUT = (
    "These answers are a measure only beside another server's: Compare shows how often two arms choose the same next "
    "token. A prefix that is read from the cache goes through the KV cache as in decoding."
)


def show_fidelity(store: Queryable, load: LoadRecord) -> None:
    """Show the positions of a fidelity load; nothing for other loads."""
    if load.plan is None or load.plan.workload != FIDELITY:
        return
    positions = [row for row in fidelity_positions(store, [load.run_id])[load.run_id] if row.load_id == load.load_id]
    if positions:
        st.html(markup.table(HEAD, depth_cells(positions), is_numeric=True))
        st.caption(ABOUT)


def depth_cells(positions: Sequence[FidelityPosition]) -> Iterator[list[str]]:
    """Yield a row per depth."""
    for depth in sorted({position.depth_tokens for position in positions}):
        at_depth = [position for position in positions if position.depth_tokens == depth]
        greedy = sum(position.part == GREEDY for position in at_depth)
        ratio = recomputed_ratio(build_fidelity_loads(at_depth))
        texts = len({position.text_name for position in at_depth})
        counts = [f"{depth:,}", str(len(at_depth) - greedy), str(greedy), str(texts)]
        yield [markup.text(cell) for cell in (*counts, DASH if ratio is None else f"{100 * ratio:.2f} %")]

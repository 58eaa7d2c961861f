"""The table of a long load on Run, of a load in a real store against a labelled fake that slows down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from analysis.loads.endurance import MEMORY_PARTS, Endurance, MemoryGrowth, endurance_of
from analysis.runs.conditions import Span
from load_records import RequestRecord
from samples import Batch, GpuSample
from storage.queries.condition_queries import memory_growth
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0
from tests.workloads.test_tool_matrix import Said, load
from web.loads.panels.endurance_section import endurance_cells

GIB = 1 << 30
DRIFT = Endurance(24, 96, 0, 0, 0, None, None)


def empty_and_looping(body: Mapping[str, Any]) -> Said:
    """Every fourth turn is empty, every other fourth one loops."""
    turn = int(body["messages"][-1]["content"].split(":")[0].split()[1])
    return Said({0: "", 1: "again and again " * 60}.get(turn % 4, f"Step {turn} is done; next I read laps.py."))


def test_empty_and_looping_turns_are_counted(tmp_path: Path) -> None:
    params = {"sessions": 12, "turns": 4, "context_tokens": 400}
    lines = load(empty_and_looping, tmp_path, workload="endurance", params=params)
    drift = endurance_of([line for line in lines if isinstance(line, RequestRecord)])
    assert drift and (drift.sessions, drift.turns, drift.empty, drift.looping) == (12, 48, 12, 12)
    cells = {title: texts for title, *texts in endurance_cells(drift, [])}
    assert cells["Empty answers"][0] == cells["Looping answers"][0] == "12 of 48"
    assert cells["GPU memory"] == ["not known", "no GPU was sampled during the load"]


def test_memory_growth_is_that_of_the_thirds(store: Store) -> None:
    first = GpuSample("r", T0, 0.0, "m", gpu_index=0, memory_used_bytes=40 * GIB, process_memory_bytes=30 * GIB)
    grown = [
        replace(first, ts=T0 + timedelta(minutes=n), mono_s=60.0 * n, process_memory_bytes=30 * GIB + n * GIB // 60)
        for n in range(91)
    ]
    store.write(Batch(tuple(grown))).result()
    (gpu,) = memory_growth(store, Span("r", T0, T0 + timedelta(minutes=90)))
    assert gpu.is_process and round(gpu.hours, 6) == 1.5 and len(gpu.part_bytes) == MEMORY_PARTS
    assert abs(gpu.bytes_per_hour / GIB - 1) < 0.01
    assert gpu.interval_per_hour and gpu.interval_per_hour[0] > 0.9 * GIB
    (text,) = [cells[2] for cells in endurance_cells(DRIFT, [gpu]) if cells[0].startswith("GPU 0")]
    assert text.startswith("+1.00 GiB an hour (+976 MiB to +1.05 GiB): it grows")


def test_memory_that_stays_or_was_seen_too_seldom_does_not_grow() -> None:
    def text(part_bytes: list[float]) -> str:
        (cells,) = [
            cells for cells in endurance_cells(DRIFT, [MemoryGrowth(0, True, part_bytes, 2.0)]) if "GPU" in cells[0]
        ]
        return cells[2]

    assert text([30.0 * GIB] * MEMORY_PARTS) == "it is the same all the time"
    assert text([30.0 * GIB] * 8 + [31.0 * GIB] * 8).endswith("whether it grows is not known yet")
    rises_once = [30.0 * GIB] * 10 + [31.0 * GIB] * (MEMORY_PARTS - 10)
    assert not text(rises_once).endswith("it grows"), "memory that is taken once is no leak"

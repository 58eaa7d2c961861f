"""Names of runs in a list."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from domain import Config, Run, RunState
from web.picker import proposed_runs, run_labels

NOW = datetime(2026, 11, 20, 12, 0, 5, tzinfo=UTC)
AT = "20 Nov 2026 12:00:05 UTC"
RUN = Run(
    id="20261120-120005-000-aaaa", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW
)


def test_run_line_is_stable_while_live() -> None:
    twin = RUN.model_copy(update={"id": "20261120-120005-000-bbbb"})
    other = RUN.model_copy(update={"id": "20261120-120005-000-cccc", "name": "B"})
    lines = run_labels([RUN, twin, other])
    assert list(lines.values()) == [
        f"A – {AT} aaaa",
        f"A – {AT} bbbb",
        f"B – {AT}",
    ]
    for state in RunState:
        assert run_labels([RUN.model_copy(update={"state": state}), twin, other]) == lines


def test_imported_log_is_dated_by_its_server() -> None:
    log = RUN.model_copy(update={"kind": "imported", "started_at": NOW - timedelta(days=400)})
    assert run_labels([log])[log.id] == "A – 16 Oct 2025 12:00:05 UTC"
    assert run_labels([log.model_copy(update={"kind": "launched"})])[log.id] == f"A – {AT}", (
        "it would change at the start"
    )


def test_proposal_is_the_last_started_batch() -> None:
    def finished(name: str, minute: int, batch: str | None = None) -> Run:
        changes = {
            "id": name,
            "started_at": NOW + timedelta(minutes=minute),
            "batch_id": batch,
            "state": RunState.FINISHED,
        }
        return RUN.model_copy(update=changes)

    log = finished("imported last", -60)
    alone, first, second = finished("alone", 1), finished("first", 2, "b"), finished("second", 3, "b")
    assert proposed_runs([log, second, first, alone]) == [first, second]
    assert proposed_runs([log, first, alone]) == [log, alone, first], "one of a batch is no comparison"
    assert proposed_runs([RUN]) == []

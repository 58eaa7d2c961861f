"""How a list names runs."""

from __future__ import annotations

from datetime import UTC, datetime

from domain import Config, Run, RunState
from web.picker import labels

NOW = datetime(2026, 11, 20, 12, 0, 5, tzinfo=UTC)
RUN = Run(
    id="20261120-120005-000-aaaa", name="A", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW
)


def test_a_line_is_its_runs_alone_and_stays_as_it_is_while_the_run_goes_on() -> None:
    twin = RUN.model_copy(update={"id": "20261120-120005-000-bbbb"})
    other = RUN.model_copy(update={"id": "20261120-120005-000-cccc", "name": "B"})
    lines = labels([RUN, twin, other])
    assert list(lines.values()) == ["A – 20 Nov 12:00:05 aaaa", "A – 20 Nov 12:00:05 bbbb", "B – 20 Nov 12:00:05"]
    for state in RunState:
        assert labels([RUN.model_copy(update={"state": state}), twin, other]) == lines

"""Current runs in the header: it counts, links and turns red, and guests do not see it."""

from __future__ import annotations

from datetime import UTC, datetime

from domain import Config, Run, RunState, utc_now
from web.live_status import FAILED_SHOWN, recent_failures, status_html

NOW = datetime(2026, 11, 27, tzinfo=UTC)


def run(run_id: str, state: RunState) -> Run:
    return Run(id=run_id, name=f"<{run_id}>", color=0, config=Config(), machine_id="m", created_at=NOW, state=state)


def test_status_counts_and_links() -> None:
    live = [run("a", RunState.RUNNING), run("b", RunState.STARTING)]
    html = status_html(live, 3, [run("c", RunState.FAILED)])
    assert 'href="live?run=a&run=b"' in html.replace("&amp;", "&") and ">2 running<" in html
    assert 'class="pw-state-failed" href="run?run=c"' in html and ">1 failed<" in html and "&lt;c&gt;" in html
    assert "3 queued" in html


def test_nothing_is_said_of_nothing() -> None:
    assert status_html([], 0, []) == '<p class="pw-live-status" role="status"></p>'


def test_only_what_failed_lately_here_is_news() -> None:
    """A log without times ends when it is imported."""
    now = utc_now()
    fresh = run("fresh", RunState.FAILED).model_copy(update={"ended_at": now})
    imported = fresh.model_copy(update={"id": "log", "kind": "imported"})
    old = fresh.model_copy(update={"id": "old", "ended_at": now - 2 * FAILED_SHOWN})
    assert recent_failures([fresh, imported, old, run("endless", RunState.FAILED)]) == [fresh]

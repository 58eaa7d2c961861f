"""A client that waits for a CPU cannot time a server: the guard's row on its thresholds."""

from __future__ import annotations

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import CHECKS, GuardRow, RowCode, RowStatus
from tests.analysis.comparison.hand_made import load, pair_of, request, run
from web.compare.answer.guard_words import row_text


def waiting(*waits_ms: float | None) -> RunFacts:
    """A request of one second for each wait; None where it was not recorded."""
    extra = [{} if wait is None else {"client_wait_ms": wait} for wait in waits_ms]
    return run("b", load([request(n, n, extra=one) for n, one in enumerate(extra)]))


def row(a: RunFacts, b: RunFacts, objective: str = "decode_tps") -> GuardRow:
    found = CHECKS[RowCode.CLIENT](pair_of([a], [b], objective))
    assert found.code is RowCode.CLIENT and row_text(found, {})
    return found


@pytest.mark.parametrize(
    ("wait_ms", "standing"),
    [
        (0.0, RowStatus.SAME),
        (20.0, RowStatus.SAME),
        (21.0, RowStatus.TOLD),
        (100.0, RowStatus.TOLD),
        (101.0, RowStatus.MATTERS),
    ],
)
def test_delay_thresholds_of_2_and_10_percent(wait_ms: float, standing: RowStatus) -> None:
    for a, b in ((0.0, wait_ms), (wait_ms, 0.0), (wait_ms, wait_ms)):
        actual_row = row(waiting(a, a), waiting(b, b))
        assert actual_row.status is standing
        assert actual_row.values == {"late": (pytest.approx(a / 1000), pytest.approx(b / 1000))}


def test_the_mean_of_an_arm_counts() -> None:
    assert row(waiting(0.0, 0.0), waiting(0.0, 200.0)).status is RowStatus.TOLD, "10 % in the mean"
    assert row(waiting(0.0, 0.0), waiting(2.0, 200.0)).status is RowStatus.MATTERS


def test_unrecorded_wait_is_unknown() -> None:
    actual_row = row(waiting(0.0, 0.0), waiting(0.0, None))
    assert actual_row.status is RowStatus.UNKNOWN and actual_row.values == {"late": (0.0, None)}
    assert row(waiting(None, None), waiting(None, None)).status is RowStatus.UNKNOWN
    assert row(waiting(200.0, 200.0), waiting(None, None)).status is RowStatus.MATTERS, "what is known is enough"


def test_no_lateness_read_without_compared_pairs() -> None:
    assert row(run("a"), run("b"), "startup_s") == GuardRow(RowCode.CLIENT, RowStatus.SAME, {"not_needed": True})
    assert "not_needed" not in row(waiting(0.0), waiting(0.0)).values

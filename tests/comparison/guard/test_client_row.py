"""A client that waits for a CPU cannot time a server: the guard's row on its thresholds."""

from __future__ import annotations

import pytest

from analysis.comparison.facts import RunFacts
from analysis.guard import CHECKS, Row, RowCode, Standing
from tests.comparison.hand_made import load, pair_of, request, run
from web.compare.answer.guard_words import row_words


def waiting(*waits_ms: float | None) -> RunFacts:
    """A request of one second for each wait; None where it was not recorded."""
    extra = [{} if wait is None else {"client_wait_ms": wait} for wait in waits_ms]
    return run("b", load([request(n, n, extra=one) for n, one in enumerate(extra)]))


def row(a: RunFacts, b: RunFacts, objective: str = "decode_tps") -> Row:
    found = CHECKS[RowCode.CLIENT](pair_of([a], [b], objective))
    assert found.code is RowCode.CLIENT and row_words(found, {})
    return found


@pytest.mark.parametrize(
    ("wait_ms", "standing"),
    [
        (0.0, Standing.SAME),
        (20.0, Standing.SAME),
        (21.0, Standing.TOLD),
        (100.0, Standing.TOLD),
        (101.0, Standing.MATTERS),
    ],
)
def test_up_to_2_percent_is_nothing_and_up_to_10_is_told(wait_ms: float, standing: Standing) -> None:
    for a, b in ((0.0, wait_ms), (wait_ms, 0.0), (wait_ms, wait_ms)):
        found = row(waiting(a, a), waiting(b, b))
        assert found.standing is standing
        assert found.values == {"late": (pytest.approx(a / 1000), pytest.approx(b / 1000))}


def test_the_mean_of_an_arm_counts() -> None:
    assert row(waiting(0.0, 0.0), waiting(0.0, 200.0)).standing is Standing.TOLD, "10 % in the mean"
    assert row(waiting(0.0, 0.0), waiting(2.0, 200.0)).standing is Standing.MATTERS


def test_a_wait_that_was_not_recorded_is_not_known() -> None:
    found = row(waiting(0.0, 0.0), waiting(0.0, None))
    assert found.standing is Standing.UNKNOWN and found.values == {"late": (0.0, None)}
    assert row(waiting(None, None), waiting(None, None)).standing is Standing.UNKNOWN
    assert row(waiting(200.0, 200.0), waiting(None, None)).standing is Standing.MATTERS, "what is known is enough"


def test_where_no_request_is_compared_nothing_is_read_late() -> None:
    assert row(run("a"), run("b"), "startup_s") == Row(RowCode.CLIENT, Standing.SAME, {"not_needed": True})
    assert "not_needed" not in row(waiting(0.0), waiting(0.0)).values

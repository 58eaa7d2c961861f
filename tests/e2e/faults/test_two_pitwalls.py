"""Two Pitwalls on one data folder: the second says who has it and leaves the first alone."""

from __future__ import annotations

import pytest

from tests.e2e.pitwall_process import Pitwall, wait_until
from tests.ports import free_ports

pytestmark = [pytest.mark.wide, pytest.mark.browser, pytest.mark.timeout(120)]


def test_the_second_is_refused_with_a_clear_word(pitwall: Pitwall) -> None:
    assert pitwall.process
    second = Pitwall(pitwall.data, free_ports(1)[0], out_name="second.out")
    with pytest.raises(AssertionError, match="Pitwall cannot start: Another Pitwall"):
        second.start()
    words = f"Another Pitwall (pid {pitwall.process.pid}) uses this store: {pitwall.data}."
    assert f"Pitwall cannot start: {words}" in second.said
    assert second.process
    wait_until(lambda: second.process.poll() is not None, 60)
    assert pitwall.is_up(), "the first goes on"

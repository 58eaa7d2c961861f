"""Presses on the heads of Runs' table, each of which counts once."""

from __future__ import annotations

from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from web.runs.table import head_order


class MeetingOrders(dict[str, object]):
    """Orders whose lookup waits for the other thread."""

    barrier = Barrier(2, timeout=20)

    def __contains__(self, name: object) -> bool:
        self.barrier.wait()
        return super().__contains__(name)


def test_two_threads_that_handle_one_press_count_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    state: dict[str, Any] = {"table": {"selection": {"columns": ["stream"]}}}
    changes: list[object] = []
    monkeypatch.setattr(head_order, "st", SimpleNamespace(session_state=state, query_params={}))
    monkeypatch.setattr(head_order, "change_url_params", changes.append)
    monkeypatch.setattr(head_order, "ORDERS", MeetingOrders(head_order.ORDERS))
    threads = [Thread(target=head_order.follow_heads, args=("table", head_order.head_presses())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert changes == [{"order": ["stream"], "reversed": []}] and head_order.head_presses() == 1

"""A run that is deleted on its box leaves the lists of all boxes, and comes back with it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import pytest

from service.fleet import Fleet
from storage.queries.run_queries import RunFilter, find_runs
from tests.storage.lake.boxes import Box

pytestmark = pytest.mark.lake


def shipped(box: Box) -> None:
    box.store.publish()
    box.ship()


def listed(other: Box) -> list[str]:
    with closing(Fleet(other.settings, other.store)) as fleet:
        return [run.id for run in find_runs(fleet, RunFilter(), 10)]


def test_deleted_run_leaves_lists_of_all_boxes(boxes: Callable[[str], Box], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other_boxes = boxes("one"), boxes("other")
    one.add_runs("a", 2)
    one.ship()
    assert listed(other_boxes) == ["a001", "a000"]
    assert one.store.bin.delete(["a000"], "operator") == {}
    shipped(one)
    assert listed(other_boxes) == ["a001"]
    one.store.bin.restore(["a000"], "operator")
    shipped(one)
    assert listed(other_boxes) == ["a001", "a000"]
    one.store.bin.delete(["a000"], "operator")
    monkeypatch.setattr("storage.files.deletions.RESTORE_PERIOD", timedelta(0))
    assert one.store.purge() == 1
    shipped(one)  # for the first time since it was deleted: the box was away for a day
    assert listed(other_boxes) == ["a001"]

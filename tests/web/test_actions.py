"""A press of a button acts once, though two of Streamlit's threads may see it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.conftest import PATIENCE_MS
from web.actions import Once


def test_two_threads_that_find_one_press_act_once() -> None:
    barrier, acts = Barrier(2, timeout=PATIENCE_MS / 1000), list[str]()

    def act(run_id: str) -> None:
        acts.append(run_id)

    pressed = Once(act)

    def find(run_id: str) -> list[str]:
        barrier.wait()
        pressed(run_id)
        return list(acts)

    with ThreadPoolExecutor(2) as threads:
        seen = list(threads.map(find, ["run-1", "run-1"]))
    assert seen == [["run-1"], ["run-1"]]


def test_interrupted_action_retries_in_new_thread() -> None:
    acts = []

    def act() -> None:
        acts.append(len(acts))
        if len(acts) == 1:
            raise RuntimeError("the page went away")

    pressed = Once(act)
    with pytest.raises(RuntimeError, match="went away"):
        pressed()
    for _ in range(2):
        pressed()
    Once(act)()
    assert acts == [0, 1, 2]

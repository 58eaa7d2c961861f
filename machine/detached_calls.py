"""Runs calls that may block forever (a hanging disk) on daemon threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class DetachedCalls:
    """Runs at most `max_calls` calls at a time, hanging ones included; safe from any thread.

    The threads are daemons: they delay neither the end of the process nor each other.
    """

    def __init__(self, name: str, max_calls: int) -> None:
        self._name = name
        self._free = threading.Semaphore(max_calls)

    def start(self, call: Callable[[], T]) -> Future[T]:
        """Start the call; if too many calls are running, the future holds a TimeoutError at once."""
        future: Future[T] = Future()
        if self._free.acquire(blocking=False):
            threading.Thread(target=self._make, args=(call, future), name=self._name, daemon=True).start()
        else:
            future.set_exception(TimeoutError("too many other calls do not return"))
        return future

    def call_within(self, call: Callable[[], T], wait_s: float) -> T:
        """Return or raise the call's result; raises TimeoutError after `wait_s`, while the call continues."""
        return self.start(call).result(wait_s)

    def collect(
        self, pieces: Iterable[T], wait_s: float, more_s: float, undo: Callable[[], object] = lambda: None
    ) -> list[T]:
        """Return all items of an iterable whose `next` may block.

        Raises TimeoutError if, after the first `wait_s`, no further item arrives within `more_s`. Then no more items
        are taken, and `undo` runs once the item in progress has arrived.
        """
        results: list[T] = []
        is_refused = threading.Event()

        def collect_all() -> None:
            for piece in pieces:
                results.append(piece)
                if is_refused.is_set():
                    return

        future = self.start(collect_all)
        try:
            _await_progress(future, results, wait_s, more_s)
        except BaseException:
            is_refused.set()
            future.add_done_callback(lambda _: undo())
            raise
        return results

    def _make(self, call: Callable[[], T], future: Future[T]) -> None:
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            self._free.release()


def _await_progress(future: Future[None], results: Sized, wait_s: float, more_s: float) -> None:
    previous_count = 0
    while True:
        try:
            return future.result(wait_s)
        except TimeoutError:
            if future.done() or len(results) == previous_count:
                raise
            previous_count, wait_s = len(results), more_s

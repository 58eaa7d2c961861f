"""Calls that may never return, as of a disk that hangs: each on a thread of its own, which nobody has to wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sized
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")


class Asides:
    """At most so many such calls at a time, those that hang among them; safe from any thread.

    Its threads hold up neither the end of the process nor each other.
    """

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._free = threading.Semaphore(most)

    def begin(self, call: Callable[[], T]) -> Future[T]:
        """Make the call; where too many are under way its future has a TimeoutError at once."""
        future: Future[T] = Future()
        if self._free.acquire(blocking=False):
            threading.Thread(target=self._make, args=(call, future), name=self._name, daemon=True).start()
        else:
            future.set_exception(TimeoutError("too many other calls do not return"))
        return future

    def ask(self, call: Callable[[], T], wait_s: float) -> T:
        """What the call returns or raises; TimeoutError where that takes longer, and the call goes on."""
        return self.begin(call).result(wait_s)

    def each(
        self, pieces: Iterable[T], wait_s: float, more_s: float, undo: Callable[[], object] = lambda: None
    ) -> list[T]:
        """All of these, made one after the other; TimeoutError where after this wait no other comes in `more_s`.

        Where it raises no more are made, and `undo` follows the one under way, whenever that comes.
        """
        made: list[T] = []
        is_refused = threading.Event()

        def make() -> None:
            for piece in pieces:
                made.append(piece)
                if is_refused.is_set():
                    return

        making = self.begin(make)
        try:
            _await_progress(making, made, wait_s, more_s)
        except BaseException:
            is_refused.set()
            making.add_done_callback(lambda _: undo())
            raise
        return made

    def _make(self, call: Callable[[], T], future: Future[T]) -> None:
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)
        finally:
            self._free.release()


def _await_progress(making: Future[None], made: Sized, wait_s: float, more_s: float) -> None:
    seen = 0
    while True:
        try:
            return making.result(wait_s)
        except TimeoutError:
            if making.done() or len(made) == seen:
                raise
            seen, wait_s = len(made), more_s

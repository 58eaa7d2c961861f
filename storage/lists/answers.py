"""Answers that are computed once for all who ask the same while no row changes, at the same moment too.

They are of runs that have ended, of machines and of what people say: samples of runs that go on change none of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

MOST = 16  # the first asked goes first; what is kept is let go with the next row anyway
Answer = TypeVar("Answer")


class SharedAnswers:
    """Safe from any thread. `version()` is another one after each change of the rows.

    An answer is given to several: it must not be changed, and `compute` asks for no further shared one.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._computed_of: int | None = None
        self._answers: dict[Hashable, Future[Any]] = {}

    def of(self, question: Hashable, compute: Callable[[], Answer]) -> Answer:
        """The answer by the rows as they now are: computed here, or by whoever asked first, who is waited for."""
        answer, is_mine = self._place_of(question)
        if is_mine:
            self._fill(question, answer, compute)
        value: Answer = answer.result()
        return value

    def _place_of(self, question: Hashable) -> tuple[Future[Any], bool]:
        with self._lock:
            if (now := self._version()) != self._computed_of:
                self._answers, self._computed_of = {}, now
            if question in self._answers:
                return self._answers[question], False
            while len(self._answers) >= MOST:
                del self._answers[next(iter(self._answers))]
            self._answers[question] = Future()
            return self._answers[question], True

    def _fill(self, question: Hashable, answer: Future[Any], compute: Callable[[], object]) -> None:
        try:
            answer.set_result(compute())
        except BaseException as error:
            with self._lock:
                if self._answers.get(question) is answer:  # the next one tries anew
                    del self._answers[question]
            answer.set_exception(error)

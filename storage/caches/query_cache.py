"""A cache of query results, shared by all callers until a row changes; concurrent callers wait for one computation.

It holds results about ended runs, machines and notes, which samples of live runs do not change.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from typing import Any, TypeVar

MAX_RESULTS = 24  # the oldest is dropped first; the next changed row drops all
Result = TypeVar("Result")


class SameObject:
    """Part of a key that equals itself for one object alone, such as a cached result from which another is derived.

    A result derived from rows of an older version is then not found for those of a newer one.
    """

    def __init__(self, value: object) -> None:
        self._value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and self._value is other._value

    def __hash__(self) -> int:
        return id(self._value)


class QueryCache:
    """Results by key, valid while `version()` is unchanged; thread-safe.

    Callers share a result and must not modify it; `compute` must not use the same cache.
    """

    def __init__(self, version: Callable[[], int]) -> None:
        self._version = version
        self._lock = threading.Lock()
        self._cached_version: int | None = None
        self._results: dict[Hashable, Future[Any]] = {}

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return the result for the current rows, computed here or awaited from the first caller."""
        future, is_new = self._future_for(key)
        if is_new:
            self._fill(key, future, compute)
        result: Result = future.result()
        return result

    def _future_for(self, key: Hashable) -> tuple[Future[Any], bool]:
        with self._lock:
            if (version := self._version()) != self._cached_version:
                self._results, self._cached_version = {}, version
            if key in self._results:
                return self._results[key], False
            while len(self._results) >= MAX_RESULTS:
                del self._results[next(iter(self._results))]
            self._results[key] = Future()
            return self._results[key], True

    def _fill(self, key: Hashable, future: Future[Any], compute: Callable[[], object]) -> None:
        try:
            future.set_result(compute())
        except BaseException as error:
            with self._lock:
                if self._results.get(key) is future:  # the next caller tries again
                    del self._results[key]
            future.set_exception(error)

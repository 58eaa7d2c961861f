"""Looks at files that may hang, such as a log on a mount that went away: that costs their own run, and no other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from domain import Run
from launcher.runs.supervised_runs.dependencies import Dependencies

T = TypeVar("T")
SOON_S = 0.05  # what a disk that is well needs
HANGS_AFTER_S = 5.0
LONG_LOG_S = 30.0  # the whole of a log is read for the cause of a failure
MAY_HANG = "does not answer: the disk or mount that it is on may hang."
NO_BAR = f"Its log {{}} {MAY_HANG} The run goes on without the progress that it shows."
NO_LAST_WORDS = f"Its log {{}} {MAY_HANG} The run ends without what it says last."
NO_OWN_LOG = f"A file that the server has open {MAY_HANG} Its output is looked for in {{}} meanwhile."


class LastWords(NamedTuple):
    """What a log says at the end of its run: its last lines, and the cause of a failure with the line that shows it."""

    tail: list[str]
    cause: tuple[str, str | None] | None


@dataclass
class Look(Generic[T]):
    """Looks of one kind at a file of one run, one at a time; only under the supervisor's lock."""

    deps: Dependencies
    words: str  # what is said once where it hangs, of the log that is known
    patience_s: float = HANGS_AFTER_S
    _result: Future[T] | None = None
    _since_s: float | None = None
    _is_told: bool = False

    def take(self, run: Run, look: Callable[[], T]) -> T | None:
        """What the look that was begun before, or now, has found or raised; None while it has not come back."""
        wait_s = 0.0 if self._result else SOON_S
        self._result = self._result or self.deps.looks.begin(look)
        self._since_s = self.deps.mono_s() if self._since_s is None else self._since_s
        try:
            return self._taken(self._result.result(wait_s))
        except TimeoutError:
            if self._result and self._result.done():
                self._result = None  # too many others hang: try again
            self._say_hanging(run)
            return None
        except Exception:
            self._result = self._since_s = None
            raise

    def _taken(self, found: T) -> T:
        self._result = self._since_s = None
        return found

    @property
    def is_under_way(self) -> bool:
        """Whether what it finds is still to come."""
        return self._since_s is not None

    @property
    def hangs(self) -> bool:
        """Whether it is under way for longer than anybody waits for it."""
        return self._since_s is not None and self.deps.mono_s() - self._since_s >= self.patience_s

    def _say_hanging(self, run: Run) -> None:
        if self.hangs and not self._is_told:
            self._is_told = True
            self.deps.recorder.note(run.id, "warning", self.words.format(run.log_path))

"""Reads of files that may hang, such as a log on a lost mount, without blocking other runs."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from domain import Run
from launcher.runs.supervised_runs.dependencies import Dependencies

T = TypeVar("T")
SOON_S = 0.05  # enough for a healthy disk
HANGS_AFTER_S = 5.0
LONG_LOG_S = 30.0  # the whole log is read for the cause of a failure
MAY_HANG = "cannot be read: its disk or mount may be hanging."
NO_BAR = f"Its log {{}} {MAY_HANG} The run continues without the progress in it."
NO_LAST_WORDS = f"Its log {{}} {MAY_HANG} The run ends without its last lines."
NO_OWN_LOG = f"A file that the server has open {MAY_HANG} Meanwhile Pitwall reads the server's output from {{}}."


class LogEnding(NamedTuple):
    """End of a run's log: its last lines, and the cause of a failure with the line that shows it."""

    tail: list[str]
    cause: tuple[str, str | None] | None


@dataclass
class SlowRead(Generic[T]):
    """Reads of one kind of a file of one run, one at a time; only under the supervisor's lock."""

    deps: Dependencies
    warning: str  # recorded once if it hangs, formatted with the run's log path
    patience_s: float = HANGS_AFTER_S
    _result: Future[T] | None = None
    _since_s: float | None = None
    _is_reported: bool = False

    def poll(self, run: Run, read: Callable[[], T]) -> T | None:
        """Return, or raise, the result of the pending read, or of a new one; None while it is pending."""
        wait_s = 0.0 if self._result else SOON_S
        self._result = self._result or self.deps.file_reads.start(read)
        self._since_s = self.deps.mono_s() if self._since_s is None else self._since_s
        try:
            return self._finish(self._result.result(wait_s))
        except TimeoutError:
            if self._result and self._result.done():
                self._result = None  # too many other reads hang: try again
            self._report_hanging(run)
            return None
        except Exception:
            self._result = self._since_s = None
            raise

    def _finish(self, result: T) -> T:
        self._result = self._since_s = None
        return result

    @property
    def is_under_way(self) -> bool:
        """Whether a read is pending."""
        return self._since_s is not None

    @property
    def hangs(self) -> bool:
        """Whether the read has been pending for longer than `patience_s`."""
        return self._since_s is not None and self.deps.mono_s() - self._since_s >= self.patience_s

    def _report_hanging(self, run: Run) -> None:
        if self.hangs and not self._is_reported:
            self._is_reported = True
            self.deps.state_log.note(run.id, "warning", self.warning.format(run.log_path))

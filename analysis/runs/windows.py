"""The windows of a run: seconds of its work with their counts, as rows and as columns.

A window is active if it holds only decoding; the store labels them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class DecodingStretch(NamedTuple):
    """Counts over some seconds of decoding and nothing else; None: not counted."""

    tokens: float
    s: float
    steps: float | None
    drafts: float | None
    accepted: float | None


class Window(NamedTuple):
    """One window of one run: counts and their duration, from which every rate follows."""

    since_ready_s: float
    window_s: float | None  # nominal length, or as the log's lines state it
    dt_s: float
    tokens: float | None  # decode tokens
    steps: float | None  # decode steps, one per running request; None if the engine counts none
    decode_tps: float | None
    tokens_per_step: float | None
    steps_per_s: float | None
    acceptance_length: float | None
    activity: str | None  # active | mixed | prefill | idle | None: unknown
    definition: str
    requests_running: float | None = None
    streams: float | None = None  # requests running throughout; None if their number changed
    drafts: float | None = None
    accepted: float | None = None  # accepted draft tokens
    is_whole: bool = True  # known for its full length
    # What the counters grew by across a gap in their answers: right as a sum, but not known over time.
    bridged: DecodingStretch | None = None


class Stretches(NamedTuple):
    """Counts over several stretches of decoding, by column; an unknown count is NaN."""

    tokens: Floats
    s: Floats
    steps: Floats
    drafts: Floats
    accepted: Floats

    @classmethod
    def of(cls, stretches: Iterable[DecodingStretch]) -> Stretches:
        """Return these stretches as columns."""
        return cls(*np.array(list(stretches), np.float64).reshape(-1, len(cls._fields)).T)


NUMBERS = (
    "window_s", "dt_s", "tokens", "steps", "decode_tps", "tokens_per_step", "acceptance_length", "requests_running",
    "streams", "drafts", "accepted",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class WindowColumns:
    """The windows of a run by column; an unknown number is NaN. A day has 43,200 windows of 2 s."""

    window_s: Floats
    dt_s: Floats
    tokens: Floats
    steps: Floats
    decode_tps: Floats
    tokens_per_step: Floats
    acceptance_length: Floats
    requests_running: Floats
    streams: Floats
    drafts: Floats
    accepted: Floats
    is_whole: Flags
    is_decoding: Flags  # whether the activity is 'active'
    definition: str | None  # that of the first
    bridged: Stretches

    def __len__(self) -> int:
        return len(self.dt_s)

    @property
    def is_active(self) -> Flags:
        """Per window, whether it may be ranked: pure decoding with a known rate."""
        return self.is_decoding & ~np.isnan(self.decode_tps)

    @classmethod
    def of(cls, windows: Sequence[Window]) -> WindowColumns:
        """Return these windows as columns."""
        if isinstance(windows, ColumnarWindows):
            return windows.columns()
        return cls(
            **{name: np.array([getattr(window, name) for window in windows], np.float64) for name in NUMBERS},
            is_whole=np.array([window.is_whole for window in windows], np.bool_),
            is_decoding=np.array([window.activity == "active" for window in windows], np.bool_),
            definition=windows[0].definition if windows else None,
            bridged=Stretches.of(window.bridged for window in windows if window.bridged),
        )


@runtime_checkable
class ColumnarWindows(Protocol):
    """Windows that are stored by column."""

    def columns(self) -> WindowColumns:
        """Return the columns without making the windows."""
        ...


def active_windows(windows: Sequence[Window]) -> list[Window]:
    """Return the windows that may be ranked: pure decoding with a known rate."""
    is_active = WindowColumns.of(windows).is_active.tolist()
    return [window for window, is_ranked in zip(windows, is_active, strict=True) if is_ranked]

"""The form of a metric's definition."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from reasons import Code


class Section(StrEnum):
    """Sections of the table of all numbers, in their order."""

    SPEED = "Speed"
    LATENCY = "Latency"
    SESSIONS = "Agent sessions"
    SPECULATION = "Speculation"
    CAPACITY = "KV capacity"
    STARTUP = "Start-up"
    POWER = "Power and machine"


class Subject(StrEnum):
    """The thing that a metric's value describes."""

    REQUESTS = "the requests of Pitwall's loads"
    WINDOWS = "the windows of the run, by the engine's counters, slots or log"
    RUN = "the whole run"
    START = "the start of the server"
    MACHINE = "the machine while the requests of Pitwall's loads were measured"


class Concurrency(StrEnum):
    """The concurrent requests of which a metric tells."""

    ALONE = "one request alone"
    EACH = "one value for each number of concurrent requests"
    ANY = "any number of concurrent requests"
    NOT_APPLICABLE = "not applicable"


class Repeats(StrEnum):
    """How the values of an arm's server starts become one."""

    GEOMETRIC_MEAN = "geometric mean over the server starts"
    OF_LOADS = "geometric mean over the loads of a start, then over the server starts"
    MEDIAN = "median over the server starts"


class ListColumn(NamedTuple):
    """A metric's column in the list of runs; in `run_reports` it has the metric's key.

    name: the word for it in addresses. digits: after the decimal point. is_proposed: Runs shows it unless the user
    chooses columns.
    """

    name: str
    title: str
    digits: int = 1
    width_px: int = 96
    is_proposed: bool = False
    has_unit: bool = True  # in its title


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredMetric:
    """One metric: what it is, and the only function or statement that computes it.

    higher_is_better: None if neither direction is better. computed_by: 'module:function' or the path of an SQL file.
    sources: in order of preference. objective: the name of the objective of a comparison by it, '' for none.
    label: the end of the title of its rows, such as 'p95'. is_ranked: False if arms are never compared by it.
    unknown: the reasons with which its value can be unknown. grows_with_concurrency: a rate of windows of all
    concurrencies together, so that arms with several of them are not compared by it.
    """

    key: str
    title: str
    unit: str
    higher_is_better: bool | None
    section: Section
    subject: Subject
    concurrency: Concurrency
    statistic: str
    definition: str
    example: str
    computed_by: str
    sources: tuple[str, ...]
    repeats: Repeats = Repeats.GEOMETRIC_MEAN
    unknown: tuple[Code, ...] = ()
    objective: str = ""
    label: str = ""
    is_count: bool = False
    is_ranked: bool = True
    grows_with_concurrency: bool = False
    column: ListColumn | None = None

    @property
    def title_with_unit(self) -> str:
        """'Stream, tok/s': the title of its column, or its own, with the unit."""
        title = self.column.title if self.column else self.title
        has_unit = self.unit and (self.column is None or self.column.has_unit)
        return f"{title}, {self.unit}" if has_unit else title

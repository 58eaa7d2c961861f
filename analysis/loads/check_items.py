"""Suites of checks as scored tasks: one task for each suite and depth, one item for each request that was sent."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

from analysis.loads.accuracy import wilson
from analysis.loads.paired_accuracy import PairedItems
from load_records import AGENT_TASK, Accuracy, SuiteCheck

METRIC = "passed"
ItemT = TypeVar("ItemT", bound=Hashable)
NO_FILTER = "none"


class CheckTask(NamedTuple):
    """A suite at one depth; `depth_tokens` is None if the suite has no depths."""

    suite: str
    depth_tokens: int | None

    @property
    def title(self) -> str:
        """'needles after 8k tokens', or 'tool calls'."""
        return self.suite if self.depth_tokens is None else f"{self.suite} {depth_title(self.depth_tokens)}"


def depth_title(tokens: int) -> str:
    """Return 'after 8k tokens'."""
    return f"after {depth_label(tokens)} tokens"


def depth_label(tokens: int) -> str:
    """Return '8k', or '500' below 1000."""
    return f"{tokens / 1000:g}k" if tokens >= 1000 else str(tokens)


Verdicts = Mapping[str, bool]  # item hash -> whether the server passed


def verdicts_by_task(checks: Sequence[SuiteCheck]) -> dict[CheckTask, dict[str, bool]]:
    """Return the verdicts of each task, shallow depths first; cases that could not be tried are left out.

    Checks of loads that recorded no hash of the request cannot be paired, and are left out too, and repeats of an
    agent task are no items.
    """
    verdicts: dict[CheckTask, dict[str, bool]] = {}
    for check in sorted(checks, key=lambda check: (check.suite, check.depth_tokens or 0)):
        if check.is_pass is not None and check.item_hash is not None and check.suite != AGENT_TASK:
            verdicts.setdefault(CheckTask(check.suite, check.depth_tokens), {})[check.item_hash] = check.is_pass
    return verdicts


def check_accuracies(checks: Sequence[SuiteCheck]) -> list[Accuracy]:
    """Return the share of passed checks of each task of one load, with Wilson's interval."""
    return [_accuracy(checks[0], task, list(verdicts.values())) for task, verdicts in verdicts_by_task(checks).items()]


def _accuracy(check: SuiteCheck, task: CheckTask, verdicts: Sequence[bool]) -> Accuracy:
    # The items themselves tell which requests two loads share.
    return count_accuracy(check, task.title, METRIC, sum(verdicts), len(verdicts), protocol_hash=task.title)


def count_accuracy(
    check: SuiteCheck, task: str, metric: str, correct: int, n: int, protocol_hash: str | None
) -> Accuracy:
    """Return the accuracy of a load by its counts, with Wilson's interval; check: one of the load's."""
    interval = wilson(correct, n)
    return Accuracy(
        run_id=check.run_id,
        load_id=check.load_id,
        ts=check.ts,
        task=task,
        filter=NO_FILTER,
        metric=metric,
        correct=correct,
        n=n,
        value=correct / n,
        low=interval.low,
        high=interval.high,
        protocol_hash=protocol_hash,
    )


def pair_verdicts(baseline: Mapping[ItemT, bool], contender: Mapping[ItemT, bool]) -> PairedItems:
    """Count the items that both have, by their verdicts."""
    pairs = [(baseline[item], contender[item]) for item in baseline if item in contender]
    return PairedItems(*(pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False))))


def check_pairs(
    checks_by_load: Mapping[str, Sequence[SuiteCheck]],
) -> Iterator[tuple[str, str, CheckTask, PairedItems]]:
    """Yield the items of each task that two loads share, as (first load, second load, task, items), in both orders."""
    tasks_by_load = {load_id: verdicts_by_task(checks) for load_id, checks in checks_by_load.items()}
    for first, second in combinations(tasks_by_load, 2):
        for task, verdicts in tasks_by_load[first].items():
            items = pair_verdicts(verdicts, tasks_by_load[second].get(task, {}))
            if items.n:
                yield first, second, task, items
                yield second, first, task, PairedItems(items.both, items.won, items.lost, items.neither)

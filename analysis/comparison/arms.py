"""Arms: one configuration under one workload; its repeats are runs, usually one server start each.

Two runs belong to one arm if everything known to matter is equal; `arm_differences` names what is not.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from analysis.comparison.arm_differences import (
    IDENTITY_FIELDS,
    STRICT_FIELDS,
    RunSignature,
    differences_between,
    signature_of,
    unknown_of,
    workload_of,
)
from analysis.comparison.arm_names import REPEAT_NUMBER, name_arms
from analysis.comparison.facts import RunFacts, ServerSetup
from analysis.comparison.starts import starts_of
from analysis.loads.depth_holds import DepthHolds


@dataclass(frozen=True, slots=True)
class Arm:
    """Repeats of one configuration under one workload, in order of time."""

    key: str  # 12 hex digits, equal for repeats
    runs: tuple[RunFacts, ...]
    unknown: tuple[str, ...] = ()  # unknown facts, which its machine, model path and executable imply
    left_out: Mapping[str, str] = field(default_factory=dict)  # run id -> a person's reason
    title: str | None = None  # told apart from the other arms of the comparison; None: it stands alone

    @property
    def id(self) -> str:
        return self.runs[0].run_id

    @property
    def starts(self) -> tuple[RunFacts, ...]:
        """Its server starts, the unit of counting: runs on the same process are merged."""
        return starts_of(self.runs)

    @property
    def depths(self) -> dict[str, DepthHolds]:
        """Until what depth each suite holds, by the first load that tried it at two depths or more."""
        by_suite: dict[str, DepthHolds] = {}
        for claims in (claims for run in self.runs for claims in run.depths):
            by_suite.setdefault(claims.suite, claims)
        return by_suite

    @property
    def name(self) -> str:
        """Its title among other arms, else the name of its first run, without the repeat number."""
        return self.title or REPEAT_NUMBER.sub("", self.runs[0].name)


class DeclaredRepeat(NamedTuple):
    """A run that its owner counts as a repeat of another one's arm, with the reason."""

    target_id: str
    reason: str


def arms_of(
    runs: Sequence[RunFacts],
    separate_ids: Collection[str] = (),
    left_out: Mapping[str, str] | None = None,
    joined: Mapping[str, DeclaredRepeat] | None = None,
) -> list[Arm]:
    """Group runs into arms, in the order of their first runs.

    separate_ids: ids of runs that form arms of their own. left_out: run id -> why it does not count; an arm whose runs
    are all left out is dropped. joined: by run id, those that count as repeats of another run's arm.
    """
    reasons = left_out or {}
    groups = [[run] for run in runs if run.run_id in separate_ids]
    groups += _group_repeats([run for run in runs if run.run_id not in separate_ids])
    groups = _join_declared(groups, joined or {})
    positions = {run.run_id: position for position, run in enumerate(runs)}
    groups.sort(key=lambda group: min(positions[run.run_id] for run in group))
    arms = [_arm(group, reasons) for group in groups if any(run.run_id not in reasons for run in group)]
    titles = name_arms([arm.runs[0] for arm in arms])
    return [
        replace(arm, title=title, key=_distinct_key(arm, arms[:index]))
        for index, (arm, title) in enumerate(zip(arms, titles, strict=True))
    ]


def _join_declared(groups: Sequence[list[RunFacts]], joined: Mapping[str, DeclaredRepeat]) -> list[list[RunFacts]]:
    """Move each declared repeat to the group of its target; one whose target is not among the runs stays."""
    new_groups = [list(group) for group in groups]
    for run_id, repeat in joined.items():
        source = next((group for group in new_groups if any(run.run_id == run_id for run in group)), None)
        target = next((group for group in new_groups if any(run.run_id == repeat.target_id for run in group)), None)
        if source is not None and target is not None and source is not target:
            run = next(run for run in source if run.run_id == run_id)
            source.remove(run)
            target.append(run)
    return [group for group in new_groups if group]


def _distinct_key(arm: Arm, earlier_arms: Sequence[Arm]) -> str:
    """Return the arm's key; another one if an earlier arm has it, from which a person or its log separates it."""
    if all(arm.key != earlier.key for earlier in earlier_arms):
        return arm.key
    return hashlib.sha256(f"{arm.key} {arm.id}".encode()).hexdigest()[:12]


def _arm(group: Sequence[RunFacts], reasons: Mapping[str, str]) -> Arm:
    counted_runs = sorted((run for run in group if run.run_id not in reasons), key=_start_order)
    unknown = dict.fromkeys(name for run in counted_runs for name in unknown_of(run.served))
    left_out = {run.run_id: reasons[run.run_id] for run in group if run.run_id in reasons}
    return Arm(arm_key(min(counted_runs, key=_gap_count)), tuple(counted_runs), tuple(unknown), left_out)


def _group_repeats(runs: Sequence[RunFacts]) -> list[list[RunFacts]]:
    """Group the runs with the fewest unknowns first: a run with gaps joins the only group that it fits, or is alone."""
    groups: list[list[RunSignature]] = []
    for signature in sorted(map(signature_of, runs), key=lambda signature: len(signature.unknown)):
        fitting = [group for group in groups if all(_is_repeat(signature, member) for member in group)]
        if len(fitting) == 1:
            fitting[0].append(signature)
        else:
            groups.append([signature])
    return [[signature.run for signature in group] for group in groups]


def is_repeat(first: RunFacts, second: RunFacts) -> bool:
    """Whether two runs belong to one arm: no known fact differs, and unknown ones are shown to be equal otherwise."""
    return _is_repeat(signature_of(first), signature_of(second))


def _is_repeat(first: RunSignature, second: RunSignature) -> bool:
    return next(differences_between(first, second), None) is None


def arm_key(run: RunFacts) -> str:
    """Return 12 hex digits over the run's setup and loads, by which programs tell arms apart."""
    served = run.served
    unknown = unknown_of(served)
    implying = [served.machine_id, served.model, served.command[:1]] if unknown else []
    implying += [served.command] if "configuration" in unknown else []
    key_json = json.dumps([identity_of(served), workload_of(run), implying], sort_keys=True, default=str)
    return hashlib.sha256(key_json.encode()).hexdigest()[:12]


def identity_of(served: ServerSetup) -> dict[str, Any]:
    """Return the facts that make two servers equal. Effective settings count, however the command spells them."""
    facts = {name: getattr(served, name) for name in (*STRICT_FIELDS, *IDENTITY_FIELDS)}
    return {**facts, "settings": dict(served.settings)}


def _gap_count(run: RunFacts) -> int:
    return len(unknown_of(run.served))


def _start_order(run: RunFacts) -> tuple[float, str]:
    return (run.began_at.timestamp() if run.began_at else 0.0, run.run_id)

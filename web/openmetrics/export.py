"""Turns what is known now into metric families. An unknown number has no series, never a zero."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric, StateSetMetricFamily

from domain import Run, Study
from redaction import mask_text
from web.openmetrics import exported_metrics as names
from web.openmetrics.batch_guards import BatchGuard
from web.openmetrics.exported_metrics import ExportedMetric

MOST_LABEL_CHARACTERS = 120
MOST_POSITIONS = 64
Labels = tuple[str, ...]


@dataclass(frozen=True)
class RunExport:
    """What is exported of one run; None and missing keys are unknown.

    tiles: by the name of a tile of Live, only of a live run.
    """

    run: Run
    engine_title: str
    tiles: Mapping[str, float | None] = field(default_factory=dict)
    position_acceptance: Sequence[float] = ()
    data_age_s: Mapping[str, float] = field(default_factory=dict)  # by source
    hanging_collectors: int | None = None
    unread_bytes: Mapping[str, int] = field(default_factory=dict)  # by collector
    stream_tps: float | None = None
    tokens_per_j: float | None = None
    users_held: float | None = None


@dataclass(frozen=True)
class StoreExport:
    """The health of the store; None: nothing was committed or published yet."""

    is_ok: bool
    pending_rows: int
    waiting_s: float
    commit_age_s: float | None
    published_age_s: float | None
    lost_files: int


@dataclass(frozen=True)
class Export:
    """Everything that one scrape returns."""

    version: str
    store: StoreExport
    run_counts: Mapping[str, int] = field(default_factory=dict)  # by state
    runs: Sequence[RunExport] = ()
    runs_left_out: int = 0
    studies: Sequence[Study] = ()
    batch_guards: Sequence[BatchGuard] = ()

    def collect(self) -> Iterator[Metric]:
        """Yield every family that has a series; the encoders of prometheus_client call this."""
        yield from _families(names.BUILD, [((self.version,), 1.0)])
        yield from _families(names.RUNS, [((state,), float(n)) for state, n in sorted(self.run_counts.items())])
        yield from _families(names.LEFT_OUT, [((), float(self.runs_left_out))])
        yield from _store_families(self.store)
        yield from _run_families(self.runs)
        yield from _study_families(self.studies)
        guards = {guard.batch_id: guard.refusals for guard in self.batch_guards}
        yield from _guard_families(names.BATCH_GUARD, names.BATCH_REFUSALS, guards)


def _store_families(store: StoreExport) -> Iterator[Metric]:
    values = {
        names.STORE_OK: float(store.is_ok),
        names.STORE_PENDING: float(store.pending_rows),
        names.STORE_WAITING: store.waiting_s,
        names.STORE_COMMIT_AGE: store.commit_age_s,
        names.STORE_PUBLISHED_AGE: store.published_age_s,
        names.STORE_LOST_FILES: float(store.lost_files),
    }
    for metric, value in values.items():
        yield from _families(metric, [((), value)])


def _run_families(runs: Sequence[RunExport]) -> Iterator[Metric]:
    yield from _families(names.RUN, [(_run_labels(row), 1.0) for row in runs])
    yield from _state_families(names.RUN_STATE, [((row.run.id,), row.run.shown_state) for row in runs])
    yield from _families(names.DATA_AGE, _by_label(runs, "data_age_s"))
    yield from _families(names.HANGING, [((row.run.id,), _number(row.hanging_collectors)) for row in runs])
    yield from _families(names.UNREAD, _by_label(runs, "unread_bytes"))
    positions = [
        ((row.run.id, str(index)), value)
        for row in runs
        for index, value in enumerate(row.position_acceptance[:MOST_POSITIONS])
    ]
    yield from _families(names.POSITION_ACCEPTANCE, positions)
    for tile, exported in names.TILES.items():
        values = [((row.run.id,), _scaled(row.tiles.get(tile), exported.factor)) for row in runs]
        yield from _families(exported.metric, values)
    yield from _families(names.STREAM_SPEED, [((row.run.id,), row.stream_tps) for row in runs])
    energies = [((row.run.id,), 1 / row.tokens_per_j if row.tokens_per_j else None) for row in runs]
    yield from _families(names.ENERGY, energies)
    yield from _families(names.USERS_HELD, [((row.run.id,), row.users_held) for row in runs])


def _study_families(studies: Sequence[Study]) -> Iterator[Metric]:
    yield from _families(names.STUDY, [((study.id, study.title, study.question), 1.0) for study in studies])
    yield from _state_families(names.STUDY_STATE, [((study.id,), study.state) for study in studies])
    refusals = {study.id: refusals for study in studies if (refusals := refused_pairs(study)) is not None}
    yield from _guard_families(names.STUDY_GUARD, names.STUDY_REFUSALS, refusals)


def _guard_families(
    guard: ExportedMetric, refused: ExportedMetric, refusals: Mapping[str, Mapping[str, int]]
) -> Iterator[Metric]:
    """Yield the state of the guard and the refused pairs by row, of each study or batch."""
    states = [((group_id,), "refused" if rows else "ranked") for group_id, rows in refusals.items()]
    yield from _state_families(guard, states)
    counts = [((group_id, row), float(n)) for group_id, rows in refusals.items() for row, n in sorted(rows.items())]
    yield from _families(refused, counts)


def refused_pairs(study: Study) -> dict[str, int] | None:
    """Return the number of refused pairs by the row of the guard that refuses them; None: no pair was judged yet.

    A study of several workloads has an answer for each; a pair that is refused under two of them counts twice.
    """
    if study.answer is None:
        return None
    answers: list[Mapping[str, Any]] = study.answer.get("workloads") or [study.answer]
    if sum(bool(arm["values"]) for answer in answers for arm in answer["arms"]) < 2:
        return None
    rows = [row for answer in answers for pair in answer["unranked"] for row in pair["rows"]]
    return {row: rows.count(row) for row in dict.fromkeys(rows)}


def _run_labels(row: RunExport) -> Labels:
    return row.run.id, row.run.name, row.engine_title, row.run.config.model or "", row.run.kind


def _by_label(runs: Sequence[RunExport], name: str) -> list[tuple[Labels, float | None]]:
    return [((row.run.id, label), float(value)) for row in runs for label, value in getattr(row, name).items()]


def _families(metric: ExportedMetric, values: Iterable[tuple[Labels, float | None]]) -> Iterator[Metric]:
    """Yield the family, unless no value is known."""
    known_values = [(labels, value) for labels, value in values if value is not None and math.isfinite(value)]
    if not known_values:
        return
    if metric.is_info:
        info = InfoMetricFamily(metric.name.removesuffix("_info"), metric.help)
        for labels, _ in known_values:
            info.add_metric([], dict(zip(metric.labels, _bounded(map(mask_text, labels)), strict=True)))
        yield info
        return
    gauge = GaugeMetricFamily(metric.name, metric.help, labels=metric.labels, unit=metric.unit)
    for labels, value in known_values:
        gauge.add_metric(_bounded(labels), value)
    yield gauge


def _state_families(metric: ExportedMetric, states: Sequence[tuple[Labels, str]]) -> Iterator[Metric]:
    if not states:
        return
    family = StateSetMetricFamily(metric.name, metric.help, labels=metric.labels)
    for labels, current in states:
        family.add_metric(_bounded(labels), {str(state): state == current for state in metric.states})
    yield family


def _bounded(labels: Iterable[str]) -> list[str]:
    """Return the labels without control characters and of limited length: a scraper keeps each distinct text."""
    return ["".join(filter(str.isprintable, label))[:MOST_LABEL_CHARACTERS] for label in labels]


def _number(value: int | None) -> float | None:
    return None if value is None else float(value)


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor

"""Played runs through the product's own door: written into a bundle, imported into a store, compared there."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from analysis.compare_arms import ArmComparison
from analysis.evidence.objectives import parse_objective
from domain import utc_now
from reports.arms.comparison import ComparisonOptions, ComparisonReport, comparison_of
from settings import Settings
from storage.catalog import latest_schema
from storage.queries.run_queries import runs_of
from storage.rows import tables_of
from storage.store import Store
from storage.transfer.archive import write_archive
from storage.transfer.bundle_import import import_bundle
from tests.known_truth.played_run import PlayedArm, PlayedRun


class PlayedStore:
    """A store that takes in played runs and compares them."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.settings = Settings(data_dir=folder / "data")
        self.store = Store.open(self.settings)
        self.rng = np.random.default_rng(seed)
        self.bundle_path = folder / "played.pitwall.zip"

    def close(self) -> None:
        self.store.close()

    def take_in(self, played: Sequence[PlayedRun]) -> list[str]:
        """Import the runs from a bundle; return their ids."""
        write_bundle(self.bundle_path, played)
        return list(import_bundle(self.store, self.settings, self.bundle_path).run_ids)

    def play(self, arms: Sequence[PlayedArm], starts: int = 5) -> list[str]:
        """Play this many starts of each arm and import them; return their ids, arm by arm."""
        return self.take_in([run for arm in arms for run in arm.starts(starts, self.rng)])

    def report(self, run_ids: Sequence[str], objective: str | None = None, **options: object) -> ComparisonReport:
        """Compare stored runs as Compare and `./pitwall compare` do."""
        chosen_objective = parse_objective(objective) if objective else None
        return comparison_of(self.store, runs_of(self.store, run_ids), ComparisonOptions(chosen_objective, **options))  # type: ignore[arg-type]

    def answer(self, arms: Sequence[PlayedArm], objective: str | None = None, starts: int = 5) -> ArmComparison:
        """Play two arms and return the answer of the second against the first."""
        (answer,) = self.report(self.play(arms, starts), objective).answers
        return answer


def write_bundle(path: Path, played: Sequence[PlayedRun]) -> None:
    """Write the runs as one bundle, in the format of `storage.transfer.bundle.export_runs`."""
    with write_archive(path, "bundle", latest_schema(), utc_now(), [item.run.id for item in played]) as archive:
        for item in played:
            folder = f"runs/{item.run.id}"
            archive.add(f"{folder}/run.json", item.run.model_dump_json().encode())
            for table, rows in tables_of(item.rows).items():
                buffer = io.BytesIO()
                pq.write_table(rows, buffer)
                archive.add(f"{folder}/{table}.parquet", buffer.getvalue())

"""The questions about runs themselves, asked of the store or of the published file alike."""

from __future__ import annotations

from collections.abc import Sequence

from domain import Run
from storage.ask.queries import Asked
from storage.rows import run_of


def runs_of(store: Asked, run_ids: Sequence[str]) -> list[Run]:
    """The runs that have these ids, in the order of the ids; ids that no run has are passed over."""
    rows = store.query("SELECT * FROM raw.runs WHERE list_contains($run_ids, id)", {"run_ids": list(run_ids)})
    found = {row["id"]: run_of(row) for row in rows.to_pylist()}
    return [found[run_id] for run_id in run_ids if run_id in found]


def likely_repeats(store: Asked, runs: Sequence[Run], most: int) -> list[Run]:
    """Finished runs that may repeat one of these: the same configured fingerprint and workload, the newest first."""
    sql = """
        SELECT * FROM raw.runs
        WHERE list_contains($fingerprints, fingerprint) AND state = 'finished' AND NOT list_contains($run_ids, id)
            AND list_contains($workloads, coalesce(workload->>'$.name', ''))
        ORDER BY id DESC LIMIT $most
    """
    told = {
        "fingerprints": [run.config.fingerprint for run in runs],
        "run_ids": [run.id for run in runs],
        "workloads": [run.workload.name if run.workload else "" for run in runs],
        "most": most,
    }
    return [run_of(row) for row in store.query(sql, told).to_pylist()]


def same_setting(store: Asked, runs: Sequence[Run], most: int) -> list[Run]:
    """Finished runs of the engine, workload and machine of these: their repeats tell how much a start varies."""
    sql = """
        SELECT * FROM raw.runs
        WHERE state = 'finished' AND NOT list_contains($run_ids, id) AND list_contains($machines, machine_id)
            AND list_contains($engines, config->>'$.engine')
            AND list_contains($hashes, coalesce(workload->>'$.prompt_set_hash', ''))
        ORDER BY id DESC LIMIT $most
    """
    told = {
        "run_ids": [run.id for run in runs],
        "machines": [run.machine_id for run in runs],
        "engines": [run.config.engine for run in runs],
        "hashes": [run.workload.prompt_set_hash or "-" for run in runs if run.workload],
        "most": most,
    }
    return [run_of(row) for row in store.query(sql, told).to_pylist()]

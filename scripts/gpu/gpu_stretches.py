"""GPU samples of a data folder in the measured part of each run's load."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from analysis.comparison.facts import RunFacts
from analysis.comparison.replicates import tokens_per_j
from domain import Run
from reports.arms.facts import facts_of
from reports.runs.measured_loads import measured_span
from storage.published import PublishedStore
from storage.published_query import QueryFunction, published_query
from storage.queries.run_queries import runs_of

PUBLISHED = "monitor.duckdb"
Sample = Mapping[str, Any]  # a row of gpu_samples; `at_s` in seconds since 1970


class Stretch(NamedTuple):
    """Measured part of one run's load, with Pitwall's samples of it."""

    run_id: str
    name: str
    pid: int | None
    began_s: float
    ended_s: float
    samples: Sequence[Sample]
    facts: RunFacts
    tokens: int  # by the raw records of its requests
    driver_version: str | None

    @property
    def tokens_per_j(self) -> float | None:
        return tokens_per_j(self.facts)

    @property
    def energy_j(self) -> float | None:
        return self.facts.conditions[0].energy_j

    def within(self, rows: Iterable[Any]) -> list[Any]:
        """Return the rows of these seconds."""
        return [row for row in rows if self.began_s <= row.at_s <= self.ended_s]


def stretches(data: Path, left_out: Collection[str]) -> list[Stretch]:
    """Return the measured parts, in the order of the runs' names."""
    with published_query(data / PUBLISHED) as query:
        store = PublishedStore(query)
        ids = query("SELECT run_id FROM runs ORDER BY name")["run_id"].to_pylist()
        runs = [run for run in runs_of(store, ids) if run.name not in left_out]
        return [stretch(query, run, facts) for run, facts in zip(runs, facts_of(store, runs), strict=True)]


def stretch(query: QueryFunction, run: Run, facts: RunFacts) -> Stretch:
    (load,) = facts.loads
    span = measured_span(load)
    assert span and run.run_dir
    samples = query(
        "SELECT *, epoch(ts) AS at_s FROM gpu_samples WHERE run_id = $run AND ts BETWEEN $began AND $ended ORDER BY ts",
        {"run": run.id, "began": span.began_at, "ended": span.ended_at},
    ).to_pylist()
    driver = (run.provenance or {}).get("driver_version")
    ends = (span.began_at.timestamp(), span.ended_at.timestamp())
    return Stretch(run.id, run.name, run.pid, *ends, samples, facts, tokens_of(Path(run.run_dir)), driver)


def tokens_of(run_dir: Path) -> int:
    """Count the tokens of all measured requests in their raw records."""
    lines = map(json.loads, (run_dir / "workload/requests.jsonl").read_text().splitlines())
    return sum(sum(line["chunk_tokens"]) for line in lines if "record" not in line and line["phase"] == "measure")


def refusals(data: Path) -> list[list[str]]:
    """Return each value missing in some sample of a run, with the driver's reasons and their counts."""
    with published_query(data / PUBLISHED) as query:
        rows = query("SELECT unknown FROM gpu_samples")["unknown"].to_pylist()
    counts: dict[tuple[str, str], int] = {}
    for text in rows:
        for pair in json.loads(text or "{}").items():
            counts[pair] = counts.get(pair, 0) + 1
    return [[name, f"{why} ({count} of {len(rows)} samples)"] for (name, why), count in sorted(counts.items())]

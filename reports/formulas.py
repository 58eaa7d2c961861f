"""Which formulas a number was computed by: what was kept under others is computed anew."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

HOUSE = Path(__file__).resolve().parents[1]
MEASURED = "storage/ask/questions/measured"
# All that the numbers of a run's report and of its line are made of, folders whole.
SOURCES = (
    "reasons.py",
    "storage/views",
    "storage/ask/queries.py",
    "storage/ask/questions/loads",
    "storage/ask/questions/machines",
    *(f"{MEASURED}/{name}.sql" for name in ("preemptions", "printed_speeds", "run_peaks", "wholes")),
    "storage/ask/condition_queries.py",
    "storage/ask/load_queries.py",
    "engines/acceptance.py",
    "analysis/comparison/replicates.py",
    "analysis/evidence/loads.py",
    "analysis/runs/condition_sums.py",
    "analysis/runs/printed.py",
    "analysis/runs/windows.py",
    "reports/arms/facts.py",
    "reports/runs/packed.py",
    "reports/runs/run_line.py",
    "reports/runs/run_report.py",
    "reports/runs/under_load.py",
)


@cache
def formulas(*further: str) -> str:
    """A checksum of the formulas, 16 hexadecimal digits. further: more files that a number follows from."""
    digest = hashlib.sha256()
    for path in sorted(file for source in (*SOURCES, *further) for file in _files(HOUSE / source)):
        digest.update(f"{path.relative_to(HOUSE)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _files(path: Path) -> list[Path]:
    return [path] if path.is_file() else [file for file in path.rglob("*.sql") if not file.name.startswith("comments")]

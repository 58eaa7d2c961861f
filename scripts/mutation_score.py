"""Print how many mutants the last `mutmut run` killed, per file and in total; exit 1 below the given percentage.

python scripts/mutation_score.py 90. A mutant that loops forever counts as killed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from mutmut.stats import status_by_exit_code

MUTANTS = Path("mutants")
KILLED = ("killed", "timeout")


def main() -> int:
    scores = {path: score_of(path) for path in sorted(MUTANTS.rglob("*.py.meta"))}
    for path, (killed, total) in scores.items():
        if total:
            print(score_sentence(str(path.relative_to(MUTANTS)).removesuffix(".meta"), killed, total))
    killed, total = (sum(counts) for counts in zip(*scores.values(), strict=True))
    print(score_sentence("all", killed, total))
    return 0 if killed >= total * float(sys.argv[1]) / 100 else 1


def score_of(meta: Path) -> tuple[int, int]:
    """Return (killed, all) mutants of one file."""
    codes = json.loads(meta.read_text())["exit_code_by_key"].values()
    return sum(status_by_exit_code[code] in KILLED for code in codes), len(codes)


def score_sentence(name: str, killed: int, total: int) -> str:
    return f"{name}: {killed} of {total} mutants killed, {killed / total:.1%}"


if __name__ == "__main__":
    sys.exit(main())

"""Say how many mutants the last `mutmut run` killed; exit 1 below the percentage given.

python scripts/mutation_score.py 90, after `mutmut export-cicd-stats`. A mutant that loops for ever counts as killed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

STATS = Path("mutants/mutmut-cicd-stats.json")


def main() -> int:
    stats = json.loads(STATS.read_text())
    killed, total = stats["killed"] + stats["timeout"], stats["total"]
    print(f"{killed} of {total} mutants killed: {killed / total:.1%}")
    return 0 if killed >= total * float(sys.argv[1]) / 100 else 1


if __name__ == "__main__":
    sys.exit(main())

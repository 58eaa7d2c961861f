"""`python -m storage.sandbox`: answers one job; started for each statement, at the lowest CPU priority."""

from __future__ import annotations

import os

NICENESS = 19


def main() -> None:
    os.nice(NICENESS)
    # Only now: bringing DuckDB and Arrow up takes longer than most queries.
    from storage.sandbox.answering import answer_stdin

    answer_stdin()


if __name__ == "__main__":
    main()

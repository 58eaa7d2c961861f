"""`python -m storage.sandbox`: answers one job; started for each statement, behind all other work (`priority`)."""

from __future__ import annotations

from storage.sandbox.priority import come_second


def main() -> None:
    """Lower this process's priority, then answer the one job on standard input."""
    come_second()
    # Only now: bringing DuckDB and Arrow up takes longer than most queries.
    from storage.sandbox.answering import answer_stdin

    answer_stdin()


if __name__ == "__main__":
    main()

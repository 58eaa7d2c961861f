"""`python -m storage.sandbox`: runs one statement in a process of low priority (`priority`)."""

from __future__ import annotations

from storage.sandbox.priority import lower_priority


def main() -> None:
    """Lower this process's priority, then run the job on standard input."""
    lower_priority()
    # Imported only now, because loading DuckDB and Arrow takes longer than most queries.
    from storage.sandbox.answering import answer_stdin

    answer_stdin()


if __name__ == "__main__":
    main()

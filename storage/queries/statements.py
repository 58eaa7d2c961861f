"""SQL statements: one file each in sql/, by subject, named after the function that runs it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HERE = Path(__file__).parent / "sql"


@cache
def statement(name: str) -> str:
    """Return the SQL of a query, with parameters as $names."""
    (path,) = HERE.glob(f"*/{name}.sql")
    return path.read_text()

"""The questions as SQL: one file each in questions/, by subject, named as the function that asks it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

HERE = Path(__file__).parent / "questions"


@cache
def statement(name: str) -> str:
    """The text of a question, its parameters as $names."""
    (path,) = HERE.glob(f"*/{name}.sql")
    return path.read_text()

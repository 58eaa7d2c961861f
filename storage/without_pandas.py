"""Keeps pandas out of a process that shows no pages: it takes longer to import than most commands to answer.

DuckDB and Arrow import it where it is installed, to look whether the first value that they are given is one of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _NoPandas:
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas" and "streamlit" not in sys.modules:  # Streamlit cannot be without it
            raise ModuleNotFoundError("No module named 'pandas'", name=fullname)


def leave_pandas_out() -> None:
    """From now on pandas is not found in this process, as where it is not installed, unless Streamlit is imported."""
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())

"""Keeps pandas out of processes without pages, because importing it takes longer than most commands run.

DuckDB and Arrow import it, if installed, to check whether the first value they receive is a pandas object.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType


class _NoPandas:
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        if fullname == "pandas" and "streamlit" not in sys.modules:  # Streamlit needs it
            raise ModuleNotFoundError("No module named 'pandas'", name=fullname)


def leave_pandas_out() -> None:
    """Make imports of pandas fail in this process as if it were not installed, unless Streamlit is imported."""
    if not any(isinstance(finder, _NoPandas) for finder in sys.meta_path):
        sys.meta_path.insert(0, _NoPandas())

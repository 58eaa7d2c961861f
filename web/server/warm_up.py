"""Imports what every page needs before the first visitor comes."""

from __future__ import annotations

import gc
import importlib

HEAVY = ("pandas", "plotly.graph_objects", "pyarrow", "web.charts", "web.live.component")


def import_and_freeze() -> None:
    """Import the heavy libraries and exclude their objects from garbage collection, which runs at each script run."""
    for name in HEAVY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()
    gc.enable()

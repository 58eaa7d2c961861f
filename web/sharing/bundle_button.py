"""The button that downloads runs as one file."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import streamlit as st

from domain import Run
from redaction import mask_text
from storage.transfer.bundle import SUFFIX, export_runs
from web.actions import is_operator
from web.context import services

ABOUT = "Samples, records and logs of these runs in one file, with secrets masked; another Pitwall can import the runs."


def bundle_button(runs: Sequence[Run], page: str) -> None:
    """Offer these runs as a download, created when the button is pressed; only for runs that have all ended."""
    if not runs or not is_operator() or not all(run.state.is_final for run in runs):
        return
    ids = [run.id for run in runs]
    st.download_button(
        "Download as a bundle",
        data=lambda: _bundle(ids),
        file_name=_file_name(runs),
        mime="application/zip",
        on_click="ignore",
        help=ABOUT,
        icon=":material/download:",
        key=f"bundle-{page}",
    )


@st.dialog("Download as a bundle")
def show_bundle_dialog(runs: Sequence[Run], page: str) -> None:
    """Show the button in a dialog, for a menu."""
    bundle_button(runs, page)


def _bundle(run_ids: Sequence[str]) -> BinaryIO:
    """Return the open bundle; its file is already deleted from the disk."""
    with tempfile.TemporaryDirectory(prefix=".bundle-", dir=services().settings.data_dir) as folder:
        path = Path(folder) / f"made{SUFFIX}"
        export_runs(services().store.query, run_ids, path, datetime.now(UTC), mask_text)
        return path.open("rb")


def _file_name(runs: Sequence[Run]) -> str:
    """'pitwall-vLLM-tiny-20261120-….pitwall.zip'."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", runs[0].name).strip("-")[:40]
    count = f"-and-{len(runs) - 1}" if len(runs) > 1 else ""
    return f"{name or 'run'}{count}-{runs[0].id}{SUFFIX}"

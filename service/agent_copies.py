"""The folders that agent tasks left in the folder of a run, to be looked at and deleted."""

from __future__ import annotations

from pathlib import Path

from launcher.processes.process import process_status
from workloads.agent_tasks.task_files import repeat_folders


def ended_repeats(run_folder: Path) -> list[Path]:
    """Return the folders of all repeats whose load has ended; an agent still works in those of a running load."""
    is_running = {load: process_status(load).state in ("starting", "alive") for load in _loads(run_folder)}
    return [folder for folder in repeat_folders(run_folder) if not is_running[folder.parent]]


def _loads(run_folder: Path) -> set[Path]:
    return {folder.parent for folder in repeat_folders(run_folder)}

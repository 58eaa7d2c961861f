"""`./pitwall import FILE...`: turns server logs, bundles and other tools' results into runs and loads.

Files go through the inbox of the data folder. A running Pitwall imports them; if none is running, or it dies meanwhile,
this command owns the store until its files are imported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.data.inbox_owner import InboxOwner
from cli.exit_status import CANNOT_READ, DONE, REFUSED

if TYPE_CHECKING:
    from collectors.imports.inbox import ImportJob, Status
    from settings import Settings


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall import` and its flags to the parser."""
    help_text = "import server logs (plain, .gz, .zst), other tools' results, and Pitwall's bundles"
    command = commands.add_parser("import", help=help_text, description=help_text)
    help_text = "a file, the folder of a tool's results, or a quoted pattern: 'logs/*.log'"
    command.add_argument("files", nargs="+", metavar="FILE", help=help_text)
    command.add_argument("--run", dest="onto", metavar="RUN", help="for results: the run that they belong to")
    command.add_argument("--zone", help="time zone of time stamps without one: Europe/Berlin, UTC or +02:00")
    command.add_argument("--name", help="of the run; default: from engine and model")
    command.add_argument("--json", action="store_true", help="print one JSON object per file")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Submit the files and wait for them; raises StoreError if no store can be opened."""
    from collectors.imports.inbox import cancel_job, inbox_folder
    from collectors.imports.log_file import ImportRefusedError
    from collectors.imports.named_files import named_files
    from settings import load_settings

    try:
        files = [file for text in arguments.files for file in named_files(text)]
    except ImportRefusedError as refusal:
        print(refusal, file=sys.stderr)
        return CANNOT_READ
    settings = load_settings()
    with InboxOwner(settings) as owner:
        owner.try_to_own()
        jobs = submit_files(settings, files, arguments.zone, arguments.name, arguments.onto)
        try:
            return max([_wait(settings, job, owner, arguments.json) for job in jobs])
        except KeyboardInterrupt:
            for job in jobs:
                cancel_job(inbox_folder(settings.data_dir), job.id)
            raise


def submit_files(
    settings: Settings, files: Sequence[Path], zone: str | None, name: str | None, onto: str | None = None
) -> list[ImportJob]:
    """Submit a job for each file; `onto` is the id of the run that results belong to."""
    from collectors.imports.inbox import ImportJob, inbox_folder, new_job_id, submit_job

    jobs = []
    for file in files:
        path = file.absolute()
        job = ImportJob(
            id=new_job_id(datetime.now(UTC)), path=path, shown_name=path.name, zone=zone, name=name, run=onto
        )  # fmt: skip
        submit_job(inbox_folder(settings.data_dir), job)
        jobs.append(job)
    return jobs


def _wait(settings: Settings, job: ImportJob, owner: InboxOwner, as_json: bool) -> int:
    status = owner.wait_for_job(job.id, lambda status: _show(job, status))
    is_done = status.state == "done"
    if as_json:
        fields = {"file": str(job.path), **status.model_dump(mode="json", exclude={"share", "note"})}
        print(json.dumps(fields), flush=True)
    else:
        line = ("\r" if sys.stderr.isatty() else "") + status.text
        print(line, file=sys.stdout if is_done else sys.stderr, flush=True)
    return DONE if is_done else REFUSED


def _show(job: ImportJob, status: Status) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{job.shown_name}: {100 * status.share:3.0f} %")
        sys.stderr.flush()

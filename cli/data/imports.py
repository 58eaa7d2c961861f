"""`./pitwall import FILE...`: make runs of server logs, of Pitwall's bundles and of other tools' results.

Files go through the inbox of the data folder. A running Pitwall imports them; if none runs, or it dies meanwhile, this
command owns the store until its files are imported.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.data.inbox_owner import Owner
from cli.exit_status import CANNOT_READ, DONE, REFUSED

if TYPE_CHECKING:
    from collectors.imports.inbox import Job, Status
    from settings import Settings


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall import` and its flags to the parser."""
    words = "make runs of server logs and of other tools' results (plain, .gz, .zst), and of Pitwall's bundles"
    command = commands.add_parser("import", help=words, description=words)
    words = "or the folder of a tool's results, or a pattern in quotes: 'logs/*.log'"
    command.add_argument("files", nargs="+", metavar="FILE", help=words)
    command.add_argument("--run", dest="onto", metavar="RUN", help="of results: the run that they belong to")
    command.add_argument("--zone", help="time zone of stamps that name none: Europe/Berlin, UTC or +02:00")
    command.add_argument("--name", help="of the run; default: made of engine and model")
    command.add_argument("--json", action="store_true", help="print one JSON object a file")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Hand the files in and wait for them; raises StoreError where no store can be opened."""
    from collectors.imports.log_file import ImportRefusedError
    from collectors.imports.named_files import named_files
    from settings import load_settings

    try:
        files = [file for text in arguments.files for file in named_files(text)]
    except ImportRefusedError as refusal:
        print(refusal, file=sys.stderr)
        return CANNOT_READ
    settings = load_settings()
    with Owner(settings) as owner:
        owner.try_to_own()
        jobs = hand_in(settings, files, arguments.zone, arguments.name, arguments.onto)
        return max([_wait(settings, job, owner, arguments.json) for job in jobs])


def hand_in(
    settings: Settings, files: Sequence[Path], zone: str | None, name: str | None, onto: str | None = None
) -> list[Job]:
    """A job for each file; `onto` is the id of the run that results belong to."""
    from collectors.imports.inbox import Job, drop, inbox_folder, new_job_id

    jobs = []
    for file in files:
        path = file.absolute()
        job = Job(
            id=new_job_id(datetime.now(UTC)), path=path, shown_name=path.name, zone=zone, name=name, run=onto
        )  # fmt: skip
        drop(inbox_folder(settings.data_dir), job)
        jobs.append(job)
    return jobs


def _wait(settings: Settings, job: Job, owner: Owner, as_json: bool) -> int:
    status = owner.outcome_of(job.id, lambda status: _show(job, status))
    is_done = status.state == "done"
    if as_json:
        fields = {"file": str(job.path), **status.model_dump(mode="json", exclude={"share", "note"})}
        print(json.dumps(fields), flush=True)
    else:
        line = ("\r" if sys.stderr.isatty() else "") + status.text
        print(line, file=sys.stdout if is_done else sys.stderr, flush=True)
    return DONE if is_done else REFUSED


def _show(job: Job, status: Status) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{job.shown_name}: {100 * status.share:3.0f} %")
        sys.stderr.flush()

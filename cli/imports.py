"""`./pitwall import FILE...`: make runs of server logs, of Pitwall's bundles and of other tools' results.

Files go through the inbox of the data folder. A Pitwall that runs takes them; where none runs, or it dies meanwhile,
this command owns the store until its files are in.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import CANNOT_READ, DONE, REFUSED

if TYPE_CHECKING:
    from collectors.imports.inbox import Job, Status
    from settings import Settings

LOOK_EVERY_S = 0.2
OWN_EVERY_S = 2.0  # how often it tries to own the store of a Pitwall that may have died


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    words = "make runs of server logs (plain, .gz, .zst), of Pitwall's bundles and of other tools' results"
    command = commands.add_parser("import", help=words, description=words)
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help="or the folder of a tool's results")
    command.add_argument("--run", dest="onto", metavar="RUN", help="of results: the run that they belong to")
    command.add_argument("--zone", help="time zone of stamps that name none: Europe/Berlin, UTC or +02:00")
    command.add_argument("--name", help="of the run; default: made of engine and model")
    command.add_argument("--json", action="store_true", help="print one JSON object a file")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Hand the files in and wait for them; raises StoreError where no store can be opened."""
    from settings import load_settings

    for missing in (file for file in arguments.files if not (file.is_file() or file.is_dir())):
        print(f"There is no file {missing}.", file=sys.stderr)
        return CANNOT_READ
    settings = load_settings()
    with Owner(settings) as owner:
        owner.try_to_own()
        jobs = hand_in(settings, arguments.files, arguments.zone, arguments.name, arguments.onto)
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


class Owner:
    """Works off the inbox of a store that nobody else owns."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._opened = ExitStack()
        self._owns = False
        self._tried_s = 0.0

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, *error: object) -> None:
        self._opened.close()

    def try_to_own(self) -> None:
        """Own the store if no Pitwall does; asked often, tried now and then. Raises StoreError if it is unusable."""
        from storage.database import StoreInUseError

        now_s = time.monotonic()
        if self._owns or (self._tried_s and now_s - self._tried_s < OWN_EVERY_S):
            return
        self._tried_s = now_s
        try:
            self._opened.enter_context(_inbox_at_work(self._settings))
        except StoreInUseError:
            return
        self._owns = True


@contextmanager
def _inbox_at_work(settings: Settings) -> Iterator[None]:
    from collectors.imports.inbox import Inbox, inbox_folder
    from collectors.imports.log_import import LogImporter
    from collectors.imports.result_import import ResultImporter
    from domain import utc_now
    from storage.database import StoreError
    from storage.store import Store
    from storage.transfer.bundle_import import import_bundle

    store = Store.open(settings)
    try:
        logs = LogImporter(store, settings.runs_dir, utc_now)
        folder = inbox_folder(settings.data_dir)
        results = ResultImporter(store, utc_now)
        inbox = Inbox(
            folder, logs, results, lambda path, tell: import_bundle(store, settings, path, tell), (StoreError,)
        )
        inbox.start()
        try:
            yield
        finally:
            inbox.close()
    finally:
        store.close()


def _wait(settings: Settings, job: Job, owner: Owner, as_json: bool) -> int:
    from collectors.imports.inbox import forget, inbox_folder, status_of

    folder = inbox_folder(settings.data_dir)
    while not (status := status_of(folder, job.id)).is_over:
        owner.try_to_own()
        _show(job, status)
        time.sleep(LOOK_EVERY_S)
    forget(folder, job.id)
    is_done = status.state == "done"
    if as_json:
        fields = {"file": str(job.path), **status.model_dump(mode="json", exclude={"share"})}
        print(json.dumps(fields), flush=True)
    else:
        line = ("\r" if sys.stderr.isatty() else "") + status.text
        print(line, file=sys.stdout if is_done else sys.stderr, flush=True)
    return DONE if is_done else REFUSED


def _show(job: Job, status: Status) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{job.shown_name}: {100 * status.share:3.0f} %")
        sys.stderr.flush()

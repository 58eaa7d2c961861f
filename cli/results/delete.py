"""`./pitwall delete RUN...`: deletes ended runs, which Runs can restore for a day.

It goes through the inbox of the data folder, as notes do: a running Pitwall deletes the runs; if none is running, this
command owns the store until they are deleted.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys

from cli.data.inbox_owner import InboxOwner
from cli.exit_status import DONE, REFUSED


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall delete` and its flags to the parser."""
    help_text = "delete ended runs, all or none; Runs can restore them for a day"
    command = commands.add_parser("delete", help=help_text, description=help_text)
    command.add_argument("run_ids", metavar="RUN", nargs="+", help="a run's id")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Submit the deletion and wait; raises StoreError if no store can be opened."""
    from collectors.imports.inbox import DeletionJob, inbox_folder, new_job_id, submit_job
    from domain import utc_now
    from settings import load_settings

    settings = load_settings()
    with InboxOwner(settings) as owner:
        owner.try_to_own()
        by = f"{getpass.getuser()}, in a shell"
        job = DeletionJob(id=new_job_id(utc_now()), deleted_runs=tuple(arguments.run_ids), by=by)
        submit_job(inbox_folder(settings.data_dir), job)
        status = owner.wait_for_job(job.id)
    is_done = status.state == "done"
    if arguments.json:
        print(json.dumps(status.model_dump(mode="json", include={"state", "text", "run_ids"})))
    else:
        print(status.text, file=sys.stdout if is_done else sys.stderr)
    return DONE if is_done else REFUSED

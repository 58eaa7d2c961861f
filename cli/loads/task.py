"""`./pitwall task start|delete`: puts an agent's task on the server of a run, and deletes what agents left.

`start` goes through the inbox of the data folder, since a running Pitwall supervises the server.
"""

from __future__ import annotations

import argparse
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cli.answers import Answer, add_command, audit_user
from cli.exit_status import DONE, REFUSED
from errors import PitwallError

MOST_BYTES = 1 << 20


class TaskFileError(PitwallError):
    """A file of an agent task that cannot be used; the message is one sentence."""


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall task start` and `delete` to the parser."""
    help_text = "run an agent on a task and let a command decide whether it is solved, or delete what agents left"
    task = commands.add_parser("task", help=help_text, description=help_text)
    orders = task.add_subparsers(dest="order", required=True, metavar="ORDER")
    start_command = add_command(orders, "start", start, "start the task of a file on the server of a run")
    start_command.add_argument("run_id", metavar="RUN", help="the id of a run with a ready server")
    start_command.add_argument("file", type=Path, metavar="TASK.toml", help="see docs/agent-tasks.md")
    delete_command = add_command(orders, "delete", delete, "delete the copies and outputs that agents left in a run")
    delete_command.add_argument("run_id", metavar="RUN", help="the id of a run")


def start(arguments: argparse.Namespace) -> Answer:
    """Put the task through the inbox; raises TaskFileError, NotRegularError, StoreError, OSError.

    The key of an attached server is taken from the variable SERVER_API_KEY and passed on in a pipe.
    """
    from cli.data.inbox_owner import InboxOwner
    from collectors.imports.inbox import LoadStartJob, inbox_folder, key_pipe, new_job_id, submit_job
    from domain import utc_now
    from load_records import AGENT_TASK
    from machine.private_files import private_folder
    from machine.secret_pipe import offered_secret
    from redaction import SERVER_API_KEY
    from settings import load_settings

    params, settings = read_task(arguments.file), load_settings()
    server_key = os.environ.pop(SERVER_API_KEY, "")
    with InboxOwner(settings) as owner, ExitStack() as offer:
        owner.try_to_own()
        folder = inbox_folder(settings.data_dir)
        job = LoadStartJob(
            id=new_job_id(utc_now()), run=arguments.run_id, workload=AGENT_TASK, params=params, by=audit_user(),
            offers_key=bool(server_key),
        )  # fmt: skip
        if server_key:
            private_folder(folder)
            offer.enter_context(offered_secret(key_pipe(folder, job.id), server_key))
        submit_job(folder, job)
        status = owner.wait_for_job(job.id)
    is_done = status.state == "done"
    return Answer(status.text, {"state": status.state, "text": status.text}, DONE if is_done else REFUSED)


def read_task(path: Path) -> dict[str, Any]:
    """Return the parameters of a task's file, whose folder is relative to the file.

    Raises TaskFileError, NotRegularError, TooLargeError, OSError.
    """
    import tomllib

    from pydantic import ValidationError

    from cli.foreign_file import read_bounded_file
    from machine.toml_text import parse_toml
    from workloads.agent_tasks.task_params import AgentTaskParams

    try:
        values = parse_toml(read_bounded_file(path, MOST_BYTES).decode())
        if isinstance(values.get("folder"), str):
            values["folder"] = str((path.resolve().parent / values["folder"]).resolve())
        params: dict[str, Any] = AgentTaskParams.model_validate(values).model_dump(mode="json", exclude_defaults=True)
        return params
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TaskFileError(f"{path} is not valid TOML: {error}.") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise TaskFileError(f"{path}, {place}: {first['msg'].removeprefix('Value error, ')}.") from error


def delete(arguments: argparse.Namespace) -> Answer:
    """Delete the folders of all ended repeats of a run; raises TaskFileError, OSError."""
    from service.agent_copies import ended_repeats
    from settings import load_settings
    from storage.transfer.bundle import RUN_ID
    from workloads.agent_tasks.task_files import delete_repeats

    run_folder = load_settings().runs_dir / arguments.run_id
    if not RUN_ID.fullmatch(arguments.run_id) or not run_folder.is_dir() or run_folder.is_symlink():
        raise TaskFileError(f"The run {arguments.run_id[:80]} has no folder here.")
    folders = ended_repeats(run_folder)
    size_bytes = delete_repeats(folders)
    text = f"Deleted {size_bytes:,} bytes of {len(folders)} repeats." if folders else "There is nothing to delete."
    return Answer(text, {"deleted": len(folders), "size_bytes": size_bytes})

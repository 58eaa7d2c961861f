"""`./pitwall record RUN`: runs a proxy to a run's server that records the requests of other clients."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from domain import Run
    from workloads.recording.serve import Recording


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall record` and its flags to the parser."""
    help_text = "forward requests to a run's server and record their latencies; their text only with --keep-text"
    command = commands.add_parser("record", help=help_text, description=help_text)
    command.add_argument("run_id", metavar="RUN", nargs="?", help="the id of a run with a ready server")
    command.add_argument("--job", type=Path, metavar="JOB.json", help="instead of RUN; used by Pitwall")
    command.add_argument("--port", type=int, default=0, metavar="P", help="port on 127.0.0.1 (default: any free one)")
    command.add_argument(
        "--minutes", type=_minutes, default=60.0, metavar="N", help="end after this time (default: 60)"
    )
    command.add_argument("--keep-text", action="store_true", help="keep prompts and answers, for replay as sessions")
    command.set_defaults(run=run, refuse=command.error)


def _minutes(word: str) -> float:
    from workloads.recording.recorder_job import MAX_MINUTES

    minutes = float(word)
    if not 0 < minutes <= MAX_MINUTES:
        raise argparse.ArgumentTypeError(f"between 0 and {MAX_MINUTES}")
    return minutes


def run(arguments: argparse.Namespace) -> int:
    """Record; return REFUSED if the server is not ready. Raises RecorderBusyError, StoreError, OSError."""
    if (arguments.run_id is None) == (arguments.job is None):
        arguments.refuse("give one RUN, or --job")
    os.umask(0o077)  # its files belong to the data folder
    if arguments.job:
        return _run_job(arguments.job)
    from workloads.process.prepare import requests_file
    from workloads.recording.recorder_job import RecorderOptions
    from workloads.recording.serve import Recording

    target = _find_run(arguments.run_id)
    if obstacle := recording_obstacle(target, arguments.run_id):
        print(obstacle, file=sys.stderr)
        return REFUSED
    assert target and target.base_url
    options = RecorderOptions(minutes=arguments.minutes, keeps_text=arguments.keep_text)
    return _record(Recording(target.id, target.base_url, requests_file(target), options, port=arguments.port))


def _run_job(path: Path) -> int:
    """Record for a job of Pitwall, with the token that it showed to the operator."""
    from pydantic import ValidationError

    from workloads.recording.recorder_job import RECORDER_TOKEN, RecorderJob
    from workloads.recording.serve import Recording

    try:
        job = RecorderJob.model_validate_json(path.read_bytes())
    except ValidationError as error:
        print(f"{path}: {error.errors()[0]['msg']}", file=sys.stderr)
        return REFUSED
    token = os.environ.get(RECORDER_TOKEN)
    return _record(Recording(job.run_id, job.base_url, job.out, job.ask, token=token, status=job.status))


def _record(recording: Recording) -> int:
    import uvloop

    from redaction import SERVER_API_KEY
    from workloads.recording.serve import record

    uvloop.run(record(recording, os.environ.get(SERVER_API_KEY), lambda text: print(text, flush=True)))
    return DONE


def _find_run(run_id: str) -> Run | None:
    from settings import load_settings
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.run_queries import runs_of

    with published_query(load_settings().published_path) as query:
        return next(iter(runs_of(PublishedStore(query), [run_id])), None)


def recording_obstacle(run: Run | None, run_id: str) -> str | None:
    """Return a sentence on why this run cannot be recorded; None if it can."""
    from domain import RunState

    if run is None:
        return f"There is no run {run_id}."
    if run.state not in (RunState.READY, RunState.RUNNING) or run.base_url is None:
        return f"The server of run {run_id} is not ready: the run is {run.state.value}."
    if run.run_dir is None:
        return f"Run {run_id} has no folder yet: start a load on it once, then it can be recorded."
    return None

"""`./pitwall record RUN`: a proxy to a run's server that records the requests of other clients."""

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
    words = "pass requests on to a run's server and record their latencies; their text only where that is asked for"
    command = commands.add_parser("record", help=words, description=words)
    command.add_argument("run_id", metavar="RUN", nargs="?", help="the id of a run whose server answers")
    command.add_argument("--job", type=Path, metavar="JOB.json", help="in place of RUN; Pitwall starts this")
    command.add_argument("--port", type=int, default=0, metavar="P", help="of 127.0.0.1; any free one unless set")
    command.add_argument(
        "--minutes", type=_minutes, default=60.0, metavar="N", help="ends after so long; 60 unless set"
    )
    command.add_argument("--keep-text", action="store_true", help="keep what was said, to be replayed as sessions")
    command.set_defaults(run=run, refuse=command.error)


def _minutes(word: str) -> float:
    from workloads.recording.recorder_job import MOST_MINUTES

    minutes = float(word)
    if not 0 < minutes <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"between 0 and {MOST_MINUTES}")
    return minutes


def run(arguments: argparse.Namespace) -> int:
    """REFUSED with a sentence where its server does not answer; raises RecorderBusyError, StoreError, OSError."""
    if (arguments.run_id is None) == (arguments.job is None):
        arguments.refuse("say one RUN, or --job")
    os.umask(0o077)  # what it writes is the data folder's
    if arguments.job:
        return _run_job(arguments.job)
    from workloads.process.prepare import requests_of
    from workloads.recording.recorder_job import RecorderAsk
    from workloads.recording.serve import Recording

    found = _run_of(arguments.run_id)
    if why := why_not(found, arguments.run_id):
        print(why, file=sys.stderr)
        return REFUSED
    assert found and found.base_url
    ask = RecorderAsk(minutes=arguments.minutes, keeps_text=arguments.keep_text)
    return _record(Recording(found.id, found.base_url, requests_of(found), ask, port=arguments.port))


def _run_job(path: Path) -> int:
    """As the job says, with the token that Pitwall has shown to the operator."""
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
    import asyncio

    from redaction import SERVER_API_KEY
    from workloads.recording.serve import record

    asyncio.run(record(recording, os.environ.get(SERVER_API_KEY), lambda words: print(words, flush=True)))
    return DONE


def _run_of(run_id: str) -> Run | None:
    from settings import load_settings
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.published_query import published_query

    with published_query(load_settings().published_path) as query:
        return next(iter(runs_of(Published(query), [run_id])), None)


def why_not(run: Run | None, run_id: str) -> str | None:
    """The sentence that says why this run cannot be recorded; None where it can."""
    from domain import RunState

    if run is None:
        return f"There is no run {run_id}."
    if run.state not in (RunState.READY, RunState.RUNNING) or run.base_url is None:
        return f"The server of run {run_id} does not answer: the run is {run.state.value}."
    if run.run_dir is None:
        return f"Run {run_id} has no folder yet: put a load on it once, then it can be recorded."
    return None

"""`./pitwall record RUN`: a proxy to a run's server that records the requests of other clients."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from typing import TYPE_CHECKING

from cli.exit_status import DONE, REFUSED

if TYPE_CHECKING:
    from domain import Run

MOST_MINUTES = 24 * 60


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    words = "pass requests on to a run's server and record their latencies; their text only where that is asked for"
    command = commands.add_parser("record", help=words, description=words)
    command.add_argument("run_id", metavar="RUN", help="the id of a run whose server answers")
    command.add_argument("--port", type=int, default=0, metavar="P", help="of 127.0.0.1; any free one unless set")
    command.add_argument(
        "--minutes", type=_minutes, default=60.0, metavar="N", help="ends after so long; 60 unless set"
    )
    command.add_argument("--keep-text", action="store_true", help="keep what was said, to be replayed as sessions")
    command.set_defaults(run=run)


def _minutes(word: str) -> float:
    minutes = float(word)
    if not 0 < minutes <= MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"between 0 and {MOST_MINUTES}")
    return minutes


def run(arguments: argparse.Namespace) -> int:
    """REFUSED with a sentence where its server does not answer; raises RecorderBusyError, StoreError, OSError."""
    from redaction import SERVER_API_KEY
    from workloads.process.prepare import requests_of
    from workloads.recording.access import Limits
    from workloads.recording.serve import record

    found = _run_of(arguments.run_id)
    if why := why_not(found, arguments.run_id):
        print(why, file=sys.stderr)
        return REFUSED
    assert found and found.base_url
    os.umask(0o077)  # what it writes is the data folder's
    limits = Limits(duration_s=arguments.minutes * 60)
    key, out = os.environ.get(SERVER_API_KEY), requests_of(found)
    say = lambda words: print(words, flush=True)  # noqa: E731
    asyncio.run(record(found.id, found.base_url, out, arguments.port, key, arguments.keep_text, limits, say))
    return DONE


def _run_of(run_id: str) -> Run | None:
    from settings import load_settings
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.reading import published_query

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

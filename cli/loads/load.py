"""`./pitwall load SPEC.json` puts a server under load; `./pitwall load report FILE` prints what came out.

Runs beside the server that it measures, so it imports no data library.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cli.exit_status import DONE, REFUSED
from cli.foreign_file import read_given

REPORT = "report"
MOST_SPEC_BYTES = 16 << 20
MOST_REQUESTS_BYTES = 1 << 30


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall load` to the parser."""
    words = "put a server under the load that a file describes, or report on the requests of one"
    command = commands.add_parser(
        "load",
        help=words,
        description=words,
        usage="./pitwall load [-h] SPEC.json\n       ./pitwall load [-h] report FILE",
    )
    command.add_argument("words", nargs="+", metavar="SPEC.json | report FILE", help="as docs/command-line.md has it")
    command.set_defaults(run=run, refuse=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Execute a load, or report on one; other words end the process with its usage. Raises OSError."""
    words = arguments.words
    if len(words) == 2 and words[0] == REPORT:
        return report(Path(words[1]))
    if len(words) != 1:
        arguments.refuse("say one SPEC.json, or report and one FILE")
    return start(Path(words[0]))


def start(spec: Path) -> int:
    """Execute the load; REFUSED with a sentence if the spec is not usable; raises OSError."""
    import asyncio

    from pydantic import ValidationError

    from collectors.endpoints.counter_look import counter_look
    from workloads.process.job import Job
    from workloads.process.start import UnknownWorkloadError, run_job

    os.umask(0o077)  # what it writes is the data folder's
    try:
        job = Job.model_validate_json(read_given(spec, MOST_SPEC_BYTES))
        api_key = os.environ.get(job.api_key_env)
        look = counter_look(job.run_id, job.engine, job.base_url, api_key)
        return asyncio.run(run_job(job, api_key, look))
    except ValidationError as error:
        first = error.errors()[0]
        print(f"{spec}: {'.'.join(map(str, first['loc']))}: {first['msg']}", file=sys.stderr)
    except UnknownWorkloadError as error:
        print(f"{spec}: {error}", file=sys.stderr)
    return REFUSED


def report(requests: Path) -> int:
    """Print a summary of a requests.jsonl."""
    from pydantic import ValidationError

    from load_records import Check, RequestRecord
    from workloads.process.summary import check_lines, summary
    from workloads.requests.records import parse_lines

    try:
        records = list(parse_lines(read_given(requests, MOST_REQUESTS_BYTES).decode().splitlines()))
        print(summary([one for one in records if isinstance(one, RequestRecord)]))
        print(*check_lines([one for one in records if isinstance(one, Check)]), sep="\n", end="")
    except (ValidationError, KeyError):
        print(f"{requests} holds a line that is not a request record.", file=sys.stderr)
        return REFUSED
    return DONE

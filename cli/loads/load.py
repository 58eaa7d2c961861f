"""`./pitwall load SPEC.json` puts a server under load; `./pitwall load report FILE` prints the results.

It runs next to the server that it measures, so it imports no data library.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from cli.exit_status import DONE, REFUSED
from cli.foreign_file import read_bounded_file

REPORT = "report"
MOST_SPEC_BYTES = 16 << 20
MOST_REQUESTS_BYTES = 1 << 30


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall load` to the parser."""
    help_text = "put a server under the load described in a file, or print the results of a load"
    command = commands.add_parser(
        "load",
        help=help_text,
        description=help_text,
        usage="./pitwall load [-h] SPEC.json\n       ./pitwall load [-h] report FILE",
    )
    command.add_argument("operands", nargs="+", metavar="SPEC.json | report FILE", help="see docs/command-line.md")
    command.set_defaults(run=run, refuse=command.error)


def run(arguments: argparse.Namespace) -> int:
    """Execute a load, or report on one; other arguments end the process with its usage. Raises OSError."""
    operands = arguments.operands
    if len(operands) == 2 and operands[0] == REPORT:
        return report(Path(operands[1]))
    if len(operands) != 1:
        arguments.refuse("give one SPEC.json, or report and one FILE")
    return start(Path(operands[0]))


def start(spec: Path) -> int:
    """Execute the load; return REFUSED with a sentence if the spec is invalid. Raises OSError."""
    import asyncio

    from pydantic import ValidationError

    from cli.loads.agent_task import run_agent_task
    from collectors.endpoints.counter_reader import counter_reader
    from load_records import AGENT_TASK
    from workloads.job import LoadJob
    from workloads.process.start import UnknownWorkloadError, run_job
    from workloads.texts.probe_fitting import ProbeRefusedError

    os.umask(0o077)  # its files belong to the data folder
    try:
        job = LoadJob.model_validate_json(read_bounded_file(spec, MOST_SPEC_BYTES))
        api_key = os.environ.get(job.api_key_env)
        if job.workload == AGENT_TASK:
            return run_agent_task(job, api_key)
        read_counters = counter_reader(job.run_id, job.engine, job.base_url, api_key)
        return asyncio.run(run_job(job, api_key, read_counters))
    except ValidationError as error:
        first = error.errors()[0]
        print(f"{spec}: {'.'.join(map(str, first['loc']))}: {first['msg']}", file=sys.stderr)
    except (UnknownWorkloadError, ProbeRefusedError) as error:
        print(f"{spec}: {error}", file=sys.stderr)
    return REFUSED


def report(requests: Path) -> int:
    """Print a summary of a requests.jsonl."""
    from pydantic import ValidationError

    from load_records import RequestRecord, SuiteCheck
    from workloads.process.summary import check_lines, summary
    from workloads.requests.records import parse_lines

    try:
        records = list(parse_lines(read_bounded_file(requests, MOST_REQUESTS_BYTES).decode().splitlines()))
        print(summary([record for record in records if isinstance(record, RequestRecord)]))
        print(*check_lines([record for record in records if isinstance(record, SuiteCheck)]), sep="\n", end="")
    except (ValidationError, KeyError):
        print(f"{requests} contains a line that is not a request record.", file=sys.stderr)
        return REFUSED
    return DONE

"""`python -m collectors gpu` shows what the GPUs of this machine tell; `identify URL` who serves there."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from collectors.base import Clock, Trouble
from collectors.gpu import GpuCollector
from domain import Config, Run


def main(argv: Sequence[str]) -> int:
    arguments = _arguments().parse_args(argv)
    if arguments.command == "identify":
        return _identify(arguments.url)
    try:
        for row in gpu_rows(arguments.seconds):
            print(json.dumps(row, default=str), flush=True)
    except Trouble as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def gpu_rows(seconds: int) -> Iterator[dict[str, Any]]:
    """The capabilities, then a row per GPU and second; raises Trouble where there is no GPU."""
    from collectors.nvml import NvmlProvider

    provider, clock = NvmlProvider(), Clock()
    yield {"capabilities": asdict(provider.probe())}
    collector = GpuCollector(platform.node(), provider, clock=clock)
    watching = Run(
        id="gpu", name="gpu", color=0, machine_id=platform.node(), config=Config(), created_at=datetime.now(UTC)
    )
    for _ in range(seconds):
        began = clock.mono_s()
        for batch in collector.collect(watching):
            took_ms = round((clock.mono_s() - began) * 1000, 3)
            yield from ({"took_ms": took_ms} | asdict(sample) for sample in batch.samples)
        time.sleep(1.0)
    provider.close()


def _identify(url: str) -> int:
    from collectors.identify import NotServing, identify

    try:
        print(json.dumps(asdict(identify(url))))
    except NotServing as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m collectors", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    gpu = commands.add_parser("gpu", help="print the GPUs' capabilities and one row per GPU and second, as JSON")
    gpu.add_argument("--seconds", type=int, default=5)
    commands.add_parser("identify", help="print who serves at an address, as JSON").add_argument("url")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

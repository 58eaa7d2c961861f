"""`./pitwall gpus` and `./pitwall identify URL`: print what Pitwall sees of this machine's GPUs and of a server."""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from cli.exit_status import DONE


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall gpus` and `pitwall identify` to the parser."""
    help_text = "print the capabilities of this machine's GPUs, then one row per GPU and second, as JSON"
    gpus = commands.add_parser("gpus", help=help_text, description=help_text)
    gpus.add_argument("--seconds", type=int, default=5, metavar="N", help="default: 5")
    gpus.set_defaults(run=watch_gpus)
    help_text = "print which engine serves at an address, as JSON"
    identify = commands.add_parser("identify", help=help_text, description=help_text)
    identify.add_argument("url", metavar="URL")
    identify.set_defaults(run=identify_server)


def watch_gpus(arguments: argparse.Namespace) -> int:
    """Print the GPU rows; raises CollectorError if there is no GPU."""
    for row in gpu_rows(arguments.seconds):
        print(json.dumps(row, default=str), flush=True)
    return DONE


def gpu_rows(seconds: int) -> Iterator[dict[str, Any]]:
    """Yield the capabilities, then one row per GPU and second; raises CollectorError if there is no GPU."""
    from collectors.base import Clock
    from collectors.machine.gpu import GpuCollector
    from collectors.machine.nvml import NvmlProvider
    from domain import Config, Run

    provider, clock = NvmlProvider(), Clock()
    yield {"capabilities": asdict(provider.probe())}
    collector = GpuCollector(platform.node(), provider, clock=clock)
    now = datetime.now(UTC)
    run = Run(id="gpu", name="gpu", color=0, machine_id=platform.node(), config=Config(), created_at=now)
    for _ in range(seconds):
        began = clock.mono_s()
        for batch in collector.collect(run):
            took_ms = round((clock.mono_s() - began) * 1000, 3)
            yield from ({"took_ms": took_ms} | asdict(sample) for sample in batch.samples)
        time.sleep(1.0)
    provider.close()


def identify_server(arguments: argparse.Namespace) -> int:
    """Print the server's identity; raises NotServingError if nothing answers."""
    from collectors.endpoints.identify import identify

    print(json.dumps(asdict(identify(arguments.url))))
    return DONE

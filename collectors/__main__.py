"""`python -m collectors import FILE...` makes runs of logs and bundles; `gpu` shows what the GPUs of this machine tell;
`identify URL` who serves there."""

from __future__ import annotations

import argparse
import json
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from collectors.base import Clock, CollectorError
from collectors.gpu import GpuCollector
from domain import Config, Run, utc_now


def main(argv: Sequence[str]) -> int:
    arguments = _arguments().parse_args(argv)
    if arguments.command == "identify":
        return _identify(arguments.url)
    if arguments.command == "import":
        return _import(arguments.files, arguments.zone, arguments.name)
    try:
        for row in gpu_rows(arguments.seconds):
            print(json.dumps(row, default=str), flush=True)
    except CollectorError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def gpu_rows(seconds: int) -> Iterator[dict[str, Any]]:
    """The capabilities, then a row per GPU and second; raises CollectorError where there is no GPU."""
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
    from collectors.identify import NotServingError, identify

    try:
        print(json.dumps(asdict(identify(url))))
    except NotServingError as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


def _import(files: Sequence[Path], zone: str | None, name: str | None) -> int:
    """Hand the files in; where no Pitwall runs to take them, take them here."""
    from collectors.imports.command import hand_in, wait_for
    from collectors.imports.inbox import Inbox, inbox_folder
    from collectors.imports.log_import import LogImporter
    from settings import load_settings
    from storage.database import StoreError, StoreInUseError
    from storage.store import Store
    from storage.transfer.bundle_import import import_bundle

    for missing in (file for file in files if not file.is_file()):
        print(f"There is no file {missing}.", file=sys.stderr)
        return 2
    settings = load_settings()
    folder = inbox_folder(settings.data_dir)
    try:
        store = Store.open(settings)
    except StoreInUseError:
        return wait_for(folder, hand_in(folder, files, zone, name))
    except StoreError as error:
        print(error, file=sys.stderr)
        return 1
    logs = LogImporter(store, settings.runs_dir, utc_now)
    inbox = Inbox(folder, logs, lambda path, tell: import_bundle(store, settings, path, tell), (StoreError,))
    inbox.start()
    try:
        return wait_for(folder, hand_in(folder, files, zone, name))
    finally:
        inbox.close()
        store.close()


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m collectors", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    gpu = commands.add_parser("gpu", help="print the GPUs' capabilities and one row per GPU and second, as JSON")
    gpu.add_argument("--seconds", type=int, default=5)
    commands.add_parser("identify", help="print who serves at an address, as JSON").add_argument("url")
    imports = commands.add_parser("import", help="make runs of server logs (plain, .gz, .zst) and of Pitwall's bundles")
    imports.add_argument("files", type=Path, nargs="+", metavar="FILE")
    imports.add_argument("--zone", help="of stamps that name none: Europe/Berlin, UTC or +02:00")
    imports.add_argument("--name", help="of the run, instead of one made of engine and model")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

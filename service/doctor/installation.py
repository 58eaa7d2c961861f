"""Checks of this installation: Python, its packages, the limit of open files, the data folder, its disk and store."""

from __future__ import annotations

import os
import re
import resource
import shutil
import stat
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from domain import utc_now
from machine.ports import describe_busy_port, is_port_free
from machine.private_files import write_private
from service.doctor.diagnosis import Diagnosis, note, problem, well
from settings import VERSION, Settings
from storage.claim import is_store_claimed
from storage.published import PublishedStore
from storage.published_query import QUERY_FAILURES, published_query
from storage.queries.run_queries import state_counts

OLDEST_PYTHON = (3, 11)
LEAST_OPEN_FILES = 1024
LEAST_FREE_BYTES = 5 << 30
FUTURE_S = 60.0
PIN = re.compile(r"([A-Za-z0-9_.-]+)==(\S+)")
SECRET_NAMES = ("signing.key", "tokens.json", "peers.json", "notify.json", "lake.toml", "sign-in.toml", "api.token")


def check_python(requirements: Path) -> Iterator[Diagnosis]:
    """Compare the interpreter and the installed packages with what Pitwall needs."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < OLDEST_PYTHON:
        yield problem("python", f"Python {version} is too old.", "Install Python 3.11 or newer, then `make install`.")
    else:
        yield well("python", f"Pitwall {VERSION} on Python {version}, {sys.platform}.")
    wrong = list(_wrong_packages(requirements))
    if wrong:
        yield problem("packages", f"{len(wrong)} packages differ: {'; '.join(wrong)}.", "Run `make install`.")
    else:
        yield well("packages", "All packages have the pinned versions.")


def _wrong_packages(requirements: Path) -> Iterator[str]:
    for line in requirements.read_text().splitlines():
        if pin := PIN.match(line):
            name, version = pin.groups()
            try:
                installed = metadata.version(name)
            except metadata.PackageNotFoundError:
                yield f"{name} is missing"
                continue
            if installed != version:
                yield f"{name} is {installed} instead of {version}"


def check_open_files() -> Iterator[Diagnosis]:
    """Check how many files the process may open."""
    _, limit = resource.getrlimit(resource.RLIMIT_NOFILE)  # Pitwall raises its own limit to this
    if limit != resource.RLIM_INFINITY and limit < LEAST_OPEN_FILES:
        advice = "Raise the hard limit: LimitNOFILE of the service, or /etc/security/limits.conf."
        yield problem("open files", f"Only {limit} files may be open at a time.", advice)
    else:
        yield well("open files", f"{limit} files may be open at a time.")


def check_data_folder(settings: Settings) -> Iterator[Diagnosis]:
    """Check that the data folder can be written, is private and has room."""
    folder = settings.data_dir
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    if folder.exists():
        trial = folder / f".doctor-{os.getpid()}"
        try:
            write_private(trial, b"")
            trial.unlink()
            yield well("data folder", f"{folder} can be written.")
        except OSError as error:
            advice = "Choose another folder with PITWALL_DATA, or give it to this user (`chown`)."
            yield problem("data folder", f"{folder} cannot be written: {error.strerror}.", advice)
    elif existing.is_dir() and os.access(existing, os.W_OK):
        yield note("data folder", f"{folder} does not exist yet; Pitwall creates it.")
    else:
        advice = "Choose another folder with PITWALL_DATA."
        yield problem("data folder", f"{folder} does not exist and cannot be created below {existing}.", advice)
    yield from _check_modes(settings)
    usage = shutil.disk_usage(existing)
    text = f"{usage.free / (1 << 30):.1f} GiB of {usage.total / (1 << 30):.0f} GiB are free."
    if usage.free < LEAST_FREE_BYTES:
        advice = "Delete runs on Runs (*Disk*), or move the data folder to a larger disk and set PITWALL_DATA."
        yield problem("disk", text, advice)
    else:
        yield well("disk", text)


def _check_modes(settings: Settings) -> Iterator[Diagnosis]:
    paths = [settings.data_dir / name for name in SECRET_NAMES]
    is_open = [path.name for path in paths if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    if is_open:
        names = ", ".join(is_open)
        yield problem("secrets", f"Other users may read {names}.", f"Run `chmod 600 {names}` in {settings.data_dir}.")


def check_store(settings: Settings) -> Iterator[Diagnosis]:
    """Check that the published file can be read and was not written in the future."""
    is_running = settings.data_dir.exists() and is_store_claimed(settings)
    state = "A Pitwall is running on this data folder." if is_running else "No Pitwall is running on this data folder."
    yield note("pitwall", state)
    path = settings.published_path
    if not path.exists():
        yield note("store", "Nothing has been published yet: Pitwall has not run on this data folder.")
        return
    try:
        with published_query(path) as query:
            count = sum(state_counts(PublishedStore(query)).values())
    except QUERY_FAILURES as error:
        advice = "Run `./pitwall check`, and `./pitwall check --repair` if the store does not open."
        yield problem("store", f"The published file cannot be read: {str(error).splitlines()[0]}", advice)
        return
    yield well("store", f"{count:,} runs are published.")
    ahead_s = path.stat().st_mtime - utc_now().timestamp()
    if ahead_s > FUTURE_S:
        text = f"The published file was written {ahead_s:.0f} s in the future: this machine's clock went back."
        yield problem("clock", text, "Set the clock (`timedatectl set-ntp true`); new samples sort before older ones.")


def check_port(settings: Settings) -> Iterator[Diagnosis]:
    """Check that Pitwall can listen on its port, or that it is Pitwall that does."""
    if is_port_free(settings.port, settings.host):
        yield well("port", f"Port {settings.port} is free.")
    elif settings.data_dir.exists() and is_store_claimed(settings):
        yield well("port", f"Port {settings.port} is in use, as it is while Pitwall runs.")
    else:
        advice = "End that process, or choose another port with PITWALL_PORT."
        yield problem("port", describe_busy_port(settings.port), advice)

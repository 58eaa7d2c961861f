"""All checks in their order; one that fails itself is a problem too, and does not end the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from errors import PitwallError
from service.doctor import installation, surroundings
from service.doctor.diagnosis import Diagnosis, Severity, problem
from settings import Settings, SettingsError, load_settings

ROOT = Path(__file__).resolve().parents[2]
Check = Callable[[], Iterator[Diagnosis]]


def examine(root: Path = ROOT) -> list[Diagnosis]:
    """Return every result, masked. Hosts, container runtimes and the lake are contacted, each with a deadline."""
    results = [*_run("python", lambda: installation.check_python(root / "requirements.txt"))]
    results += _run("open files", installation.check_open_files)
    try:
        settings = load_settings()
    except SettingsError as error:
        results.append(problem("settings", str(error), "Correct or unset this variable."))
    else:
        results += _of_settings(settings)
    gpus = _run("gpus", surroundings.check_gpus)
    has_gpus = any(result.severity is Severity.OK for result in gpus)
    results += [*gpus, *_run("containers", lambda: surroundings.check_containers(has_gpus))]
    results += [*_run("libraries", surroundings.check_libraries)]
    results += _run("clock", surroundings.check_clock)
    return [result.masked() for result in results]


def _of_settings(settings: Settings) -> Iterator[Diagnosis]:
    checks: dict[str, Check] = {
        "data folder": lambda: installation.check_data_folder(settings),
        "store": lambda: installation.check_store(settings),
        "port": lambda: installation.check_port(settings),
        "hosts": lambda: surroundings.check_hosts(settings),
        "lake": lambda: surroundings.check_lake(settings),
    }
    for subject, check in checks.items():
        yield from _run(subject, check)


def _run(subject: str, check: Check) -> Sequence[Diagnosis]:
    try:
        return list(check())
    except (OSError, PitwallError) as error:
        return [problem(subject, f"It could not be checked: {error}", "Report this with the output of the command.")]

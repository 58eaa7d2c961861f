"""The gotchas in a bundle: those about a run's failure cause or a flag of its command.

A bundle is not trusted: the gotchas are limited in size, must be about their run, restart at version 1, and are marked
as coming from elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from pydantic import TypeAdapter, ValidationError

from analysis.gotchas import gotchas_about
from domain import Run, utc_now
from notes import Gotcha
from storage.transfer.archive import Archive, ArchiveError

GOTCHAS = TypeAdapter(list[Gotcha])  # gotchas.json
MEMBER = "gotchas.json"
MAX_GOTCHAS = 200  # of one run
MAX_BYTES = 8 << 20
FROM_ELSEWHERE = "operator of another Pitwall"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEXTS = ("cause", "flag", "failure", "workaround", "link")


def member_of(run: Run, gotchas: Iterable[Gotcha], mask: Callable[[str], str]) -> bytes | None:
    """The bundle member with the gotchas about a portable run; None if there are none."""
    masked = [
        gotcha.model_copy(update={name: mask(text) for name in _TEXTS if (text := getattr(gotcha, name))})
        for gotcha in gotchas
    ]
    relevant = gotchas_about(masked, run.config, run.cause)[:MAX_GOTCHAS]
    return GOTCHAS.dump_json(relevant, indent=1) if relevant else None


def gotchas_of(archive: Archive, runs: Sequence[Run]) -> list[Gotcha]:
    """Return the gotchas of these runs without duplicates, ready to be stored. Raises ArchiveError."""
    gotchas_by_id = {gotcha.id: gotcha for run in reversed(runs) for gotcha in reversed(_read_gotchas(archive, run))}
    return list(reversed(gotchas_by_id.values()))


def _read_gotchas(archive: Archive, run: Run) -> list[Gotcha]:
    member = f"runs/{run.id}/{MEMBER}"
    if member not in archive.manifest.members:
        return []
    try:
        gotchas = GOTCHAS.validate_json(archive.read(member, MAX_BYTES))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} {_problem(error)}.") from error
    if len(gotchas) > MAX_GOTCHAS:
        raise ArchiveError(
            f"{archive.name} is refused: {member} contains {len(gotchas):,} gotchas; the limit is {MAX_GOTCHAS}."
        )
    if not all(_ID.fullmatch(gotcha.id) for gotcha in gotchas):
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} has a gotcha with an invalid id.")
    relevant = gotchas_about(gotchas, run.config, run.cause)
    return [_imported(gotcha, run) for gotcha in relevant if not gotcha.is_withdrawn]


def _problem(error: ValidationError) -> str:
    """'has an invalid gotcha at 0.failure: String should have at most 500 characters'."""
    first = error.errors(include_url=False, include_input=False)[0]
    location = ".".join(map(str, first["loc"]))
    return f"{f'has an invalid gotcha at {location}' if location else 'does not contain gotchas'}: {first['msg'][:200]}"


def _imported(gotcha: Gotcha, run: Run) -> Gotcha:
    now = utc_now()
    written_at = min(gotcha.written_at, now) if gotcha.written_at and gotcha.written_at.tzinfo else now
    update = {"version": 1, "written_at": written_at, "role": FROM_ELSEWHERE}
    return gotcha.model_copy(update=update | {"run_id": run.id if gotcha.run_id == run.id else None})

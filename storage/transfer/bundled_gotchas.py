"""The gotchas that a bundle carries beside a run: those about its cause or a flag of its command.

A bundle is not trusted: the gotchas are bounded in size, must be about the run beside them, start with a version 1 of
their own, and are marked as coming from elsewhere.
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
MOST = 200  # of one run
MOST_BYTES = 8 << 20
FROM_ELSEWHERE = "operator of another Pitwall"
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TEXTS = ("cause", "flag", "failure", "workaround", "link")


def member_of(run: Run, found: Iterable[Gotcha], mask: Callable[[str], str]) -> bytes | None:
    """What a bundle says beside a run that is portable already; None where no gotcha is about it."""
    masked = [
        one.model_copy(update={name: mask(said) for name in _TEXTS if (said := getattr(one, name))}) for one in found
    ]
    about = gotchas_about(masked, run.config, run.cause)[:MOST]
    return GOTCHAS.dump_json(about, indent=1) if about else None


def gotchas_of(archive: Archive, runs: Sequence[Run]) -> list[Gotcha]:
    """Those beside these runs, each once, as they are taken in. Raises ArchiveError."""
    given = {one.id: one for run in reversed(runs) for one in reversed(_beside(archive, run))}
    return list(reversed(given.values()))


def _beside(archive: Archive, run: Run) -> list[Gotcha]:
    member = f"runs/{run.id}/{MEMBER}"
    if member not in archive.manifest.members:
        return []
    try:
        found = GOTCHAS.validate_json(archive.read(member, MOST_BYTES))
    except ValidationError as error:
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} {_why(error)}.") from error
    if len(found) > MOST:
        raise ArchiveError(f"{archive.name} is refused: {member} holds {len(found):,} gotchas, where {MOST} may be.")
    if not all(_ID.fullmatch(one.id) for one in found):
        raise ArchiveError(f"{archive.name} is damaged or forged: {member} has a gotcha with no id of ours.")
    about = gotchas_about(found, run.config, run.cause)
    return [_taken(one, run) for one in about if not one.is_withdrawn]


def _why(error: ValidationError) -> str:
    """'has at 0.failure what is no gotcha: String should have at most 500 characters'."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{f'has at {place} what is no gotcha' if place else 'holds no gotchas'}: {first['msg'][:200]}"


def _taken(one: Gotcha, run: Run) -> Gotcha:
    now = utc_now()
    said_at = min(one.written_at, now) if one.written_at and one.written_at.tzinfo else now
    first = {"version": 1, "written_at": said_at, "role": FROM_ELSEWHERE}
    return one.model_copy(update=first | {"run_id": run.id if one.run_id == run.id else None})

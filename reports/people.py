"""What people wrote that belongs to a run: their note with its verdict, and the gotchas about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.gotchas import gotchas_of_failure
from domain import Run
from notes import Gotcha, RunNote
from redaction import mask_text
from storage.ask.note_queries import gotchas, notes
from storage.ask.queries import Asked


@dataclass(frozen=True, slots=True)
class People:
    """What people wrote about one run; texts are masked."""

    note: RunNote
    gotchas: tuple[Gotcha, ...] = ()  # about its failure, or kept at this run


def people_of(store: Asked, runs: Sequence[Run]) -> dict[str, People]:
    """By run id; of a run of which nobody said anything an empty note."""
    said, known = notes(store, [run.id for run in runs]), gotchas(store)
    return {run.id: People(_masked_note(said[run.id]), _of_run(known, run)) for run in runs}


def _of_run(known: Sequence[Gotcha], run: Run) -> tuple[Gotcha, ...]:
    alike = gotchas_of_failure(known, run.config, run.cause) if run.cause else []
    return tuple(_masked_gotcha(one) for one in known if one in alike or one.run_id == run.id)


def _masked_note(note: RunNote) -> RunNote:
    """They were masked when they were stored; a value may have become known as secret since."""
    tags = tuple(map(mask_text, note.tags))
    return note.model_copy(
        update={"text": mask_text(note.text), "impression": mask_text(note.impression), "tags": tags}
    )


def _masked_gotcha(one: Gotcha) -> Gotcha:
    names = ("cause", "flag", "failure", "workaround", "link")
    return one.model_copy(update={name: mask_text(said) for name in names if (said := getattr(one, name))})

"""Text that people wrote about a run: its note with the verdict, and its gotchas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.gotchas import gotchas_of_run
from domain import Run
from notes import Gotcha, RunNote
from redaction import mask_text
from storage.queries.note_queries import gotchas, notes
from storage.queries.run_data import Queryable


@dataclass(frozen=True, slots=True)
class People:
    """Note and gotchas of one run; texts are masked."""

    note: RunNote
    gotchas: tuple[Gotcha, ...] = ()  # about its failure, or attached to this run


def people_of(store: Queryable, runs: Sequence[Run]) -> dict[str, People]:
    """Return by run id the note and gotchas; an empty note if nobody wrote one."""
    notes_by_run, all_gotchas = notes(store, [run.id for run in runs]), gotchas(store)
    return {
        run.id: People(_masked_note(notes_by_run[run.id]), tuple(map(_masked_gotcha, gotchas_of_run(all_gotchas, run))))
        for run in runs
    }


def _masked_note(note: RunNote) -> RunNote:
    """Mask again: a value may have become known as a secret since the note was stored."""
    tags = tuple(map(mask_text, note.tags))
    return note.model_copy(
        update={"text": mask_text(note.text), "impression": mask_text(note.impression), "tags": tags}
    )


def _masked_gotcha(gotcha: Gotcha) -> Gotcha:
    names = ("cause", "flag", "failure", "workaround", "link")
    return gotcha.model_copy(update={name: mask_text(text) for name in names if (text := getattr(gotcha, name))})

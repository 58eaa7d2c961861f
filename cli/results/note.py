"""`./pitwall note RUN`: writes notes about a run from a shell, or prints them.

A note goes through the inbox of the data folder, as files do: a running Pitwall stores it; if none is running, this
command owns the store until the note is stored.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import TYPE_CHECKING, Any

from cli.data.inbox_owner import InboxOwner
from cli.exit_status import CANNOT_READ, DONE, REFUSED

if TYPE_CHECKING:
    from notes import NoteEdit, RunNote
    from settings import Settings

RATINGS = ("agentic_feel", "coding", "language")
MOST_BYTES = (
    1 << 20
)  # read from standard input: more than the longest note, so that a longer one is refused and not cut


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall note` and its flags to the parser."""
    help_text = "write notes about a run: text, tags, a star, a verdict; without options, print them"
    command = commands.add_parser("note", help=help_text, description=help_text)
    command.add_argument("run_id", metavar="RUN", help="a run's id")
    command.add_argument("--text", help="the note in Markdown; '-': from standard input. Earlier versions are kept")
    command.add_argument("--tag", action="append", default=[], metavar="T", help="add a tag; may be repeated")
    command.add_argument("--untag", action="append", default=[], metavar="T", help="remove a tag; may be repeated")
    command.add_argument("--star", action=argparse.BooleanOptionalAction, help="add or remove the star")
    command.add_argument(
        "--verdict", action="append", default=[], type=_rating, metavar="NAME=1..5",
        help=f"{', '.join(RATINGS)}: 1 is poor, 5 is excellent; NAME= removes it",
    )  # fmt: skip
    command.add_argument("--impression", metavar="TEXT", help="the verdict as a sentence")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def _rating(word: str) -> tuple[str, int | None]:
    name, _, rating = word.partition("=")
    if name not in RATINGS or rating not in ("", "1", "2", "3", "4", "5") or "=" not in word:
        raise argparse.ArgumentTypeError(f"{word}: use one of {', '.join(RATINGS)}, then '=' and 1 to 5")
    return name, int(rating) if rating else None


def run(arguments: argparse.Namespace) -> int:
    """Submit the note and wait, or print the notes; raises StoreError if no store can be opened."""
    from pydantic import ValidationError

    from analysis.note_changes import refusal_text
    from notes import NoteEdit
    from settings import load_settings

    settings = load_settings()
    try:
        edit = _edit(arguments)
    except ValidationError as error:
        print(refusal_text(error), file=sys.stderr)
        return CANNOT_READ
    if edit == NoteEdit():
        return _print_note(settings, arguments.run_id, arguments.json)
    return _submit(settings, arguments.run_id, edit, arguments.json)


def _edit(arguments: argparse.Namespace) -> NoteEdit:
    """Return the edit with secrets masked, since the inbox is a file. Raises ValidationError for a text too long."""
    from notes import NoteEdit

    text = _standard_input() if arguments.text == "-" else arguments.text
    fields: dict[str, Any] = {"text": text, "impression": arguments.impression}
    return NoteEdit(
        **{name: None if value is None else _clean_text(value) for name, value in fields.items()},
        tags=tuple(map(_clean_text, arguments.tag)),
        tags_taken_off=tuple(map(_clean_text, arguments.untag)),
        is_starred=arguments.star,
        ratings=dict(arguments.verdict),
    )


def _standard_input() -> str:
    return sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace")


def _clean_text(text: str) -> str:
    """Mask secrets, and replace undecodable bytes of an argument."""
    from redaction import mask_text

    return mask_text(text.encode("utf-8", "replace").decode().strip())


def _submit(settings: Settings, run_id: str, edit: NoteEdit, as_json: bool) -> int:
    from collectors.imports.inbox import NoteJob, inbox_folder, new_job_id, submit_job
    from domain import utc_now

    now = utc_now()
    with InboxOwner(settings) as owner:
        owner.try_to_own()
        job = NoteJob(id=new_job_id(now), run=run_id, said_at=now, by=f"{getpass.getuser()}, in a shell", edit=edit)
        submit_job(inbox_folder(settings.data_dir), job)
        status = owner.wait_for_job(job.id)
    is_done = status.state == "done"
    if as_json:
        print(json.dumps(status.model_dump(mode="json", include={"state", "text", "note"})))
    else:
        print(status.text, file=sys.stdout if is_done else sys.stderr)
    return DONE if is_done else REFUSED


def _print_note(settings: Settings, run_id: str, as_json: bool) -> int:
    from storage.published import PublishedStore
    from storage.published_query import published_query
    from storage.queries.note_queries import notes
    from storage.queries.run_queries import runs_of

    with published_query(settings.published_path) as query:
        store = PublishedStore(query)
        if not runs_of(store, [run_id]):
            print(f"There is no run {run_id} in this data folder.", file=sys.stderr)
            return REFUSED
        note = notes(store, [run_id])[run_id]
    text = "" if note.version else "There are no notes about it."
    fields = {"state": "done", "text": text, "note": note.model_dump(mode="json")}
    print(json.dumps(fields) if as_json else text or as_text(note))
    return DONE


def as_text(note: RunNote) -> str:
    """Return the marks in one line, the verdict, then the note."""
    from analysis.note_changes import rating_labels

    marks = [*["starred"] * note.is_starred, *["archived"] * note.is_archived, *(f"#{tag}" for tag in note.tags)]
    lines = [" ".join(marks), ", ".join(rating_labels(note)), note.impression, note.text]
    return "\n".join(line for line in lines if line) or "Its notes were removed."

"""`./pitwall note RUN`: write a note on a run from a shell, or read its notes.

A note goes through the inbox of the data folder, as files do: a running Pitwall stores it; if none runs, this command
owns the store until the note is stored.
"""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from typing import TYPE_CHECKING, Any

from cli.data.inbox_owner import Owner
from cli.exit_status import CANNOT_READ, DONE, REFUSED

if TYPE_CHECKING:
    from notes import NoteEdit, RunNote
    from settings import Settings

RATINGS = ("agentic_feel", "coding", "language")
MOST_BYTES = 1 << 20  # read of standard input: more than any note has, so that what is too long is refused, not cut


def add_to(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `pitwall note` and its flags to the parser."""
    words = "say something of a run: a note, tags, a star, a verdict; with no option, print what is said of it"
    command = commands.add_parser("note", help=words, description=words)
    command.add_argument("run_id", metavar="RUN", help="a run's id")
    command.add_argument("--text", help="the note, in Markdown; '-': from standard input. Earlier versions are kept")
    command.add_argument("--tag", action="append", default=[], metavar="T", help="put a tag on; may be repeated")
    command.add_argument("--untag", action="append", default=[], metavar="T", help="take a tag off")
    command.add_argument("--star", action=argparse.BooleanOptionalAction, help="put the star on, or take it off")
    command.add_argument(
        "--verdict", action="append", default=[], type=_rating, metavar="NAME=1..5",
        help=f"{', '.join(RATINGS)}: 1 is poor, 5 is excellent; NAME= takes it back",
    )  # fmt: skip
    command.add_argument("--impression", metavar="TEXT", help="the verdict in a sentence")
    command.add_argument("--json", action="store_true", help="print one JSON object")
    command.set_defaults(run=run)


def _rating(word: str) -> tuple[str, int | None]:
    name, _, given = word.partition("=")
    if name not in RATINGS or given not in ("", "1", "2", "3", "4", "5") or "=" not in word:
        raise argparse.ArgumentTypeError(f"{word}: say one of {', '.join(RATINGS)}, '=' and 1 to 5")
    return name, int(given) if given else None


def run(arguments: argparse.Namespace) -> int:
    """Hand it in and wait; raises StoreError where no store can be opened."""
    from pydantic import ValidationError

    from analysis.note_changes import refusal
    from notes import NoteEdit
    from settings import load_settings

    settings = load_settings()
    try:
        edit = _edit(arguments)
    except ValidationError as error:
        print(refusal(error), file=sys.stderr)
        return CANNOT_READ
    if edit == NoteEdit():
        return _print_known(settings, arguments.run_id, arguments.json)
    return _hand_in(settings, arguments.run_id, edit, arguments.json)


def _edit(arguments: argparse.Namespace) -> NoteEdit:
    """What is asked for, without secrets: the inbox is a file. Raises ValidationError for what is too long."""
    from notes import NoteEdit

    text = _standard_input() if arguments.text == "-" else arguments.text
    fields: dict[str, Any] = {"text": text, "impression": arguments.impression}
    return NoteEdit(
        **{name: None if said is None else _kept(said) for name, said in fields.items()},
        tags=tuple(map(_kept, arguments.tag)),
        tags_taken_off=tuple(map(_kept, arguments.untag)),
        is_starred=arguments.star,
        ratings=dict(arguments.verdict),
    )


def _standard_input() -> str:
    return sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace")


def _kept(said: str) -> str:
    """Without secrets, and without bytes of an argument that are no text."""
    from redaction import mask_text

    return mask_text(said.encode("utf-8", "replace").decode().strip())


def _hand_in(settings: Settings, run_id: str, edit: NoteEdit, as_json: bool) -> int:
    from collectors.imports.inbox import NoteJob, drop, inbox_folder, new_job_id
    from domain import utc_now

    now = utc_now()
    with Owner(settings) as owner:
        owner.try_to_own()
        job = NoteJob(id=new_job_id(now), run=run_id, said_at=now, by=f"{getpass.getuser()}, in a shell", edit=edit)
        drop(inbox_folder(settings.data_dir), job)
        status = owner.outcome_of(job.id)
    is_done = status.state == "done"
    if as_json:
        print(json.dumps(status.model_dump(mode="json", include={"state", "text", "note"})))
    else:
        print(status.text, file=sys.stdout if is_done else sys.stderr)
    return DONE if is_done else REFUSED


def _print_known(settings: Settings, run_id: str, as_json: bool) -> int:
    from storage.ask.note_queries import notes
    from storage.ask.run_queries import runs_of
    from storage.published import Published
    from storage.published_query import published_query

    with published_query(settings.published_path) as query:
        asked = Published(query)
        if not runs_of(asked, [run_id]):
            print(f"There is no run {run_id} in this data folder.", file=sys.stderr)
            return REFUSED
        note = notes(asked, [run_id])[run_id]
    text = "" if note.version else "Nothing is said of it."
    said = {"state": "done", "text": text, "note": note.model_dump(mode="json")}
    print(json.dumps(said) if as_json else text or as_text(note))
    return DONE


def as_text(note: RunNote) -> str:
    """The marks in one line, the verdict's sentence, then the note."""
    from analysis.note_changes import rated

    marks = [*["starred"] * note.is_starred, *["archived"] * note.is_archived, *(f"#{tag}" for tag in note.tags)]
    lines = [" ".join(marks), ", ".join(rated(note)), note.impression, note.text]
    return "\n".join(line for line in lines if line) or "Nothing is said of it any more."

"""From a text with speeds that no reader takes to the note that lists them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from collectors.imports.results.unread_lines import unread_note
from storage.queries.run_data import load_events
from storage.store import Store

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
READ = "Decode: 95.9 tok/s\n"


def notes_of(store: Store, text: str, tmp_path: Path, name: str = "post.md") -> list[str]:
    """The notes on the loads of a text that was imported."""
    path = tmp_path / name
    path.write_text(text)
    run_id = (
        ResultImporter(store, lambda: NOW).import_results(path, ImportOptions(path.name), lambda share: None).run_ids[0]
    )
    (event,) = load_events(store, run_id)
    return [note for note in event.notes if note.startswith("Not read")]


@pytest.mark.parametrize(
    ("line", "passage"),
    [
        ("I expected about 71.7 tok/s here.", "I expected about 71.7 tok/s"),
        ("If it ran at 71.5 tok/s and 1,234.5 ms, it would do.", "If it ran at 71.5 tok/s and 1,234.5 ms"),
        ("x" * 70 + " and I expected some 71.7 tok/s", "and I expected some 71.7 tok/s"),
    ],
)
def test_speeds_and_times_that_are_not_read_are_listed(store: Store, tmp_path: Path, line: str, passage: str) -> None:
    (note,) = notes_of(store, READ + line, tmp_path)
    assert note == f"Not read: “{passage}”."


@pytest.mark.parametrize(
    "line",
    [
        "Decode: 95.9 tok/s",
        "TTFT: 1.25 s",  # stored as 1250 ms
        "Time to first token: 1,250 ms",
        "The server has four RTX 3090s and a Radeon 8060S.",
        "TTFT changed by +1.36s",
        "prompt eval time = 1327.07 ms / 39 tokens ( 34.03 ms per token, 29.39 tokens per second)",
        "It ran for 0 s",
        "It costs 12 s/$",
    ],
)
def test_what_was_read_and_what_is_no_measurement_is_not_listed(store: Store, tmp_path: Path, line: str) -> None:
    assert notes_of(store, f"{READ}TTFT: 1250 ms\n{line}", tmp_path) == []


def test_only_the_first_passages_are_listed(store: Store, tmp_path: Path) -> None:
    lines = "\n".join(f"I expected about {number}.7 tok/s here." for number in range(11, 31))
    (note,) = notes_of(store, READ + lines, tmp_path)
    assert note.count("“") == 8
    assert note.endswith("; and 12 more.")


def test_secrets_in_the_passages_are_masked() -> None:
    note = unread_note(f"started with --api-key 0123456789 {'x ' * 25} at 33.5 tok/s", [])
    assert note is not None
    assert "0123456789" not in note
    assert "33.5 tok/s" in note

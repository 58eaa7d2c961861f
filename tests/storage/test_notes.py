"""Notes on runs: stored in versions, masked, searched, published, and carried in bundles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from domain import Config, Run, RunState
from notes import RunNote
from redaction import mask_text
from settings import Settings
from storage.published_query import published_query
from storage.queries.note_queries import note_versions, notes
from storage.queries.run_queries import RunFilter, find_runs, run_choices
from storage.store import Store
from storage.transfer.archive import ArchiveError, write_archive
from storage.transfer.bundle import NOTES, export_runs, portable
from storage.transfer.bundle_import import import_bundle

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECRET = "hf_abcdefghijklmnopqrstuvwx"


def seed(store: Store, run_id: str, **fields: Any) -> Run:
    given_fields: dict[str, Any] = {"state": RunState.FINISHED, "started_at": NOW, "ended_at": NOW} | fields
    run = Run(
        id=run_id, name=run_id, color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW, **given_fields
    )
    store.save_run(run)
    return run


def say(**fields: Any) -> Callable[[RunNote], RunNote]:
    return lambda note: note.model_copy(update=fields)


def test_changes_are_versions_and_newest_is_shown(store: Store) -> None:
    seed(store, "r1")
    store.notes.change(["r1"], "operator", say(text="first", tags=("fp8",)))
    store.notes.change(["r1"], "operator", say(is_starred=True, coding=4))
    note = notes(store, ["r1"])["r1"]
    assert (note.version, note.text, note.tags, note.is_starred, note.coding) == (2, "first", ("fp8",), True, 4)
    assert note.written_at is not None and note.role == "operator"
    assert [(note_version.version, note_version.is_starred) for note_version in note_versions(store, ["r1"])] == [
        (1, False),
        (2, True),
    ]
    assert store.query("SELECT version, language FROM run_notes").to_pylist() == [{"version": 2, "language": None}]


def test_what_says_the_same_is_no_version(store: Store) -> None:
    seed(store, "r1")
    assert len(store.notes.change(["r1"], "operator", say(text="x"))) == 1
    assert store.notes.change(["r1"], "operator", say(text="x")) == []


def test_two_who_write_at_once_both_stay(store: Store) -> None:
    """Without the lock the second would be written over what the first did not know of."""
    seed(store, "r1")
    edits = [say(text="words"), say(is_starred=True), say(coding=5), say(tags=("a",)), say(impression="good")]
    threads = [threading.Thread(target=store.notes.change, args=(["r1"], "operator", edit)) for edit in edits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    note = notes(store, ["r1"])["r1"]
    assert (note.text, note.is_starred, note.coding, note.tags, note.impression) == ("words", True, 5, ("a",), "good")
    assert [note_version.version for note_version in note_versions(store, ["r1"])] == [1, 2, 3, 4, 5]


def test_a_secret_in_a_note_is_not_stored(store: Store) -> None:
    seed(store, "r1")
    store.notes.change(["r1"], "operator", say(text=f"ran with HF_TOKEN={SECRET}", impression=SECRET, tags=(SECRET,)))
    assert SECRET not in str(store.query("FROM raw.run_notes").to_pylist())
    assert notes(store, ["r1"])["r1"].text == "ran with HF_TOKEN=<secret>"


@pytest.mark.parametrize("fields", [{"coding": 6}, {"coding": 0}, {"tags": ("x" * 41,)}, {"text": "x" * 20_001}])
def test_out_of_limit_values_change_nothing(store: Store, fields: dict[str, Any]) -> None:
    seed(store, "r1")
    with pytest.raises(ValidationError):
        store.notes.change(["r1"], "operator", say(**fields))
    assert notes(store, ["r1"])["r1"].version == 0


def ids_of_filter(store: Store, **texts: tuple[str, ...]) -> list[str]:
    return sorted(run.id for run in find_runs(store, RunFilter(**texts), 10))


def test_runs_are_found_by_what_was_said(store: Store) -> None:
    for run_id in ("r1", "r2", "r3"):
        seed(store, run_id, cause="CUDA out of memory" if run_id == "r2" else None)
    store.notes.change(["r1", "r3"], "operator", say(tags=("fp8", "night"), is_starred=True))
    store.notes.change(["r3"], "operator", say(is_archived=True, text="The Warm one"))
    assert ids_of_filter(store) == ["r1", "r2"], "archived runs are hidden unless asked for"
    assert ids_of_filter(store, marks=("archived",)) == ["r3"]
    assert ids_of_filter(store, marks=("starred",)) == ["r1"]
    assert ids_of_filter(store, marks=("starred", "archived")) == ["r3"]
    assert ids_of_filter(store, tags=("fp8", "night")) == ["r1"] and ids_of_filter(store, tags=("fp8", "day")) == []
    assert ids_of_filter(store, words=("warm",), marks=("archived",)) == ["r3"]
    assert ids_of_filter(store, words=("cuda",)) == ["r2"] and ids_of_filter(store, words=("night",)) == ["r1"]
    assert run_choices(store).tags == ("fp8", "night")


def test_others_read_it_in_the_published_file(store: Store, settings: Settings) -> None:
    seed(store, "r1")
    store.notes.change(["r1"], "operator", say(text="x"))
    store.publish()
    with published_query(settings.published_path) as query:
        assert query("SELECT text FROM run_notes JOIN runs USING (run_id)").to_pylist() == [{"text": "x"}]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path / "elsewhere")


def test_a_bundle_carries_every_version(store: Store, elsewhere: Settings, tmp_path: Path) -> None:
    seed(store, "r1")
    store.notes.change(["r1"], "operator", say(text="first", tags=("a",)))
    store.notes.change(["r1"], "operator", say(language=3))
    export_runs(store.query, ["r1"], tmp_path / "a.zip", NOW, mask_text)
    file = Store.open(elsewhere)
    import_bundle(file, elsewhere, tmp_path / "a.zip")
    assert note_versions(file, ["r1"]) == note_versions(store, ["r1"])
    file.close()


@pytest.mark.parametrize("update", [{"run_id": "r2"}, {"version": 7}])
def test_notes_of_another_run_are_refused(store: Store, elsewhere: Settings, tmp_path: Path, update: Any) -> None:
    run = seed(store, "r1")
    store.notes.change(["r1"], "operator", say(text="x"))
    forged = [note.model_copy(update=update) for note in note_versions(store, ["r1"])]
    with write_archive(tmp_path / "a.zip", "bundle", 1, NOW, ["r1"]) as archive:
        archive.add("runs/r1/run.json", portable(run, mask_text).model_dump_json().encode())
        archive.add("runs/r1/notes.json", NOTES.dump_json(forged))
    file = Store.open(elsewhere)
    with pytest.raises(ArchiveError, match="forged"):
        import_bundle(file, elsewhere, tmp_path / "a.zip")
    assert file.runs() == []
    file.close()

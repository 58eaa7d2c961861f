"""Gotchas in bundles: those about the run go with it and merge without doubles; what a stranger writes is bounded."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run, RunState, utc_now
from notes import Gotcha
from redaction import mask_text
from settings import Settings
from storage.queries.note_queries import gotchas
from storage.store import Store
from storage.transfer.archive import ArchiveError, write_archive
from storage.transfer.bundle import export_runs, portable
from storage.transfer.bundle_import import import_bundle
from storage.transfer.bundled_gotchas import FROM_ELSEWHERE, MAX_BYTES, MAX_GOTCHAS

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
CAUSE = "The KV cache has room for 4,000 tokens"
SECRET = "hf_abcdefghijklmnopqrstuvwx"
SAID: dict[str, Any] = {"engine": "vllm", "failure": "It does not fit", "workaround": "Set **--max-model-len**"}


def seed(store: Store, run_id: str, **fields: Any) -> Run:
    config = Config(engine="vllm", argv=("vllm", "serve", "m", "--enforce-eager"))
    given_fields: dict[str, Any] = {"state": RunState.FAILED, "cause": CAUSE, "ended_at": NOW} | fields
    run = Run(id=run_id, name=run_id, color=0, config=config, machine_id="m", created_at=NOW, **given_fields)
    store.save_run(run)
    return run


def keep(store: Store, name: str, **fields: Any) -> Gotcha:
    return store.gotchas.save(Gotcha(id=name, **(SAID | fields)), "operator")


@pytest.fixture
def receiving_store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "elsewhere"))
    yield opened
    opened.close()


def take(receiving_store: Store, path: Path) -> str:
    return import_bundle(receiving_store, Settings(data_dir=path.parent / "elsewhere"), path).text


def exported(store: Store, path: Path, *run_ids: str) -> Path:
    export_runs(store.query, run_ids, path, NOW, mask_text)
    return path


def test_bundle_has_only_the_runs_own_gotchas(store: Store, receiving_store: Store, tmp_path: Path) -> None:
    seed(store, "r1")
    keep(store, "cause", cause=CAUSE.replace("4,000", "9,999"), run_id="r1", link="https://example.test/a")
    keep(store, "flag", flag="--enforce-eager", workaround=f"HF_TOKEN={SECRET}", run_id="r7")
    keep(store, "other", cause="The port is taken")
    keep(store, "engine", engine="sglang", flag="--enforce-eager")
    keep(store, "gone", cause=CAUSE)
    keep(store, "gone", cause=CAUSE, is_withdrawn=True)
    keep(store, "flag", flag="--enforce-eager", failure="Slower")  # a second version of it
    text = take(receiving_store, exported(store, tmp_path / "a.zip", "r1"))
    assert text.endswith("imported r1 (r1), with 2 gotchas.")
    gotchas_by_id = {gotcha.id: gotcha for gotcha in gotchas(receiving_store)}
    assert gotchas_by_id.keys() == {"cause", "flag"}
    assert [(value.version, value.role) for value in gotchas_by_id.values()] == [(1, FROM_ELSEWHERE)] * 2
    assert (gotchas_by_id["cause"].run_id, gotchas_by_id["flag"].run_id, gotchas_by_id["flag"].failure) == (
        "r1",
        None,
        "Slower",
    )
    assert gotchas_by_id["cause"].link == "https://example.test/a"
    assert SECRET not in str(receiving_store.query("FROM raw.gotchas").to_pylist())


def test_what_is_known_here_is_left_as_it_is(store: Store, receiving_store: Store, tmp_path: Path) -> None:
    """By its id, though it was changed or withdrawn here, and by what it says."""
    for run_id in ("r1", "r2", "r3"):
        seed(store, run_id)
    for name in ("changed", "withdrawn", "twin"):
        keep(store, name, cause=CAUSE, failure=f"It fails: {name}")
    take(receiving_store, exported(store, tmp_path / "a.zip", "r1"))
    keep(receiving_store, "changed", cause=CAUSE, failure="changed here")
    keep(receiving_store, "withdrawn", cause=CAUSE, is_withdrawn=True)
    keep(store, "again", cause=CAUSE.replace("4,000", "1"), failure="It fails: twin")
    text = take(receiving_store, exported(store, tmp_path / "b.zip", "r2", "r3"))
    assert text.endswith("imported r2 (r2), r3 (r3).")
    assert {gotcha.id: gotcha.failure for gotcha in gotchas(receiving_store)} == {
        "changed": "changed here",
        "twin": "It fails: twin",
    }


def forged(store: Store, path: Path, content: bytes) -> Path:
    run = seed(store, "r1")
    with write_archive(path, "bundle", 1, NOW, ["r1"]) as archive:
        archive.add("runs/r1/run.json", portable(run, mask_text).model_dump_json().encode())
        archive.add("runs/r1/gotchas.json", content)
    return path


def gotcha_row(**fields: Any) -> dict[str, Any]:
    return SAID | {"id": "g", "cause": CAUSE} | fields


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\xff\xfe", "does not contain gotchas"),
        (b'{"id": "g"}', "does not contain gotchas: Input should be a valid (list|array)"),
        ([gotcha_row(failure="x" * 501)], "has an invalid gotcha at 0.failure: String should have at most 500"),
        ([gotcha_row(), gotcha_row(workaround=7)], "has an invalid gotcha at 1.workaround"),
        ([gotcha_row(evil=1)], "has an invalid gotcha at 0.evil"),
        ([gotcha_row(link="javascript:alert(1)")], "has an invalid gotcha at 0.link"),
        ([gotcha_row(id="../../x")], "has a gotcha with an invalid id"),
        ([gotcha_row(id=f"g{n}") for n in range(MAX_GOTCHAS + 1)], f"contains 201 gotchas; the limit is {MAX_GOTCHAS}"),
        (b" " * (MAX_BYTES + 1), "is too large"),
        (b'[{"id": "g", "failure": "\\ud800"}]', "does not contain gotchas"),
    ],
)
def test_invalid_gotcha_is_refused_in_a_sentence(
    content: Any, told: str, store: Store, receiving_store: Store, tmp_path: Path
) -> None:
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    with pytest.raises(ArchiveError, match=told) as refused:
        take(receiving_store, forged(store, tmp_path / "a.zip", data))
    assert len(str(refused.value)) < 400 and "\n" not in str(refused.value)
    assert receiving_store.runs() == [] and gotchas(receiving_store) == []


def test_what_a_stranger_states_is_not_believed(store: Store, receiving_store: Store, tmp_path: Path) -> None:
    """Not its version, its role, its run, its time to come, nor that it is about something else than the run."""
    strange = {
        "version": 2**31 - 1, "role": "operator", "run_id": "x" * 10_000, "written_at": "9999-12-31T23:59:59+14:00",
    }  # fmt: skip
    fields = [
        gotcha_row(**strange),
        gotcha_row(id="h", cause="The port is taken"),
        gotcha_row(id="i", failure="\0", is_withdrawn=True),
    ]
    assert "with 1 gotcha." in take(receiving_store, forged(store, tmp_path / "a.zip", json.dumps(fields).encode()))
    [gotcha] = gotchas(receiving_store)
    assert (gotcha.id, gotcha.version, gotcha.role, gotcha.run_id) == ("g", 1, FROM_ELSEWHERE, None)
    assert gotcha.written_at and gotcha.written_at <= utc_now() + timedelta(seconds=1)
    assert keep(receiving_store, "g", cause=CAUSE).version == 2


def test_a_bundle_of_before_has_none(store: Store, receiving_store: Store, tmp_path: Path) -> None:
    seed(store, "r1")
    path = exported(store, tmp_path / "a.zip", "r1")
    with zipfile.ZipFile(path) as file:
        assert "runs/r1/gotchas.json" not in file.namelist()
    assert take(receiving_store, path).endswith("imported r1 (r1).")

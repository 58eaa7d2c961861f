"""A store that the first schema's Pitwall wrote opens and shows the same numbers.

tests/fixtures/store_0160 holds the demo's nine starts, runs of constant speed and imports of other tools' results, with
the numbers that the Pitwall which wrote the store showed; speeds of its loads and of one request alone are by the
definitions of docs/metrics.md, which are younger. That rows about requests are unknown without any is younger as well.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.printed_speed import PrintedSpeed
from reports.runs.run_line import compute_lines
from settings import Settings
from storage.store import Store
from web.access.shares import ShareBook
from web.access.signing_key import load_secret

ROOT = Path(__file__).resolve().parents[3]
FIXTURE = ROOT / "tests" / "fixtures" / "store_0160"
YOUNGER_NUMBERS = {"floor_tps", "output_concurrency", "peak_tps", "looping_ratio"}  # the list of runs had none
EXPECTED: dict[str, Any] = json.loads((FIXTURE / "expected.json").read_text())


@pytest.fixture(scope="module")
def stored_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("store_0160")
    with tarfile.open(FIXTURE / "store.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return Settings(data_dir=folder / "data")


@pytest.fixture(scope="module")
def old_store(stored_settings: Settings) -> Iterator[Store]:
    store = Store.open(stored_settings)
    yield store
    store.close()


def test_every_row_is_there(old_store: Store) -> None:
    counts = {view: old_store.query(f"SELECT count(*) AS n FROM {view}")["n"][0].as_py() for view in EXPECTED["rows"]}
    assert counts == EXPECTED["rows"]


def test_run_lines_have_the_same_numbers(old_store: Store) -> None:
    lines = compute_lines(old_store, old_store.runs(limit=1000))
    assert lines.keys() == EXPECTED["lines"].keys() and len(lines) > 40
    for run_id, expected in EXPECTED["lines"].items():
        line = lines[run_id]
        assert (line.reason and line.reason.code) == expected.pop("reason"), run_id
        definition, tps, lines_printed = (expected.pop(f"printed_{name}") for name in ("definition", "tps", "lines"))
        assert line.printed == (PrintedSpeed(definition, tps, lines_printed) if definition else None), run_id
        numbers = {name: value for name, value in expected.items() if value is not None}
        assert {name: line[name] for name in numbers} == pytest.approx(numbers), run_id
        assert line.numbers.keys() - numbers.keys() <= YOUNGER_NUMBERS, run_id


@pytest.mark.publishes
def test_compare_gives_the_same_answers(stored_settings: Settings, old_store: Store) -> None:
    old_store.publish()
    assert len(EXPECTED["compare"]) > 1
    for expected in EXPECTED["compare"]:
        answer = compare(stored_settings, expected["runs"])
        assert [{name: arm[name] for name in ("name", "key", "runs")} for arm in answer["arms"]] == expected["arms"]
        for pair, expected_answer in zip(answer["answers"], expected["answers"], strict=True):
            # The row about answers is newer than that store.
            rows = [[row["code"], row["standing"]] for row in pair["guard"] if row["code"] != "quality"]
            assert rows == expected_answer["guard"]
            assert (pair["other"], pair["answer"]) == (expected_answer["other"], expected_answer["answer"])
            assert pair["ratio"] == pytest.approx(expected_answer["ratio"])
            assert pair["interval"] == pytest.approx(expected_answer["interval"])
            assert pair["values"] == {side: pytest.approx(values) for side, values in expected_answer["values"].items()}


def compare(settings: Settings, run_ids: Sequence[str]) -> dict[str, Any]:
    argv = [sys.executable, str(ROOT / "pitwall"), "compare", *run_ids, "--json"]
    env = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    answer: dict[str, Any] = json.loads(subprocess.run(argv, env=env, capture_output=True, check=True).stdout)
    return answer


def test_a_share_link_opens(stored_settings: Settings, old_store: Store) -> None:
    book = ShareBook(load_secret(stored_settings.data_dir / "signing.key"), "http://pitwall")
    book.load(old_store)
    share = book.read_token(EXPECTED["share"]["token"])
    assert share and list(share.run_ids) == EXPECTED["share"]["run_ids"]

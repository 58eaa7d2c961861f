"""Files of lm-eval and BFCL about servers whose score is known, and about a server that was down."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from analysis.loads.accuracy import wilson
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder
from load_records import Accuracy, AccuracyItem
from tests.collectors.imports.captured import accuracies_of, captured, items_of, load_of


def of_task(load: LoadBuilder, task: str) -> tuple[Accuracy, list[AccuracyItem]]:
    (actual_row,) = [row for row in accuracies_of(load) if row.task == task]
    return actual_row, [row for row in items_of(load) if row.task == task]


@pytest.mark.parametrize(("task", "right"), [("pit_sums", 16), ("pit_choice", 5)])
def test_lm_eval_counts_the_right_ones(task: str, right: int) -> None:
    load = load_of(captured("lm-eval/oracle-chat"))
    told, items = of_task(load, task)
    assert (told.correct, told.n, told.value, told.reason) == (right, 20, right / 20, None)
    assert (told.low, told.high) == wilson(right, 20)
    assert sum(item.score or 0 for item in items) == right and len(items) == 20
    assert len({item.item_hash for item in items}) == 20 and not any(item.is_error for item in items)
    assert (load.tool_version, load.model, told.version) == ("0.4.13", "oracle", "1.0") and told.protocol_hash


def test_lm_eval_without_items_counts_by_share() -> None:
    (path,) = captured("lm-eval/oracle-chat").glob("results_*.json")
    load = load_of(path)
    told, items = of_task(load, "pit_sums")
    assert (told.correct, told.n) == (16, 20) and not items
    raw = json.loads(path.read_text())["results"]["pit_sums"]["exact_match_stderr,number"]
    assert told.stderr == raw


def test_lm_eval_items_alone_lack_a_protocol() -> None:
    (path,) = captured("lm-eval/oracle-chat").glob("samples_pit_sums_*.jsonl")
    told, items = of_task(load_of(path), "pit_sums")
    assert (told.correct, told.n, told.protocol_hash) == (16, 20, None)
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    assert [item.score for item in items] == [line["exact_match"] for line in raw]
    assert [item.answer for item in items] == [line["filtered_resps"][0] for line in raw]


def test_protocol_hash_ignores_the_model() -> None:
    oracle = {a.task: a.protocol_hash for a in accuracies_of(load_of(captured("lm-eval/oracle-chat")))}
    chat = {a.task: a.protocol_hash for a in accuracies_of(load_of(captured("lm-eval/llamacpp-chat")))}
    plain = {a.task: a.protocol_hash for a in accuracies_of(load_of(captured("lm-eval/llamacpp-completions")))}
    assert oracle == chat and not set(oracle.values()) & set(plain.values())


def test_two_runs_pair_by_their_items() -> None:
    first = {i.item_hash: i.score for i in of_task(load_of(captured("lm-eval/oracle-chat")), "pit_sums")[1]}
    second = {i.item_hash: i.score for i in of_task(load_of(captured("lm-eval/llamacpp-chat")), "pit_sums")[1]}
    assert first.keys() == second.keys()
    assert sum(first[key] == 1 and second[key] == 0 for key in first) == 16


@pytest.mark.parametrize(
    ("category", "right", "total"), [("simple_python", 4, 12), ("multiple", 1, 6), ("irrelevance", 0, 6)]
)
def test_bfcl_counts_the_right_ones(category: str, right: int, total: int) -> None:
    load = load_of(captured("bfcl/oracle"))
    told, items = of_task(load, category)
    assert (told.correct, told.n, told.value) == (right, total, pytest.approx(right / total)) and told.reason is None
    assert sum(item.score or 0 for item in items) == right and len(items) == total
    assert load.model == "openbmb_MiniCPM-SALA-FC"


SCORE = "score/demo-plain/non_live/BFCL_v4_simple_python_score.json"


@pytest.mark.parametrize("name", ["bfcl/server-down", f"bfcl/server-down/{SCORE}"])
def test_bfcl_s_hidden_failures_are_errors(name: str) -> None:
    """The tool ended well and said 0.0: nothing was asked of a model."""
    told, items = of_task(load_of(captured(name)), "simple_python")
    assert (told.n, told.value, told.correct) == (0, None, None)
    assert told.reason == "items_without_answer errors=4 items=4"
    assert [item.is_error for item in items] == [True] * 4 and {item.score for item in items} == {None}
    assert all("Connection error" in str(item.why) for item in items)


def test_bfcl_results_that_were_not_scored_say_so() -> None:
    path = captured("bfcl/server-down/result/demo-plain/non_live/BFCL_v4_simple_python_result.json")
    told, items = of_task(load_of(path), "simple_python")
    assert told.value is None and told.reason == "not_scored_yet items=4 errors=4" and len(items) == 4


def test_bfcl_partial_category_is_other_protocol(tmp_path: Path) -> None:
    folder = tmp_path / "part"
    shutil.copytree(captured("bfcl/oracle"), folder)
    ids = {"simple_python": [f"simple_python_{n}" for n in range(8)]}
    (folder / "test_case_ids_to_generate.json").write_text(json.dumps(ids))
    whole, part = load_of(captured("bfcl/oracle")), load_of(folder)
    hashes = [{row.task: row.protocol_hash for row in load.rows if isinstance(row, Accuracy)} for load in (whole, part)]
    assert {task for task in hashes[0] if hashes[0][task] != hashes[1][task]} == {"simple_python"}
    assert (part.params, whole.params) == ({"cases": {"simple_python": 8}}, {})
    alone = tmp_path / "none"
    alone.mkdir()
    shutil.copy(folder / "test_case_ids_to_generate.json", alone)
    with pytest.raises(ImportRefusedError, match="has no answers of BFCL"):
        load_of(alone)


def test_bfcl_a_wrong_answer_is_no_error() -> None:
    told, items = of_task(load_of(captured("bfcl/llamacpp-own-name")), "simple_python")
    assert (told.correct, told.n, told.value) == (0, 2, 0.0)
    assert [item.is_error for item in items] == [False, False] and {item.score for item in items} == {0.0}

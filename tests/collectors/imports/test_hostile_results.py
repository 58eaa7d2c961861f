"""Files that are cut, wrong, huge or made to hurt: each gets one sentence, or what can be told of it, and no more."""

from __future__ import annotations

import copy
import json
import os
import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results import source
from collectors.imports.results.folder import open_folder
from machine.regular_file import NotRegularError
from storage.rows import tables_of
from tests.collectors.imports.captured import captured, load_of, loads_of, requests_of, results_of, ticket_of, value

pytestmark = pytest.mark.wide
WHOLE_JSON = (
    "llama-benchy/result.json", "vllm_bench/result-detailed.json", "sglang_bench/result.jsonl",
    "guidellm/benchmarks.json", "aiperf/run/profile_export_aiperf.json",
    "lm-eval/oracle-chat/results_2026-11-22T02-22-51.932066.json",
    "evalscope/standin/parallel_1_number_4/benchmark_summary.json",
    "evalscope/standin/parallel_1_number_4/benchmark_percentile.json",
    "vllm_bench/speculation.json", "inferencex/serving.json", "llama-bench/result.json", "llmperf/summary.json",
)  # fmt: skip
LINES = (
    "llama-benchy/progress.jsonl", "aiperf/run/profile_export.jsonl",
    "lm-eval/oracle-chat/samples_pit_sums_2026-11-22T02-22-51.932066.jsonl",
    "bfcl/oracle/score/openbmb_MiniCPM-SALA-FC/non_live/BFCL_v4_simple_python_score.json",
    "bfcl/oracle/result/openbmb_MiniCPM-SALA-FC/non_live/BFCL_v4_simple_python_result.json",
)  # fmt: skip
PRINTED = (
    "sglang_bench/printed.txt", "trtllm_bench/printed.txt", "mlperf/summary.txt", "llama-bench/batched.txt",
    "llama-bench/sweep.txt", "llama-bench/result.csv", "llama-benchy/printed.log",
)  # fmt: skip
TABLES = ("llama-benchy/result.csv", "guidellm/benchmarks.csv", "aiperf/run/profile_export_aiperf.csv")


def write_file(tmp_path: Path, name: str, data: bytes | str) -> Path:
    path = tmp_path / Path(name).name
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return path


# --- cut files --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", [0.5, 0.9, 0.999])
@pytest.mark.parametrize("name", WHOLE_JSON)
def test_cut_json_is_refused_with_its_line(tmp_path: Path, name: str, share: float) -> None:
    data = captured(name).read_bytes().rstrip()
    path = write_file(tmp_path, name, data[: int(share * len(data))])
    with pytest.raises(ImportRefusedError, match=rf"^{path.name}, line \d+: .*(cut off|not JSON)"):
        loads_of(path)


@pytest.mark.parametrize("name", LINES)
def test_cut_lines_are_refused_with_their_number(tmp_path: Path, name: str) -> None:
    lines = captured(name).read_bytes().splitlines(keepends=True)
    path = write_file(tmp_path, name, b"".join(lines[:3]) + lines[3][: len(lines[3]) // 2])
    with pytest.raises(ImportRefusedError, match=rf"^{path.name}, line 4: it is cut off here"):
        loads_of(path)


@pytest.mark.parametrize("name", TABLES)
def test_cut_tables_are_refused_with_their_line(tmp_path: Path, name: str) -> None:
    data = captured(name).read_bytes()
    path = write_file(tmp_path, name, data[: int(0.8 * len(data))])
    with pytest.raises(ImportRefusedError, match=rf"^{path.name}, line \d+: "):
        loads_of(path)


def test_a_score_file_that_lost_items_is_refused(tmp_path: Path) -> None:
    name = "bfcl/oracle/score/openbmb_MiniCPM-SALA-FC/non_live/BFCL_v4_simple_python_score.json"
    lines = captured(name).read_bytes().splitlines(keepends=True)
    path = write_file(tmp_path, name, b"".join(lines[:-2]))
    with pytest.raises(ImportRefusedError, match="8 failed items but has 6: it is cut off"):
        loads_of(path)


def test_interrupted_progress_keeps_its_values(tmp_path: Path) -> None:
    lines = captured("llama-benchy/progress.jsonl").read_bytes().splitlines(keepends=True)
    load = load_of(write_file(tmp_path, "p.jsonl", b"".join(lines[:100])))
    last = requests_of(load)[-1]
    assert "does not report a successful end" in load.notes[0]
    assert last.error_kind is not None and "cut off before the end of this request" in str(last.error_text)


@pytest.mark.parametrize("share", [0.3, 0.7])
def test_a_cut_database_is_refused(tmp_path: Path, share: float) -> None:
    data = captured("evalscope/standin/parallel_1_number_4/benchmark_data.db").read_bytes()
    with pytest.raises(ImportRefusedError, match="cut or not a database"):
        loads_of(write_file(tmp_path, "benchmark_data.db", data[: int(share * len(data))]))


# --- wrong values -----------------------------------------------------------------------------------------------------
STRANGE = (None, True, "x", -1, -0.5, 10**400, 1e308, [], {}, [[]], "NaN", 2**63, 2**52, 0, {"a": [1]}, "\ud800")


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*above, key)
        yield from places(one, (*above, key))


def altered(told: Any, random: random.Random) -> Any:
    """The same with a few values replaced by what should not stand there."""
    changed = copy.deepcopy(told)
    for _ in range(random.randint(1, 4)):
        at = random.choice(list(places(changed)))
        inner = changed
        for key in at[:-1]:
            inner = inner[key]
        inner[at[-1]] = random.choice(STRANGE)
    return changed


def taken_or_refused(path: Path) -> None:
    """Any file gives rows that the store takes, or a sentence; never another exception."""
    try:
        loads = loads_of(path)
    except ImportRefusedError as refusal:
        assert str(refusal).endswith(".")
    except AssertionError as unread:
        assert "nobody reads" in str(unread)
    else:
        for load in loads:
            tables_of([load.load(), *load.rows])


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", [*WHOLE_JSON, *LINES])
def test_values_of_wrong_types_hurt_nobody(tmp_path: Path, name: str, seed: int) -> None:
    rng, text = random.Random(f"{name} {seed}"), captured(name).read_text()
    if name in WHOLE_JSON:
        changed = json.dumps(altered(json.loads(text), rng))
    else:
        lines = text.splitlines()[:30]
        place = rng.randrange(len(lines))
        lines[place] = json.dumps(altered(json.loads(lines[place]), rng))
        changed = "\n".join(lines)
    taken_or_refused(write_file(tmp_path, name, changed))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", PRINTED)
def test_altered_print_hurts_nobody(tmp_path: Path, name: str, seed: int) -> None:
    rng, text = random.Random(f"{name} {seed}"), captured(name).read_text()
    pieces = ["", "\n", "|", ",", '"', "'", "nan", "-1", "9" * 400, "\x00", "[", "(", ":", "±", "=" * 60, " " * 900]
    for _ in range(rng.randrange(1, 30)):
        start = rng.randrange(len(text) + 1)
        text = text[:start] + rng.choice(pieces) + text[start + rng.randrange(8) :]
    taken_or_refused(write_file(tmp_path, name, text))


@pytest.mark.parametrize("head", PRINTED)
def test_long_blank_lines_are_read_in_one_go(tmp_path: Path, head: str) -> None:
    text = captured(head).read_text() + "".join(f"{mark * 990}\n" for mark in " -=|:(" for _ in range(500))
    started = time.process_time()
    taken_or_refused(write_file(tmp_path, head, text))
    assert time.process_time() - started < 30


def test_bare_nan_is_unknown_with_its_reason(tmp_path: Path) -> None:
    text = captured("sglang_bench/result.jsonl").read_text()
    document = json.loads(text)
    text = text.replace(f'"mean_ttft_ms": {document["mean_ttft_ms"]}', '"mean_ttft_ms": NaN')
    text = text.replace(f'"output_throughput": {document["output_throughput"]}', '"output_throughput": -1.0')
    rows = results_of(load_of(write_file(tmp_path, "r.jsonl", text)))
    told_of = {(r.metric, r.statistic): (r.value, r.reason) for r in rows}
    assert told_of["ttft_ms", "mean"] == (None, "not_a_number text=NaN")
    assert told_of["output_tps", "mean"] == (None, "impossible_number")
    assert value(rows, "ttft_ms", "median") == pytest.approx(document["median_ttft_ms"])


# --- too much ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("bracket", ["[", '{"a":'])
@pytest.mark.parametrize(
    "name", ["llama-benchy/result.json", "lm-eval/oracle-chat/results_2026-11-22T02-22-51.932066.json"]
)
def test_deep_nesting_is_refused(tmp_path: Path, name: str, bracket: str) -> None:
    text = captured(name).read_text()
    deep = bracket * 200_000
    with pytest.raises(ImportRefusedError, match=r"nested too deeply|not JSON|cut off"):
        loads_of(write_file(tmp_path, name, text.rstrip()[:-1] + f', "x": {deep}'))


def test_line_of_200_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "samples_t_2026-11-22T02-22-51.jsonl"
    head = captured("lm-eval/oracle-chat/samples_pit_sums_2026-11-22T02-22-51.932066.jsonl").read_bytes()
    with path.open("wb") as file:
        file.write(head + b'{"doc_id": 99, "doc_hash": "')
        file.truncate(len(head) + 200 * 10**6)  # a hole, so that the disk holds none of it
    with pytest.raises(ImportRefusedError, match="line 21: the line is longer than 64 MiB"):
        loads_of(path)


def test_oversized_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_file(tmp_path, "result.csv", captured("llama-benchy/result.csv").read_bytes())
    monkeypatch.setattr(source, "MAX_WHOLE_BYTES", 1000)
    with pytest.raises(ImportRefusedError, match="larger than"):
        loads_of(path)


def test_number_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    text = captured("sglang_bench/result.jsonl").read_text().replace('"completed": 16', f'"completed": {"9" * 5000}')
    with pytest.raises(ImportRefusedError, match="line 1: it contains an impossible number"):
        loads_of(write_file(tmp_path, "r.jsonl", text))


def test_invalid_text_bytes_refused_with_line(tmp_path: Path) -> None:
    data = captured("llama-benchy/result.md").read_bytes() + b"\n\xff\xfe"
    with pytest.raises(ImportRefusedError, match=r"line 15: these bytes are not UTF-8"):
        loads_of(write_file(tmp_path, "r.md", data))


def test_a_text_of_empty_lines_is_read_in_one_go(tmp_path: Path) -> None:
    """A pattern that tries again from each of them would be at it for minutes."""
    text = "| Config | Peak TG |\n|---|---|\n| A | 5 tok/s |\n" + "\n" * 300_000
    assert len(results_of(load_of(write_file(tmp_path, "a.md", text)))) == 1


def test_a_text_that_is_too_long_is_refused(tmp_path: Path) -> None:
    text = "| Config | Peak TG |\n|---|---|\n| A | 5 tok/s |\n" + "a" * 4_000_000
    with pytest.raises(ImportRefusedError, match="longer than the limit of 4,000,000 characters"):
        loads_of(write_file(tmp_path, "a.md", text))


@pytest.mark.parametrize(
    ("name", "old"),
    [
        ("aiperf/run/profile_export_aiperf.csv", "Metric,"),
        ("guidellm/benchmarks.csv", "Timings"),
        ("llama-benchy/result.csv", "model,"),
        ("llama-bench/result.csv", "build_commit,"),
    ],
)
def test_endless_cell_is_refused(tmp_path: Path, name: str, old: str) -> None:
    text = captured(name).read_text()
    assert old in text
    with pytest.raises(ImportRefusedError):
        loads_of(write_file(tmp_path, name, text.rstrip("\n") + "a" * 200_000 + "\n"))


# --- SQLite -----------------------------------------------------------------------------------------------------------
def database(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


COLUMNS = "start_time, latency, first_chunk_latency, prompt_tokens, completion_tokens, success, inter_token_latencies"
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        ([f"CREATE VIEW result AS {ENDLESS}"], "no table 'result'"),
        (["CREATE TABLE other (x)"], "no table 'result'"),
        (["CREATE TABLE result (x)"], "no such column"),
        ([f"CREATE TABLE result ({COLUMNS}, request)",
          f"INSERT INTO result SELECT x, 1, 1, 1, 1, 1, '[]', '' FROM ({ENDLESS} LIMIT 200001)"], "more than 200,000"),
        ([f"CREATE TABLE result ({COLUMNS}, request AS (hex(zeroblob(start_time * 1000000))))",
          f"INSERT INTO result ({COLUMNS}) VALUES (100, 1, 1, 1, 1, 1, '[]')"], "too big"),
        ([f"CREATE TABLE result ({COLUMNS}, request)",
          "INSERT INTO result VALUES ('x', 1, 1, 1, 1, 1, '[]', '')"], "without a start time"),
    ],
)  # fmt: skip
def test_malicious_database_is_refused(tmp_path: Path, statements: list[str], told: str) -> None:
    with pytest.raises(ImportRefusedError, match=told):
        loads_of(database(tmp_path / "benchmark_data.db", *statements))


def test_many_large_computed_cells_are_refused(tmp_path: Path) -> None:
    rows = f"INSERT INTO result ({COLUMNS}) SELECT x, 1, 1, 1, 1, 1, '[]' FROM ({ENDLESS} LIMIT 2000)"
    text = f"CREATE TABLE result ({COLUMNS}, request AS (hex(zeroblob(1000000))))"
    with pytest.raises(ImportRefusedError, match=r"more data than its file|interrupted"):
        loads_of(database(tmp_path / "benchmark_data.db", text, rows))


def test_a_pickle_in_a_database_is_never_opened(tmp_path: Path) -> None:
    """It would make a file if it were."""
    witness = tmp_path / "opened"
    hurt = f"cposix\nsystem\n(S'touch {witness}'\ntR."
    path = database(
        tmp_path / "benchmark_data.db",
        f"CREATE TABLE result ({COLUMNS}, request, response_messages)",
        f"INSERT INTO result VALUES (1, 1, 1, 1, 1, 1, '[]', '', '{hurt.encode().hex()}')",
    )
    assert len(requests_of(load_of(path))) == 1 and not witness.exists()


def test_reading_a_database_leaves_no_files(tmp_path: Path) -> None:
    data = captured("evalscope/standin/parallel_1_number_4/benchmark_data.db").read_bytes()
    path = write_file(tmp_path, "benchmark_data.db", data)
    loads_of(path)
    assert [p.name for p in tmp_path.iterdir()] == ["benchmark_data.db"] and path.read_bytes() == data


# --- folders ----------------------------------------------------------------------------------------------------------
def test_links_of_a_folder_are_not_followed(tmp_path: Path) -> None:
    outside = write_file(tmp_path, "secret", captured("aiperf/run/profile_export_aiperf.json").read_bytes())
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "profile_export_aiperf.json").symlink_to(outside)
    with pytest.raises(ImportRefusedError, match="Not a results folder Pitwall knows: "):
        open_folder(folder)


def test_a_pipe_in_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "profile_export_aiperf.json")
    folder = open_folder(tmp_path)
    with pytest.raises(NotRegularError):
        folder.read(folder.files, ticket_of())


@pytest.mark.parametrize("names", [["a.txt"], [], ["benchmark_args.json"], ["samples_t_2026-11-22T02-22-51.jsonl"]])
def test_a_folder_without_results_is_refused(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).write_text("{}")
    with pytest.raises(ImportRefusedError, match=r"Not a results folder|no benchmark_summary|no results file"):
        loads_of(tmp_path)

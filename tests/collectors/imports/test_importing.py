"""Logs from elsewhere become runs of a real store: packed, grown, stamped in other zones, or not logs at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from collectors.imports import log_file
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import ImportOptions, ImportResult, LogImporter
from collectors.imports.timestamps import plan_times, read_zone
from domain import Run
from engines import BY_NAME
from engines.base import ParsedSample
from settings import Settings
from storage.store import Store

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
NGRAM = FIXTURES / "vllm/0.32-ngram.log"
NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store.open(Settings(data_dir=tmp_path / "data"))
    yield opened
    opened.close()


@pytest.fixture
def importer(store: Store, tmp_path: Path) -> LogImporter:
    return LogImporter(store, tmp_path / "data/runs", lambda: NOW)


def write_file(path: Path, data: bytes, date: datetime = NOW - timedelta(days=1)) -> Path:
    path.write_bytes(data)
    os.utime(path, (date.timestamp(), date.timestamp()))
    return path


def take(importer: LogImporter, path: Path, **wish: object) -> ImportResult:
    return importer.import_log(path, ImportOptions(path.name, **wish), lambda share: None)  # type: ignore[arg-type]


def run_of(store: Store, outcome: ImportResult) -> Run:
    run = store.run(outcome.run_ids[0])
    assert run
    return run


def lines_of(store: Store, run: Run) -> list[int]:
    return store.query("SELECT line FROM log_samples WHERE run_id = ? ORDER BY line", [run.id])["line"].to_pylist()


def parsed_lines(log: bytes, engine: str = "vllm") -> list[int]:
    grammar = BY_NAME[engine].log
    assert grammar
    parser = grammar.log_parser()
    return [event.line for event in [*parser.feed(log), *parser.close()] if isinstance(event, ParsedSample)]


@pytest.mark.parametrize("packing", ["plain", "gz", "zst"])
def test_a_log_is_a_run_with_its_config_and_times(
    store: Store, importer: LogImporter, tmp_path: Path, packing: str
) -> None:
    data = NGRAM.read_bytes()
    packed = {"plain": data, "gz": gzip.compress(data), "zst": pa.compress(data, codec="zstd", asbytes=True)}
    run = run_of(store, take(importer, write_file(tmp_path / f"log.{packing}", packed[packing])))
    assert (run.kind, run.state, run.config.model, run.config.engine_version) == (
        "imported", "finished", "/srv/lab/model", "0.32.0",
    )  # fmt: skip
    assert run.started_at and run.ready_at and run.ended_at
    assert run.started_at < run.ready_at < run.ended_at
    assert run.started_at.year == 2026 and "no year: 2026" in (run.note or "")
    assert Path(run.log_path or "").read_bytes() == data
    assert lines_of(store, run) == parsed_lines(data) != []
    kinds = set(store.query("SELECT kind FROM events WHERE run_id = ?", [run.id])["kind"].to_pylist())
    assert {"startup", "phase", "collector"} <= kinds


def test_same_file_and_shorter_copy_are_one_run(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    data = NGRAM.read_bytes()
    first = take(importer, write_file(tmp_path / "a.log", data))
    lines = lines_of(store, run_of(store, first))
    for copy in (data, gzip.compress(data), data[: len(data) // 2]):
        again = take(importer, write_file(tmp_path / "b.log", copy))
        assert again.run_ids == first.run_ids and "it has nothing new" in again.text
    assert lines_of(store, run_of(store, first)) == lines
    assert len(store.runs()) == 1


def test_a_file_that_grew_goes_on_where_it_ended(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    data = NGRAM.read_bytes()
    whole, lines = [], parsed_lines(data)
    for cut in (len(data) // 3, len(data) // 3 + 500, 2 * len(data) // 3, len(data)):
        whole.append(take(importer, write_file(tmp_path / "a.log", data[:cut], NOW)))
    assert len({outcome.run_ids for outcome in whole}) == 1
    assert "continued by" in whole[-1].text
    run = run_of(store, whole[-1])
    assert Path(run.log_path or "").read_bytes() == data
    assert lines_of(store, run) == lines
    startup = store.query("SELECT text FROM events WHERE kind = 'startup'")["text"].to_pylist()
    other_path = Path(tmp_path / "other")
    other_path.mkdir()
    at_once = Store.open(Settings(data_dir=other_path))
    take(LogImporter(at_once, other_path / "runs", lambda: NOW), write_file(tmp_path / "b.log", data))
    assert startup == at_once.query("SELECT text FROM events WHERE kind = 'startup'")["text"].to_pylist()
    at_once.close()


def test_two_logs_with_one_beginning_are_two_runs(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    data = NGRAM.read_bytes()
    take(importer, write_file(tmp_path / "a.log", data))
    take(importer, write_file(tmp_path / "b.log", data[:-2000] + b"x" * 2000))
    assert len(store.runs()) == 2


def test_a_failed_start_is_a_failed_run(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    log = (FIXTURES / "vllm/0.32-kv-too-small.log").read_bytes()
    run = run_of(store, take(importer, write_file(tmp_path / "a.log", log)))
    assert run.state == "failed" and run.ready_at is None and run.exit_code is None
    assert "KV cache" in (run.cause or "") and "KV cache" in (run.cause_line or "")


def test_llamacpp_times_count_from_the_files_date(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    date = datetime(2026, 3, 1, 10, tzinfo=UTC)
    run = run_of(
        store, take(importer, write_file(tmp_path / "a.log", (FIXTURES / "llamacpp/draft.log").read_bytes(), date))
    )
    assert run.ended_at == date and run.started_at and run.ready_at
    assert timedelta(0) < run.ready_at - run.started_at < timedelta(seconds=5)
    sources = store.query("SELECT DISTINCT ts_source FROM log_samples")["ts_source"].to_pylist()
    assert sources == ["elapsed"]


def stamped(text: str) -> bytes:
    return f"INFO {text} [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s\n".encode()


@pytest.mark.parametrize(
    ("zone", "date", "expected"),
    [
        ("+05:30", datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 19, 18, 30, tzinfo=UTC)),
        ("Europe/Berlin", datetime(2026, 11, 20, tzinfo=UTC), datetime(2026, 11, 19, 23, tzinfo=UTC)),
        (None, datetime(2026, 11, 20, 8, 0, 3, tzinfo=UTC), datetime(2026, 11, 20, 8, tzinfo=UTC)),  # -08:00 shown
        ("UTC", datetime(2027, 11, 18, tzinfo=UTC), datetime(2026, 11, 20, tzinfo=UTC)),
    ],
)
def test_year_and_zone_are_completed(tmp_path: Path, zone: str | None, date: datetime, expected: datetime) -> None:
    path = write_file(tmp_path / "a.log", stamped("11-20 00:00:00"))
    assert plan_times(path, date, zone).began_at == expected


def test_a_log_over_new_year_goes_on_in_the_next(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    line = (
        "INFO {} [loggers.py:248] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 10.0 "
        "tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
    )
    log = "".join(line.format(stamp) for stamp in ("12-31 23:59:50", "01-01 00:00:00")).encode()
    path = write_file(tmp_path / "a.log", log, datetime(2026, 5, 1, tzinfo=UTC))
    run = run_of(store, take(importer, path, zone="UTC"))
    assert run.started_at == datetime(2025, 12, 31, 23, 59, 50, tzinfo=UTC)
    assert run.ended_at == datetime(2026, 1, 1, tzinfo=UTC)


def test_no_time_zone_is_told() -> None:
    with pytest.raises(ImportRefusedError, match="is not a time zone"):
        read_zone("Mars/Olympus")


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"A shopping list: SGLang, vLLM, milk.\n", "no line that only a known engine writes"),
        (
            b"2026-02-26 13:55:38  INFO smg::server: src/server.rs:794: Starting router on 0.0.0.0:8000\n",
            "the log of a router",
        ),
        (gzip.compress(NGRAM.read_bytes())[:-400], "cut or damaged"),
        (b"\x28\xb5\x2f\xfd" + b"junk" * 9, "cut or damaged"),
    ],
)
def test_what_is_no_whole_log_is_refused(
    store: Store, importer: LogImporter, tmp_path: Path, data: bytes, told: str
) -> None:
    with pytest.raises(ImportRefusedError, match=told):
        take(importer, write_file(tmp_path / "a.log", data))
    assert store.runs() == []
    assert list((tmp_path / "data/runs").iterdir()) == []


def test_secrets_of_the_argument_line_are_masked(store: Store, importer: LogImporter, tmp_path: Path) -> None:
    log = NGRAM.read_bytes().replace(b"'max_num_seqs': 8", b"'api_key': ['very-secret-key'], 'max_num_seqs': 8")
    run = run_of(store, take(importer, write_file(tmp_path / "a.log", log)))
    assert "--api-key <secret>" in run.config.unknown_flags
    assert "very-secret-key" not in run.model_dump_json()


@pytest.mark.parametrize("columns", [80, 152, 400])
@pytest.mark.parametrize("prefix", [b"", b"vllm-1  | "])
def test_arguments_that_a_terminal_wrapped_are_whole(
    columns: int, prefix: bytes, store: Store, importer: LogImporter, tmp_path: Path
) -> None:
    lines = [
        piece
        for line in NGRAM.read_bytes().splitlines()
        for piece in ([line[i : i + columns] for i in range(0, len(line), columns)] if b"args: {" in line else [line])
    ]
    log = b"".join(prefix + line + b"\n" for line in lines)
    config = run_of(store, take(importer, write_file(tmp_path / "a.log", NGRAM.read_bytes()))).config
    wrapped = run_of(store, take(importer, write_file(tmp_path / "b.log", log))).config
    assert config.speculative and wrapped == config


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
def test_extreme_compression_is_refused(
    importer: LogImporter, tmp_path: Path, packing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_file, "RATIO_FREE_BYTES", 1 << 20)
    with pa.CompressedOutputStream(str(tmp_path / "bomb"), packing) as out:
        for _ in range(64):
            out.write(bytes(1 << 20))
    with pytest.raises(
        ImportRefusedError, match=r"^bomb unpacks to more than 300 times its size, the limit for logs\.$"
    ):
        take(importer, write_file(tmp_path / "bomb", (tmp_path / "bomb").read_bytes()))


@pytest.mark.wide
def test_a_log_that_is_tightly_packed_is_taken(importer: LogImporter, store: Store, tmp_path: Path) -> None:
    log = NGRAM.read_bytes() * 200
    assert len(gzip.compress(log)) * 30 < len(log)
    run = run_of(store, take(importer, write_file(tmp_path / "long.log.gz", gzip.compress(log))))
    assert Path(run.log_path or "").stat().st_size == len(log)


@pytest.mark.parametrize(
    ("name", "text", "looks"),
    [
        ("a.json", '{"alpha": 1, "beta": [2]}', "a JSON object with the keys alpha, beta."),
        ("a.json", '[{"alpha": 1}]', "a JSON list of objects with the keys alpha."),
        ("a.jsonl", '{"alpha": 1}\n{"alpha": 2}\n', "lines of JSON with the keys alpha."),
        ("a.json", '{"alpha": 1, "beta": [' + "1," * 40_000, "JSON with the keys alpha, beta."),
        ("a.csv", "x,y,z\n1,2,3\n", "a table of comma-separated values with the columns x, y, z."),
        ("a.txt", "\nnothing of the kind api_key=sk-1234567890abcdef\n", "a text that begins “nothing of the kind"),
        ("a.log", "[ 12.5] a kernel's line\n[ 13.5] another\n", "a text that begins “[ 12.5] a kernel"),
        ("a.log", ':"x","n":4,"s":1}\n{"a":1,"b":2,"c":3}\n', "a text that begins “:"),
        ("a.bin", "\x00\x01", "a binary file."),
        ("a.html", "<html>", "HTML or XML."),
        ("a.txt", "   \n", "an empty text."),
    ],
)
def test_refusal_says_what_the_file_looks_like_and_what_is_read(
    importer: LogImporter, tmp_path: Path, name: str, text: str, looks: str
) -> None:
    with pytest.raises(ImportRefusedError) as refusal:
        take(importer, write_file(tmp_path / name, text.encode()))
    assert f"{name} looks like {looks}" in str(refusal.value) and "llama-bench (CSV, JSON" in str(refusal.value)
    assert "sk-1234567890" not in str(refusal.value)


def test_text_that_only_names_its_engine_is_refused_with_it(importer: LogImporter, tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.log", b"we tried tensorrt_llm first\n")
    with pytest.raises(ImportRefusedError, match="it has the name of TensorRT-LLM, but no start, statistic"):
        take(importer, path)


STATISTICS = (
    "INFO 11-27 10:00:{second:02d} [loggers.py:123] Engine 000: Avg prompt throughput: 8.9 tokens/s, Avg "
    "generation throughput: 97.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, "
    "Prefix cache hit rate: 0.0%\n"
)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("Why is it slow?\n", "It has 20 lines of statistics."),
        (
            "The decode speed is 45.5 tok/s.\n",
            "It has 20 lines of statistics. It was read as a log, its other lines were not. "
            "Not read: “The decode speed is 45.5 tok/s”.",
        ),
    ],
)
def test_an_import_says_what_it_read_of_a_log(importer: LogImporter, tmp_path: Path, words: str, said: str) -> None:
    log = "".join(STATISTICS.format(second=second) for second in range(20))
    text = take(importer, write_file(tmp_path / "post.md", f"{log}{words}".encode())).text
    assert text.partition("). ")[2] == said

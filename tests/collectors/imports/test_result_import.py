"""From a file in the inbox to rows of a run: new ones, onto a run, the same file twice, all of it or nothing."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from analysis.compare_arms import compare_arms
from analysis.evidence.objectives import parse_objective
from cli.main import main
from collectors.imports import inbox as inbox_module
from collectors.imports.inbox import ImportJob, Inbox, Status, cancel_job, new_job_id, read_status, submit_job
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.log_import import ImportOptions, ImportResult, LogImporter
from collectors.imports.result_import import ResultImporter
from domain import Config, Run, RunState
from notes import RunNote
from reports.arms.comparison import ComparisonOptions, comparison_of
from reports.arms.facts import facts_of
from reports.runs.run_report import engine_title
from samples import REFUSED
from settings import Settings
from storage.queries import run_data
from storage.store import Store
from tests.collectors.imports.captured import CORPUS, SOURCES, captured

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
SECRET = "hf_abcdefghijklmnopqrstuvwx"
FIXTURES = Path(__file__).resolve().parent.parent.parent / "fixtures"
TABLES = ("loads", "load_phases", "requests", "results", "checks", "accuracy", "accuracy_items")


@pytest.fixture
def importer(store: Store) -> ResultImporter:
    return ResultImporter(store, lambda: NOW)


def take(importer: ResultImporter, path: Path, command: tuple[str, ...] | None = None, **wish: str) -> ImportResult:
    return importer.import_results(path, ImportOptions(path.name, command=command, **wish), lambda share: None)


def count(store: Store, table: str, run_id: str) -> int:
    return int(store.query(f"SELECT count(*) AS n FROM {table} WHERE run_id = ?", [run_id])["n"][0].as_py())


def launched(store: Store, run_id: str = "20261122-110000-000-aaaa") -> Run:
    run = Run(id=run_id, name="own", color=0, config=Config(), machine_id="m", created_at=NOW, state=RunState.READY)
    store.save_run(run)
    return run


def test_result_command_is_kept_without_secrets(store: Store, importer: ResultImporter) -> None:
    command = ("aiperf", "profile", "--api-key", SECRET, "--url", "http://127.0.0.1:8000")
    (run_id,) = take(importer, captured("aiperf/run"), command=command).run_ids
    (row,) = store.query("SELECT command FROM loads WHERE run_id = ?", [run_id])["command"].to_pylist()
    document = json.loads(row)
    assert [word for word in document if word != document[3]] == [word for word in command if word != SECRET]
    assert SECRET not in row


def test_a_file_becomes_a_run_of_its_own(store: Store, importer: ResultImporter) -> None:
    path = captured("sglang_bench/result.jsonl")
    outcome = take(importer, path)
    (run_id,) = outcome.run_ids
    run = store.run(run_id)
    assert run and (run.kind, run.state, run.config.launcher) == ("imported", RunState.FINISHED, "import")
    assert run.name == "sglang.bench_serving, result.jsonl" and run.started_at and run.ended_at
    assert outcome.row_counts == {"results": 31, "requests": 16, "phases": 1}
    assert [count(store, table, run_id) for table in TABLES] == [1, 1, 16, 31, 0, 0, 0]
    (load,) = store.query("SELECT * FROM loads").to_pylist()
    assert load["load_id"] in outcome.loads and load["source_name"] == path.name and len(load["source_sha256"]) == 64


@pytest.mark.parametrize(
    ("name", "table", "rows"), [("lm-eval/oracle-chat", "accuracy_items", 40), ("aiperf/run", "requests", 16),
                                ("bfcl/oracle", "accuracy_items", 24), ("evalscope/standin", "requests", 4)],
)  # fmt: skip
def test_a_folder_is_taken_whole(store: Store, importer: ResultImporter, name: str, table: str, rows: int) -> None:
    outcome = take(importer, captured(name))
    assert count(store, table, outcome.run_ids[0]) == rows and len(outcome.loads) == 1
    assert "it has nothing new" in take(importer, captured(name)).text


def test_results_come_onto_a_run_that_is_known(store: Store, importer: ResultImporter) -> None:
    run = launched(store)
    outcome = take(importer, captured("llama-benchy/result.csv"), run_id=run.id)
    assert outcome.run_ids == (run.id,) and store.run(run.id) == run
    assert count(store, "results", run.id) == 36 and len(store.runs()) == 1


def test_a_run_that_is_not_there_is_told(importer: ResultImporter) -> None:
    with pytest.raises(ImportRefusedError, match="There is no run nobody"):
        take(importer, captured("llama-benchy/result.csv"), run_id="nobody")


def test_file_is_known_by_hash_not_name(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    first = take(importer, captured("llama-benchy/result.csv"))
    other_path = Path(shutil.copy(captured("llama-benchy/result.csv"), tmp_path / "another.csv"))
    again = take(importer, other_path)
    assert again.run_ids == first.run_ids and again.text == "another.csv was already imported; it has nothing new."
    assert count(store, "results", first.run_ids[0]) == 36
    with pytest.raises(ImportRefusedError, match="was already imported into the run"):
        take(importer, other_path, run_id=launched(store).id)


def test_a_file_that_is_refused_leaves_nothing(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    lines = captured("lm-eval/oracle-chat/samples_pit_sums_2026-11-22T02-22-51.932066.jsonl").read_text().splitlines()
    path = tmp_path / "samples_a_2026-11-22T02-22-51.jsonl"
    path.write_text("\n".join([*lines[:10], "{"]))
    with pytest.raises(ImportRefusedError, match="line 11"):
        take(importer, path)
    assert store.runs() == [] and [store.query(f"FROM {table}").num_rows for table in TABLES] == [0] * len(TABLES)


def test_no_secret_of_a_file_is_stored(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    document = json.loads(captured("aiperf/run/profile_export_aiperf.json").read_text())
    document["input_config"]["endpoint"] |= {
        "api_key": "very-secret-value",
        "headers": {"Authorization": f"Bearer {SECRET}"},
    }
    path = tmp_path / "profile_export_aiperf.json"
    path.write_text(json.dumps(document))
    take(importer, path)
    stored = str(store.query("FROM loads").to_pylist()) + str(store.query("FROM runs").to_pylist())
    assert SECRET not in stored and "very-secret-value" not in stored and "ignore_eos" in stored


def test_error_and_answer_secrets_are_not_stored(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    document = json.loads(captured("sglang_bench/result.jsonl").read_text())
    document["errors"][3] = f"401 for Authorization: Bearer {SECRET}"
    (tmp_path / "r.jsonl").write_text(json.dumps(document))
    lines = captured("lm-eval/oracle-chat/samples_pit_sums_2026-11-22T02-22-51.932066.jsonl").read_text()
    (tmp_path / "samples_a_2026-11-22T02-22-51.jsonl").write_text(lines.replace('["12"]', f'["{SECRET}"]'))
    for path in sorted(tmp_path.glob("*.jsonl")):
        take(importer, path)
    stored = str([store.query(f"FROM {table}").to_pylist() for table in TABLES])
    assert SECRET not in stored and "'error_kind': 'http'" in stored


# --- logs and results are told apart ----------------------------------------------------------------------------------
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/*.log")), ids=lambda path: path.name)
def test_a_log_is_no_result_file(importer: ResultImporter, path: Path) -> None:
    assert not importer.recognises(path, path.name)


def test_a_log_with_a_table_in_it_stays_a_log(importer: ResultImporter, tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(b"| a | b |\n|---|---|\n| x | 5 tok/s |\n" + (FIXTURES / "vllm/0.32-ngram.log").read_bytes())
    assert not importer.recognises(path, path.name)


@pytest.mark.skipif(not CORPUS, reason="PITWALL_CORPUS names no folder of posted logs")
def test_no_posted_log_is_a_result_file(importer: ResultImporter) -> None:
    logs = sorted(Path(str(CORPUS)).glob("*/*.log"))
    assert len(logs) > 40 and not [path.name for path in logs if importer.recognises(path, path.name)]


@pytest.mark.skipif(not SOURCES, reason="PITWALL_CORPUS names no folder beside which the texts lie")
def test_published_texts_are_no_logs(importer: ResultImporter) -> None:
    """They name engines and quote lines of their logs."""
    assert [path.name for path in SOURCES if not importer.recognises(path, path.name)] == []


@pytest.fixture
def inbox(store: Store, settings: Settings, importer: ResultImporter) -> Iterator[Path]:
    folder = settings.data_dir / "inbox"
    logs = LogImporter(store, settings.runs_dir, lambda: NOW)
    bundles, said = (lambda path, tell: ((), "no bundle")), (lambda job: (RunNote(run_id=job.run), "no note"))
    at_work = Inbox(folder, logs, importer, bundles, said, lambda job: "")
    at_work.start()
    yield folder
    at_work.close()


def handed_in(folder: Path, path: Path, **fields: str) -> Status:
    return import_job(
        folder,
        ImportJob(id=new_job_id(datetime.now(UTC)), path=path, shown_name=path.name, **fields),  # type: ignore[arg-type]
    )


def import_job(folder: Path, job: ImportJob) -> Status:
    submit_job(folder, job)
    waiting = threading.Event()
    while not (status := read_status(folder, job.id)).is_over:
        waiting.wait(0.02)
    return status


def test_the_inbox_takes_results_logs_and_folders(store: Store, inbox: Path) -> None:
    results = handed_in(inbox, captured("llama-benchy/result.md"))
    assert (results.state, results.rows) == ("done", {"results": 54}) and len(results.loads) == 1
    folder = handed_in(inbox, captured("bfcl/server-down"), run=results.run_ids[0])
    assert folder.run_ids == results.run_ids and folder.rows == {"accuracies": 1, "items": 4}
    log = handed_in(inbox, FIXTURES / "vllm/0.32-ngram.log")
    assert log.state == "done" and log.loads == () and log.run_ids != results.run_ids
    onto = handed_in(inbox, FIXTURES / "sglang/0.5.23-cpu.log", run=results.run_ids[0])
    assert onto.state == "refused" and "logs and bundles become runs of their own" in onto.text


def test_odd_entries_of_the_inbox_hold_up_no_job(inbox: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A pipe would hang the reader, and a folder cannot be deleted like a file."""
    inbox.mkdir(parents=True, exist_ok=True)
    os.mkfifo(inbox / "0.job.json")
    (inbox / "1.job.json").mkdir()
    assert handed_in(inbox, captured("llama-benchy/result.md")).state == "done"
    assert sorted(path.name for path in inbox.glob("*.refused")) == ["0.job.json.refused", "1.job.json.refused"]
    assert handed_in(inbox, captured("llama-benchy/result.md")).state in ("done", "refused")
    assert len([record for record in caplog.records if "not a job of the inbox" in record.message]) == 2


def is_searched(path: Path) -> bool:
    """Whether a process searches a draft of this folder for an engine's lines."""
    words = (process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"]))
    return any("collectors.imports.log_recognition" in argv and str(path) in " ".join(argv) for argv in words)


def wait_until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    while not condition():
        waiting.wait(0.05)


@pytest.mark.wide
def test_others_pass_a_large_import_which_can_be_cancelled(
    inbox: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ordinary application's log: no line of an engine in it."""
    monkeypatch.setattr(inbox_module, "LARGE_BYTES", 1 << 20)
    large = tmp_path / "application.log"
    large.write_text("2026-11-27 12:00:00,123 INFO worker-3 handled request id=12 status=200 took=31 ms\n" * 400_000)
    job = ImportJob(id=new_job_id(datetime.now(UTC)), path=large, shown_name=large.name)
    submit_job(inbox, job)
    wait_until(lambda: is_searched(settings.runs_dir))
    assert handed_in(inbox, captured("llama-benchy/result.md")).state == "done"
    assert is_searched(settings.runs_dir) and not read_status(inbox, job.id).is_over
    cancel_job(inbox, job.id)
    wait_until(lambda: not is_searched(settings.runs_dir))
    wait_until(lambda: not list(settings.runs_dir.glob(".import-*")))
    assert not list(inbox.glob(f"{job.id}*"))


def test_drafts_of_killed_imports_are_deleted_at_the_start(
    store: Store, settings: Settings, importer: ResultImporter
) -> None:
    draft = settings.runs_dir / ".import-killed" / "server.log"
    draft.parent.mkdir(parents=True)
    draft.write_bytes(b"x")
    logs = LogImporter(store, settings.runs_dir, lambda: NOW)
    inbox = Inbox(
        settings.data_dir / "inbox", logs, importer, lambda path, tell: ((), ""), lambda job: None, lambda job: ""
    )  # type: ignore[arg-type, return-value]
    inbox.start()
    inbox.close()
    assert not draft.parent.exists() and settings.runs_dir.is_dir()


def test_refused_tool_results_show_on_the_run(store: Store, inbox: Path, tmp_path: Path) -> None:
    run = launched(store)
    results = tmp_path / "results"
    shutil.copytree(captured("bfcl/oracle"), results)
    cut = next(results.rglob("*_score.json"))
    lines = cut.read_text().splitlines()
    cut.write_text("\n".join(lines[:-1]))
    refused = handed_in(inbox, results, run=run.id, command=("bfcl", "evaluate"))  # type: ignore[arg-type]
    assert refused.state == "refused" and cut.name in refused.text
    by_hand = handed_in(inbox, results, run=run.id)  # whoever imports by hand is told where they are
    assert by_hand.state == "refused"
    rows = [row for row in run_data.events(store, run.id).rows if row.kind == REFUSED]
    (text,) = [row.text for row in rows]
    assert text == f"results were refused: {refused.text} The files are in the run's folder: results."


def test_tool_settings_appear_in_the_load(store: Store, inbox: Path) -> None:
    run, fields = launched(store), {"tasks": "simple_python", "limit": 3}
    job = ImportJob(id=new_job_id(datetime.now(UTC)), path=captured("bfcl/oracle"), shown_name="bfcl results",
              run=run.id, command=("bfcl", "generate"), asked=fields)  # fmt: skip
    assert import_job(inbox, job).state == "done"
    (params,) = store.query("SELECT params FROM loads WHERE run_id = ?", [run.id])["params"].to_pylist()
    assert json.loads(params)["driven"] == fields


def test_the_command_lists_runs_loads_and_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "data"))
    assert main(["import", "--json", str(captured("llama-benchy/result.csv")), str(captured("aiperf/run"))]) == 0
    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["state"], first["rows"], len(first["loads"])) == ("done", {"results": 36}, 1)
    assert second["rows"] == {"results": 548, "requests": 16, "phases": 1} and second["run_ids"] != first["run_ids"]
    onto = ["import", "--json", "--run", first["run_ids"][0], str(captured("sglang_bench/result.jsonl"))]
    assert main(onto) == 0
    assert json.loads(capsys.readouterr().out)["run_ids"] == first["run_ids"]


# --- what imported results may not say --------------------------------------------------------------------------------
def test_two_imports_are_never_ranked(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    """Requests without their prompts are no evidence; an answer about them says nothing of a winner."""
    text = captured("sglang_bench/result.jsonl").read_text()
    document = json.loads(text)
    faster = tmp_path / "faster.jsonl"
    faster.write_text(text.replace(f'"duration": {document["duration"]}', f'"duration": {document["duration"] / 2}'))
    ids = [take(importer, path).run_ids[0] for path in (captured("sglang_bench/result.jsonl"), faster)]
    runs = store.runs_of(ids)
    assert [facts.loads for facts in facts_of(store, runs)] == [(), ()]
    report = comparison_of(store, runs, ComparisonOptions(objective=parse_objective("decode_tps")))
    assert all(not answer.is_ranked for answer in report.answers)
    answer = compare_arms(report.arms, parse_objective("decode_tps"))
    assert not any(one.is_ranked for one in answer)


def test_requests_with_known_prompts_are_evidence(store: Store, importer: ResultImporter) -> None:
    outcome = take(importer, captured("evalscope/standin/parallel_1_number_4/benchmark_data.db"))
    (facts,) = facts_of(store, store.runs_of(outcome.run_ids))
    (load,) = facts.loads
    assert len(load.measured) == 4 and all(request.prompt_hash for request in load.measured)


def test_results_on_a_run_keep_its_evidence(store: Store, importer: ResultImporter) -> None:
    from load_records import Load, RequestRecord
    from samples import Batch

    run = launched(store)
    own = Load(run.id, "own", NOW - timedelta(hours=1), "pitwall", "w", prompt_set_hash="h")
    request = RequestRecord(run.id, "q", "w", "measure", "-", 0, 1, NOW, load_id="own", phase_index=0, sequence=0)
    store.write(Batch((own, request))).result()
    take(importer, captured("evalscope/standin"), run_id=run.id)  # which knows its prompts
    (facts,) = facts_of(store, store.runs_of([run.id]))
    assert [load.load_id for load in facts.loads] == ["own"]
    assert count(store, "loads", run.id) == 2


def test_a_file_keeps_its_date(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    path = Path(shutil.copy(captured("llama-benchy/result.csv"), tmp_path))
    os.utime(path, ((NOW - timedelta(days=3)).timestamp(),) * 2)
    take(importer, path)
    assert store.query("SELECT ts FROM loads")["ts"].to_pylist() == [NOW - timedelta(days=3)]


OBSERVED = "Generation throughput: 95.9 tok/s\nPeak generation throughput: 126.6 tok/s\nAcceptance length: 3.4\n"


@pytest.mark.parametrize("ending", ["txt", "log", "md"])
def test_observed_lines_alone_are_results(store: Store, importer: ResultImporter, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"observed.{ending}"
    path.write_text(OBSERVED)
    assert importer.recognises(path, path.name)
    (run_id,) = take(importer, path).run_ids
    rows = store.query("SELECT metric, value FROM results WHERE run_id = ? ORDER BY value", [run_id]).to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        ("acceptance_length", 3.4), ("output_tps", 95.9), ("output_tps", 126.6),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "INFO 11-27 10:00:00 [kv_cache_utils.py:1291] GPU KV cache size: 876,006 tokens\n",
        "INFO [kv_cache_utils.py:1291] GPU KV cache size: 876,006 tokens\n",
        "It all went well.\n",
    ],
)
def test_engine_line_and_prose_are_no_results(importer: ResultImporter, tmp_path: Path, text: str) -> None:
    path = tmp_path / "server.log"
    path.write_text(text)
    assert not importer.recognises(path, path.name)


QUOTED_LOG = """```
INFO 11-27 10:00:00 [__init__.py:243] Automatically detected platform cuda.
INFO 11-27 10:00:09 [kv_cache_utils.py:1291] GPU KV cache size: 876,006 tokens
```
"""
AVERAGES = (
    "INFO 11-27 10:00:00 [loggers.py:123] Engine 000: Avg prompt throughput: 8.9 tokens/s, Avg generation throughput: "
    "97.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
)
TIMINGS = (
    "slot print_timing: id  0 | task 0 | \nprompt eval time =     450.00 ms /   120 tokens (    3.75 ms per token,   "
    "266.67 tokens per second)\n       eval time =    2000.00 ms /    90 tokens (   22.22 ms per token,    45.00 "
    "tokens per second)\n      total time =    2450.00 ms /   210 tokens\nsrv  update_slots: all slots are idle\n"
)


@pytest.mark.parametrize(
    ("text", "is_result"),
    [
        ("vLLM and SGLang on one card.\n\nDecode speed is 45.5 tok/s with SGLang v0.5.7.\n", True),
        ("For b5449 I could get around 26 token per second.\n", True),
        (f"Decode drops to 45.5 tok/s. The log:\n\n{QUOTED_LOG}", True),
        (f"Decode drops to 45.5 tok/s. The log:\n\n{QUOTED_LOG.replace('```', '~~~')}", True),
        (f"Decode drops to 45.5 tok/s. The log:\n\n{QUOTED_LOG.replace('```', '````')}", True),
        (f"It crashes. The log:\n\n{QUOTED_LOG}", False),
        (f"{QUOTED_LOG[4:-4]}Decode speed is 45.5 tok/s.\n", True),
        (f"{QUOTED_LOG[4:-4]}Why is it slow?\n", False),
        (f"{AVERAGES}I get a decode speed of 45.5 tok/s.\n", True),
        (f"{AVERAGES}Why is that so slow?\n", False),
        (f"{TIMINGS}With 4 users TTFT is 350 ms.\n", True),
        (f"{TIMINGS}Why is that so slow?\n", False),
        (QUOTED_LOG, False),
    ],
)
def test_posts_that_name_engines_and_quote_logs(
    importer: ResultImporter, tmp_path: Path, text: str, is_result: bool
) -> None:
    path = tmp_path / "post.md"
    path.write_text(text)
    assert importer.recognises(path, path.name) is is_result


def test_configuration_of_an_imported_server_is_what_all_loads_state(store: Store, importer: ResultImporter) -> None:
    (run_id,) = take(importer, captured("llama-bench/result.csv")).run_ids
    run = store.run(run_id)
    assert run and run.name == "llama-bench, Qwen3.6-35B-A3B-UD-Q4_K_M.gguf"
    assert (run.config.quantization, run.config.kv_cache_dtype) == ("Q4_K - Medium", "f16")
    assert (run.config.engine, engine_title(run)) == ("llamacpp", "llama.cpp"), "its tool measures no other engine"


@pytest.mark.parametrize(
    ("words", "engine", "version", "title"),
    [
        ("With vLLM 0.11.2 on one GPU:", "vllm", "0.11.2", "vLLM"),
        ("With SGLang 0.5.5:", "sglang", "0.5.5", "SGLang"),
        ("Inspired by SGLang:", "other", None, "engine not known"),
        ("vLLM 0.11.2 is no slower than SGLang 0.5.5 here:", "other", None, "engine not known"),
        ("With LMDeploy 0.9.1:", "other", None, "engine not known"),
        ("Here:", "other", None, "engine not known"),
    ],
)
def test_an_imported_run_has_the_engine_that_its_text_names(
    store: Store, importer: ResultImporter, tmp_path: Path, words: str, engine: str, version: str | None, title: str
) -> None:
    path = tmp_path / "post.md"
    path.write_text(f"{words}\n\n| level | TTFT (ms) | Decode (tok/s) |\n|---|---|---|\n| c=1 | 81.5 | 45.5 |\n")
    (run_id,) = take(importer, path).run_ids
    run = store.run(run_id)
    assert run and (run.config.engine, run.config.engine_version, engine_title(run)) == (engine, version, title)


def test_run_of_several_models_has_none_of_them(store: Store, importer: ResultImporter, tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    path.write_text(captured("llama-bench/result.csv").read_text().replace("Q4_K_M.gguf", "Q8_0.gguf", 1))
    (run_id,) = take(importer, path).run_ids
    run = store.run(run_id)
    assert run and run.config.model is None and run.name == "llama-bench, two.csv"
    assert count(store, "loads", run_id) == 2

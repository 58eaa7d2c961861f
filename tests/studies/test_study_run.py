"""`./pitwall study run` with servers of known truth: stand-ins that pace their tokens and run no model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cli.main import main
from cli.results import study as command_line
from collectors.imports.inbox import inbox_folder
from settings import Settings
from tests.demo_engine import ROOT
from tests.ports import free_ports
from tests.storage.test_claim import OWN, process_of
from workloads.process.prepare import COMMAND_LINE

pytestmark = pytest.mark.timeout(600)
LOAD = '[[workload]]\nname = "demo-stream"\n[workload.params]\nrequests = 2\ntokens = 40\nwarmup_tokens = 2\n'
LADDER = '[[workload]]\nname = "ladder"\n[workload.params]\nrungs = [1]\nrepeats = 2\ntokens = 40\n'
# A machine that is full starves one stand-in more than the other, and then nothing may be claimed.
BUSY = {"starvation", "client"}


def study(folder: Path, *paces_ms: float, runs: int = 12, command: str = "-m demo paced") -> Path:
    port = free_ports(1)[0]
    arms = "".join(
        f'[[arm]]\nname = "{name}"\nengine = "vllm"\n'
        f'command = "{sys.executable} {command} --port {port} --step-ms {pace_ms}"\n'
        for name, pace_ms in zip("abcd", paces_ms, strict=False)
    )
    file = folder / "study.toml"
    file.write_text(f'question = "which"\n[budget]\nruns = {runs}\n{arms}{LOAD}')
    return file


def drafting(folder: Path) -> Path:
    """A labelled stand-in for a server with drafts: of each 10 ms step and 0.3 ms a draft, 0.9 of a draft accepted."""
    file = folder / "vllm"
    file.write_text(
        f"""#!{sys.executable}
import json, sys
sys.path.insert(0, {str(ROOT)!r})
from demo import paced
words = dict(zip(sys.argv[3:], sys.argv[4:]))
k = json.loads(words.get("--speculative-config", "{{}}")).get("num_speculative_tokens", 0)
flags = ["--port", words["--port"], "--drafts", str(k), "--step-ms", "10", "--draft-ms", "0.3", "--accept", "0.9"]
sys.exit(paced.main(flags))
"""
    )
    file.chmod(0o755)
    return file


def study_of_value(folder: Path, values: str, more: str = "") -> Path:
    drafts = '{"method": "ngram", "num_speculative_tokens": 1}'
    command = f"{drafting(folder)} serve stand-in --port {free_ports(1)[0]} --speculative-config '{drafts}'"
    arm = f'[[arm]]\nname = "drafts"\ncommand = {json.dumps(command)}\n'
    load = '[[workload]]\nname = "demo-stream"\n[workload.params]\nrequests = 2\ntokens = 300\nwarmup_tokens = 2\n'
    vary = f'[[vary]]\nfield = "num_speculative_tokens"\nvalues = {values}\n'
    file = folder / "value.toml"
    file.write_text(f'question = "value"\n{more}[budget]\nruns = 12\n{arm}{vary}{load}')
    return file


def start(file: Path, data: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(COMMAND_LINE), "study", "run", str(file), "--json"],
        env=os.environ | {"PITWALL_DATA": str(data)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answer(process: subprocess.Popen[str]) -> tuple[int, dict[str, Any]]:
    out, errors = process.communicate(timeout=500)
    assert out, errors
    return process.returncode, json.loads(out)


def rows(data: Path, sql: str) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(data / "monitor.duckdb"), read_only=True) as store:
        return store.sql(sql).fetchall()


def why_unranked(told: dict[str, Any]) -> set[str]:
    """The guard's rows that kept two arms apart."""
    words = [str(reason) for reason in told["reasons"] if "cannot be ranked" in str(reason)]
    return {word.strip(" .") for reason in words for word in reason.rpartition(":")[2].split(",")}


@pytest.mark.long
def test_faster_of_two_wins_with_the_true_ratio(tmp_path: Path) -> None:
    data = tmp_path / "data"
    status, told = answer(start(study(tmp_path, 13.0, 10.0), data))
    second = next(arm for arm in told["arms"] if arm["name"] == "b")
    if not why_unranked(told):
        assert (status, told["answer"], told["winner"]) == (0, "winner", "b")
        assert second["ratio"] == pytest.approx(1.3, rel=0.1)
        assert second["interval"][0] <= second["ratio"] <= second["interval"][1]
    else:
        assert (status, told["answer"]) == (3, "unknown")
        assert why_unranked(told) <= BUSY
    assert told["runs"] == len(rows(data, "SELECT 1 FROM runs WHERE arm IN ('a', 'b')")) <= 12
    assert rows(data, "SELECT state, answer FROM studies") == [("ended", told["answer"])]


@pytest.mark.wide
def test_unstartable_arms_are_listed_with_cause(tmp_path: Path) -> None:
    status, told = answer(start(study(tmp_path, 5.0, 5.0, command="-c raise-SystemExit"), tmp_path / "data"))
    assert (status, told["answer"], told["winner"]) == (1, "failed", None)
    assert {arm["state"] for arm in told["arms"]} == {"failed"}
    assert all(arm["cause"] for arm in told["arms"])


@pytest.mark.wide
def test_study_that_leaves_the_inbox_unstored_ends_with_a_sentence(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its file is deleted while another process owns the store."""
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    monkeypatch.setattr(command_line, "LISTED_WITHIN_S", 1.0)

    def delete_submission() -> None:
        while not (paths := list(inbox_folder(settings.data_dir).glob("*.study.json"))):
            time.sleep(0.05)
        paths[0].unlink()

    with process_of(OWN, settings, "1"):
        threading.Thread(target=delete_submission, daemon=True).start()
        assert main(["study", "run", str(study(tmp_path, 13.0, 10.0))]) == 1
    assert "is not in the store, and no longer in the inbox" in capsys.readouterr().err


@pytest.mark.long
def test_killed_it_goes_on_where_it_was(tmp_path: Path) -> None:
    data, file = tmp_path / "data", study(tmp_path, 13.0, 10.0, runs=4)
    first = start(file, data)
    deadline = time.monotonic() + 200
    while not ((data / "monitor.duckdb").exists() and rows(data, "SELECT 1 FROM runs WHERE state = 'finished'")):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.5)
    first.send_signal(signal.SIGKILL)
    first.wait()
    _, told = answer(start(file, data))
    assert told["runs"] == len(rows(data, "SELECT 1 FROM runs")) == 4
    assert len(rows(data, "SELECT 1 FROM studies")) == 1


@pytest.mark.long
def test_hopeless_value_is_predicted_not_started(tmp_path: Path) -> None:
    """True speeds of k = 1, 2, 6: 184, 256 and 442 tok/s; the runs of 6 and 1 bound that of 2 at 263."""
    data = tmp_path / "data"
    status, told = answer(start(study_of_value(tmp_path, "[1, 2, 6]"), data))
    arms = {arm["name"]: arm for arm in told["arms"]}
    order = [row[0] for row in rows(data, "SELECT arm FROM runs ORDER BY run_id")]
    assert order[:2] == ["num_tokens 6", "num_tokens 1"]
    middle = arms["num_tokens 2"]["predicted"]
    assert middle["why"].startswith("Predicted, not measured: decode_tps is at least")
    if why_unranked(told):
        assert why_unranked(told) <= BUSY
        return
    assert (status, told["answer"], told["winner"]) == (0, "winner", "num_tokens 6")
    assert arms["num_tokens 2"]["state"] == "predicted"
    assert "num_tokens 2" not in order and arms["num_tokens 2"]["runs"] == 0
    assert arms["num_tokens 2"]["ratio"] is None and arms["num_tokens 2"]["values"] == []
    assert middle["ratio"][0] < 256 / 184 * 1.1 and middle["ratio"][1] > 256 / 184 * 0.9
    assert arms["num_tokens 6"]["ratio"] == pytest.approx(442 / 184, rel=0.15)
    assert any("num_tokens 2 was not started. Predicted, not measured" in reason for reason in told["reasons"])


@pytest.mark.long
def test_a_winner_is_one_under_every_workload(tmp_path: Path) -> None:
    """A start carries both: the 10 ms of b are best under both."""
    file = study(tmp_path, 14.0, 10.0, runs=16)
    file.write_text(file.read_text() + LADDER)
    data = tmp_path / "data"
    status, told = answer(start(file, data))
    assert [workload["workload"] for workload in told["workloads"]] == ["demo-stream", "ladder"]
    assert told["runs"] == len(rows(data, "SELECT 1 FROM runs"))
    both = rows(data, "SELECT arm, workload, later_workloads FROM runs WHERE round <= 2")
    assert sorted(both) == [(arm, "demo-stream", ["ladder"]) for arm in "aabb"]
    served = "SELECT run_id, string_agg(workload, ' then ' ORDER BY ts) FROM loads GROUP BY run_id"
    carried = [words for _, words in rows(data, served)]
    assert carried.count("demo-stream then ladder") >= 4 and len(carried) == told["runs"]
    assert sum(workload["runs"] for workload in told["workloads"]) > told["runs"]
    if not why_unranked(told):
        assert (status, told["answer"], told["winner"]) == (0, "winner", "b")
        assert all(workload["arms"][1]["ratio"] > 1 for workload in told["workloads"])
    else:
        assert why_unranked(told) <= BUSY


@pytest.mark.long
def test_kill_between_workloads_resumes_at_second(tmp_path: Path) -> None:
    """The first load has ended and nobody was there to begin the second: nothing is done twice, nothing is left out."""
    data, file = tmp_path / "data", study(tmp_path, 13.0, 10.0, runs=4)
    file.write_text(file.read_text() + LADDER)
    first = start(file, data)
    deadline = time.monotonic() + 200
    while not (ended := list(data.glob("runs/*/workload/exit.json"))):
        assert first.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    served = ended[0].parents[1]
    _, told = answer(start(file, data))
    assert told["runs"] == len(rows(data, "SELECT 1 FROM runs WHERE state = 'finished'")) == 4
    loads = rows(data, "SELECT run_id, list(workload ORDER BY ts) FROM loads GROUP BY run_id")
    assert [names for _, names in loads] == [["demo-stream", "ladder"]] * 4
    assert served.name in {run_id for run_id, _ in loads}
    text = "SELECT count(*) = count(DISTINCT request_id) FROM requests"
    assert rows(data, text) == [(True,)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("demo-steam", "There is no workload 'demo-steam'; the workloads are five-prompts, "),
        ("demo-stream", "The workload demo-stream is invalid: wrong_name: Extra inputs are not permitted."),
    ],
)
def test_impossible_workload_refused_before_start(tmp_path: Path, name: str, words: str) -> None:
    file, data = study(tmp_path, 5.0, 5.0), tmp_path / "data"
    file.write_text(
        file.read_text()
        .replace('"demo-stream"', f'"{name}"')
        .replace("[workload.params]", "[workload.params]\nwrong_name = 1")
    )
    process = start(file, data)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 1 and words in told
    assert not data.exists()

"""`./pitwall sessions RUN`: the causes and turns of a recording, as text and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from domain import Config, Run, RunState
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.sessions.recorded_chats import BEGUN, HandMadeRecording, chat
from workloads.texts.shape_file import read_shape


@pytest.fixture
def recorded(settings: Settings, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs: an agent whose first tool moved, and one without a recording."""
    recording = HandMadeRecording()
    recording.add(chat("a", "b", "c", tools=("bash", "edit")), 1000, 0)
    recording.add(chat("a", "b", "c", "d", tools=("edit", "bash")), 1200, 100, ttft_ms=2000.0)
    for run_id in ("r", "other"):
        store.save_run(Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=BEGUN,
                           started_at=BEGUN, ready_at=BEGUN, state=RunState.FINISHED))  # fmt: skip
    store.write(Batch(tuple(recording.rows))).result(30)
    store.publish()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))


@pytest.mark.usefixtures("recorded")
def test_causes_come_first_and_each_turn_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "r"]) == 0
    cause, empty, head, first, second = capsys.readouterr().out.splitlines()
    assert cause == "The order of tools differs, from number 1 (`edit`) on. In 1 turn: 900 tokens again, 1.6 s."
    assert (empty, head.split()) == ("", ["turn", "prompt", "cached", "computed", "again", "why"])
    assert first.split() == ["1.1.1", "1,000", "0", "1,000", "0"]
    assert second.split()[:5] == ["1.1.2", "1,200", "100", "1,100", "900"]


@pytest.mark.usefixtures("recorded")
def test_json_has_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", "r", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (cause,) = document["causes"]
    assert (cause["cause"], cause["tokens"], cause["money"], cause["joules"]) == ("content", 900, None, None)
    assert [turn["miss"] and turn["miss"]["tokens"] for turn in document["turns"]] == [None, 900]


@pytest.mark.usefixtures("recorded")
def test_shape_is_written_for_a_replay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shape.jsonl"
    assert main(["sessions", "r", "--shape", str(file)]) == 0
    text = "2 requests of 1 session, 2,200 prompt tokens, of which the server computed 2,100."
    assert capsys.readouterr().out == f"{file}: {text}\n"
    assert [r.prompt_tokens for r in read_shape(str(file), 10).requests] == [1000, 1200]
    assert main(["sessions", "r", "--shape", str(file)]) == 1
    assert capsys.readouterr().err == f"{file} exists.\n"
    for arguments in (["other"], ["r", "--load", "nobody"]):
        assert main(["sessions", *arguments, "--shape", str(tmp_path / "none.jsonl")]) == 1
        assert capsys.readouterr().err.startswith("No recording of")


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(("run_id", "sentence"), [("nobody", "There is no run nobody."), ("other", "No recording of")])
def test_what_cannot_be_told_is_refused(run_id: str, sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sessions", run_id]) == 1
    assert capsys.readouterr().err.startswith(sentence)

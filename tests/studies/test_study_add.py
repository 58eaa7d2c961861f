"""`./pitwall study add`: an arm more from the command line, whoever owns the store."""

from __future__ import annotations

import getpass
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest

from cli.main import main
from cli.results.study_add import _write_as_owner
from collectors.imports.inbox import inbox_folder
from commands.study_change import Addition
from commands.study_file import StudyPlan, study_of_text
from domain import Study, utc_now
from settings import Settings
from storage.store import Store
from studies.runner import StudyRunner
from studies.submissions import STUDY, submit_addition, submit_study
from tests.demo_engine import ROOT
from tests.e2e.pitwall_process import wait_until
from tests.studies.test_study_file import ONE_ARM, WHICH
from tests.wide import wide_params
from workloads import spec_for
from workloads.process.prepare import COMMAND_LINE

VALUES = f'{ONE_ARM}[[vary]]\nfield = "max_num_seqs"\nvalues = [1, 2]\n'
ARM = '[[arm]]\nname = "c"\ncommand = "vllm serve o/m --port 8003"\n'


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """With a paused study of arms and one of values: no server is to be started here."""
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "data"))
    settings = Settings(data_dir=tmp_path / "data")
    store, now = Store.open(settings), utc_now()
    for name, text in (("arms", WHICH), ("values", VALUES), ("over", WHICH)):
        plan = study_of_text(text, name)
        study = Study(
            id=name, title=name, question=plan.question, created_at=now, updated_at=now, state="paused",
            plan=plan.model_dump(mode="json"),
        )  # fmt: skip
        store.save_study(study if name != "over" else study.model_copy(update={"state": "ended", "answer": {}}))
    store.close()
    return settings


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "more.toml"
    path.write_text(ARM)
    return path


@contextmanager
def owned(settings: Settings) -> Iterator[None]:
    """By a Pitwall whose studies are carried on."""
    store = Store.open(settings)
    nobody = SimpleNamespace(live_runs=list, queued_runs=list)
    runner = StudyRunner(store, nobody, inbox_folder(settings.data_dir), spec_for)  # type: ignore[arg-type]
    runner.start()
    try:
        yield
    finally:
        runner.close()
        store.close()


def add_here(capsys: pytest.CaptureFixture[str], *words: str) -> subprocess.CompletedProcess[str]:
    """In this process, where nobody else has the store: another one takes a second to start."""
    status, output = main(["study", "add", *words]), capsys.readouterr()
    return subprocess.CompletedProcess(words, status, output.out, output.err)


def add(*words: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: within one process DuckDB lets everybody open the store."""
    command = [sys.executable, str(COMMAND_LINE), "study", "add", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)


def plan_of(settings: Settings, study_id: str) -> StudyPlan:
    store = Store.open(settings)
    (actual_study,) = [study for study in store.studies() if study.id == study_id]
    store.close()
    return StudyPlan.model_validate(actual_study.plan)


def audited(settings: Settings) -> list[tuple[str, str, str]]:
    store = Store.open(settings)
    entries = store.audit(10)
    store.close()
    return [(entry.role, entry.action, entry.detail) for entry in entries]


def test_an_arm_joins_where_nobody_owns_the_store(
    settings: Settings, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["study", "add", "arms", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"study_id": "arms", "added": ["c"], "arms": ["a", "b", "c"]}
    assert [arm.config.port for arm in plan_of(settings, "arms").arms][-1] == 8003
    assert audited(settings) == [(f"{getpass.getuser()}, in a shell", "study arm", "arms: c")]


@pytest.mark.publishes
@pytest.mark.wide
def test_values_join_while_pitwall_runs(settings: Settings) -> None:
    with owned(settings):
        said = add("values", "--values", "4..5")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout == "Added from the next round on: max_num_seqs 4, max_num_seqs 5.\n"
    plan = plan_of(settings, "values")
    assert [arm.config.max_num_seqs for arm in plan.arms] == plan.vary[0].values == [1, 2, 4, 5]
    assert not list(inbox_folder(settings.data_dir).glob("*.json"))
    text = f"{getpass.getuser()}, in a shell"
    assert audited(settings) == [(text, "study arm", "values: max_num_seqs 4, max_num_seqs 5")]


@pytest.mark.publishes
@pytest.mark.parametrize("is_owned", [False, *wide_params(True)])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["none", "--values", "3"], "There is no study none."),
        (["over", "FILE"], "The study over has ended."),
        (["values", "--values", "2"], "already has an arm 'max_num_seqs 2'"),
        (["values", "FILE"], "add a value instead"),
        (["arms", "--values", "2"], "if a single setting is varied"),
    ],
)
def test_unjoinable_run_is_refused_in_a_sentence(
    settings: Settings,
    file: Path,
    words: list[str],
    sentence: str,
    is_owned: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [word.replace("FILE", str(file)) for word in words]
    with owned(settings) if is_owned else nullcontext():
        said = add(*words) if is_owned else add_here(capsys, *words)
    assert (said.returncode, said.stdout) == (1, "")
    assert sentence in said.stderr
    assert not list(inbox_folder(settings.data_dir).glob("*.json"))


@pytest.mark.parametrize("text", [WHICH, "arm = 1", '[[arm]]\nname = "c"\n', ""])
def test_file_with_more_than_arms_is_refused(
    settings: Settings, file: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    file.write_text(text)
    assert main(["study", "add", "arms", str(file)]) == 1
    assert capsys.readouterr().err.startswith("more, ")


@pytest.mark.parametrize("where", ["save_study", "record"])
def test_submission_stays_until_stored(settings: Settings, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """An exception stands for the kill: what follows it is not done either."""
    more = Addition(arms=study_of_text(f"{WHICH}{ARM}", "more").arms[-1:])
    path = submit_addition(inbox_folder(settings.data_dir), "arms", more, "ann, in a shell", utc_now())
    monkeypatch.setattr(Store, where, Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        _write_as_owner(settings, "arms", lambda plan: more, path)
    monkeypatch.undo()
    assert path.exists()
    with owned(settings):
        wait_until(lambda: not path.exists(), 60)
    assert [arm.name for arm in plan_of(settings, "arms").arms] == ["a", "b", "c"]


@pytest.mark.publishes
def test_what_nobody_can_take_is_no_obstacle(settings: Settings) -> None:
    folder = inbox_folder(settings.data_dir)
    path = submit_addition(folder, "over", Addition(arms=()), "root, in a shell", utc_now())
    (folder / "x.addition.json").write_text("{")
    with owned(settings):
        assert add("values", "--values", "3").returncode == 0
    assert not path.exists() and not list(folder.glob("*.json"))


def test_unknown_workload_ends_the_study(settings: Settings) -> None:
    """As one of another version's, or through the programs' door: the command line and the page refuse it first."""
    plan = study_of_text(WHICH.replace("five-prompts", "five-promts"), "w")
    study_id = submit_study(inbox_folder(settings.data_dir), plan, utc_now())
    with owned(settings):
        deadline = time.monotonic() + 60
        while (inbox_folder(settings.data_dir) / f"{study_id}{STUDY}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
    store = Store.open(settings)
    (ended,) = [study for study in store.studies() if study.id == study_id]
    store.close()
    assert ended.state == "ended" and ended.answer
    assert "There is no workload 'five-promts'" in " ".join(ended.answer["reasons"])

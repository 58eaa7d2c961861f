"""`./pitwall note` as a user calls it: with a Pitwall at work, without one, and killed at any moment."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import pytest

from cli.main import main
from collectors.imports.inbox import NoteJob, inbox_folder, new_job_id, read_status, submit_job
from domain import Config, Run, RunState
from notes import NoteEdit
from service.inbox import inbox_of, take_note
from settings import Settings
from storage.queries.note_queries import note_versions, notes
from storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
SECRET = "hf_abcdefghijklmnopqrstuvwx"
PATIENCE_S = 60.0
pytestmark = pytest.mark.publishes


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    """With one run; closed, so that a command may own it, unless a test opens it."""
    with opened(settings) as made:
        state = {"state": RunState.FINISHED, "started_at": NOW, "ended_at": NOW}
        made.save_run(
            Run(id="r1", name="fp8", color=0, config=Config(engine="vllm"), machine_id="m", created_at=NOW, **state)
        )
        yield made


@contextmanager
def opened(settings: Settings) -> Iterator[Store]:
    store = Store.open(settings)
    try:
        yield store
    finally:
        store.close()


class Done(NamedTuple):
    returncode: int
    stdout: bytes
    stderr: bytes


def note(settings: Settings, *words: str, text: bytes = b"") -> Done:
    """The command in this process: a Python of its own takes longer to start than the command to run."""
    out, errors = io.StringIO(), io.StringIO()
    environ = {"PITWALL_DATA": str(settings.data_dir), "USER": "ann", "LOGNAME": "ann"}
    with (
        mock.patch.dict(os.environ, environ),
        mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(text))),
        redirect_stdout(out),
        redirect_stderr(errors),
    ):
        try:
            status = main(["note", *words])
        except SystemExit as left:  # argparse's way to refuse
            status = int(left.code or 0)
    return Done(status, out.getvalue().encode(), errors.getvalue().encode())


def note_beside(settings: Settings, *words: str) -> Done:
    """The command in a process of its own: DuckDB's lock holds between processes."""
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    process = subprocess.run([ROOT / "pitwall", "note", *words], env=environ, capture_output=True, timeout=PATIENCE_S)
    return Done(process.returncode, process.stdout, process.stderr)


def test_command_owns_the_store_without_pitwall(store: Store, settings: Settings) -> None:
    store.close()
    words = ["r1", "--text", "-", "--tag", "fp8", "--tag", "night", "--star", "--verdict", "coding=4", "--json"]
    done = note(settings, *words, text=f"**Good**, with HF_TOKEN={SECRET}".encode())
    document = json.loads(done.stdout)
    assert (done.returncode, done.stderr, document["state"], document["note"]["version"]) == (0, b"", "done", 1)
    read = json.loads(note(settings, "r1", "--json").stdout)["note"]
    assert read == document["note"]
    assert (read["tags"], read["is_starred"], read["coding"]) == (["fp8", "night"], True, 4)
    assert read["text"] == "**Good**, with HF_TOKEN=<secret>"
    assert b"Coding 4/5" in note(settings, "r1").stdout
    with opened(settings) as again:
        audit = [(one.role, one.action, one.detail) for one in again.audit(10)]
    assert sorted(audit) == [
        ("ann, in a shell", "note", "version 1"), ("ann, in a shell", "rate", "Coding 4/5"),
        ("ann, in a shell", "star", ""), ("ann, in a shell", "tag", "fp8, night"),
    ]  # fmt: skip


@pytest.mark.wide
def test_running_pitwall_takes_only_named_fields(store: Store, settings: Settings) -> None:
    inbox = inbox_of(store, settings)
    inbox.start()
    try:
        first = note_beside(settings, "r1", "--text", "first", "--tag", "a", "--verdict", "language=2", "--star")
        second = note_beside(settings, "r1", "--tag", "b", "--untag", "a", "--verdict", "language=", "--no-star")
        third = note_beside(settings, "r1", "--tag", "b")
    finally:
        inbox.close()
    assert [one.returncode for one in (first, second, third)] == [0, 0, 0], first.stderr + second.stderr
    assert second.stdout == b"fp8 (r1), version 2: unstar, tag b, rate no verdict.\n"
    assert b"version 2 already says so" in third.stdout
    now = notes(store, ["r1"])["r1"]
    assert (now.version, now.text, now.tags, now.language, now.is_starred) == (2, "first", ("b",), None, False)


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("r2", "--star"), 1, "There is no run r2"),
        (("r2",), 1, "There is no run r2"),
        (("r1", "--tag", "x" * 41), 2, "tags: String should have at most 40 characters"),
        (("r1", "--text", "x" * 20_001), 2, "text: String should have at most 20000 characters"),
        (("r1", "--verdict", "coding=6"), 2, "coding=6: use one of agentic_feel, coding, language"),
        (("r1", "--verdict", "coding"), 2, "coding: use one of"),
    ],
)
def test_a_mistake_is_a_sentence(
    words: tuple[str, ...], status: int, sentence: str, store: Store, settings: Settings
) -> None:
    store.close()
    done = note(settings, *words)
    assert (done.returncode, sentence in done.stderr.decode()) == (status, True), done.stderr
    assert b"Traceback" not in done.stderr
    assert not list(inbox_folder(settings.data_dir).glob("*"))


def test_store_refuses_store_level_errors(store: Store, settings: Settings) -> None:
    """Each of two commands is within the limit, both together are not."""
    store.close()
    assert note(settings, "r1", *(word for n in range(15) for word in ("--tag", f"a{n}"))).returncode == 0
    more = note(settings, "r1", *(word for n in range(15) for word in ("--tag", f"b{n}")))
    assert (more.returncode, b"tags: Tuple should have at most 20 items" in more.stderr) == (1, True), more.stderr


def test_bytes_that_are_no_text_are_no_trace(store: Store, settings: Settings) -> None:
    store.close()
    assert note(settings, "r1", "--text", "-", text=b"a\xffb").returncode == 0
    with opened(settings) as again:
        assert notes(again, ["r1"])["r1"].text == "a\N{REPLACEMENT CHARACTER}b"


@pytest.mark.wide
def test_killed_command_loses_and_doubles_nothing(store: Store, settings: Settings) -> None:
    """The kill comes at another moment of the work each time; the next owner takes up what lies in the inbox."""
    store.close()
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    for index, delay_s in enumerate((0.0, 0.05, 0.3)):
        words = [ROOT / "pitwall", "note", "r1", "--tag", f"t{index}"]
        command = subprocess.Popen(words, env=environ, stdout=subprocess.DEVNULL)
        watched = threading.Timer(PATIENCE_S, command.kill)
        watched.start()
        folder = inbox_folder(settings.data_dir)
        names = {path.name for path in folder.glob("*")}
        while command.poll() is None and not {path.name for path in folder.glob("*.json")} - names:
            time.sleep(0.01)
        time.sleep(delay_s)
        command.send_signal(signal.SIGKILL)
        command.wait()
        watched.cancel()
    assert note(settings, "r1", "--tag", "last").returncode == 0
    with opened(settings) as again:
        versions = note_versions(again, ["r1"])
        audit = [one.detail for one in again.audit(100)]
    assert [version.tags[-1] for version in versions] == ["t0", "t1", "t2", "last"]
    assert sorted(audit) == sorted(", ".join(version.tags) for version in versions), "the audit tells each once"


def test_pitwall_killed_before_reply_stores_once(store: Store) -> None:
    """Meanwhile somebody else has changed the same thing: the repeated job must not undo it."""
    job = NoteJob(id="j", run="r1", said_at=NOW, by="ann", edit=NoteEdit(text="mine", is_starred=True))
    take_note(store, job)
    store.notes.change(["r1"], "operator", lambda now: now.model_copy(update={"text": "newer", "is_starred": False}))
    said, _ = take_note(store, job)
    assert said.text == "mine", "the outcome is that of the first time"
    now = notes(store, ["r1"])["r1"]
    assert (now.version, now.text, now.is_starred) == (2, "newer", False)
    assert len(store.audit(10)) == 2


def test_a_job_waits_for_the_owner_that_comes(store: Store, settings: Settings) -> None:
    folder = inbox_folder(settings.data_dir)
    now = datetime.now(UTC)
    submit_job(folder, NoteJob(id=new_job_id(now), run="r1", said_at=now, by="ann", edit=NoteEdit(tags=("a",))))
    [job] = folder.glob("*.job.json")
    job_id = job.name.removesuffix(".job.json")
    assert read_status(folder, job_id).state == "waiting"
    store.close()
    assert note(settings, "r1", "--tag", "b").returncode == 0
    assert read_status(folder, job_id).state == "done"
    with opened(settings) as again:
        assert notes(again, ["r1"])["r1"].tags == ("a", "b")


@pytest.mark.wide
def test_command_takes_store_of_killed_pitwall(store: Store, settings: Settings) -> None:
    """Here a process holds the store and works nothing off, then is killed."""
    store.close()
    environ = os.environ | {"PITWALL_DATA": str(settings.data_dir)}
    code = (
        "import time\nfrom settings import load_settings\nfrom storage.store import Store\n"
        "store = Store.open(load_settings())\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
    assert owner.stdout and owner.stdout.readline() == "open\n"
    command = subprocess.Popen([ROOT / "pitwall", "note", "r1", "--star"], env=environ, stdout=subprocess.PIPE)
    try:
        while not list(inbox_folder(settings.data_dir).glob("*.job.json")):
            assert command.poll() is None
            time.sleep(0.02)
        owner.kill()
        owner.wait()
        said, _ = command.communicate(timeout=PATIENCE_S)
    finally:
        owner.kill()
        command.kill()
    assert (command.returncode, said) == (0, b"fp8 (r1), version 1: star.\n")

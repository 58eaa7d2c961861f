"""`./pitwall` as a user calls it: from any folder, with one sentence and a status for every mistake."""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.main import main, parser
from collectors.imports.inbox import inbox_folder
from settings import Settings
from storage.store import Store

ROOT = Path(__file__).resolve().parents[2]
PITWALL = str(ROOT / "pitwall")
LOG = ROOT / "tests/fixtures/vllm/0.32-ngram.log"
COMMANDS = (
    "run", "parse", "explain", "import", "note", "load", "drive", "record", "agent", "study", "report", "claims",
    "compare", "check", "export", "backup", "restore", "schema", "token", "peer", "host", "shim", "lake", "gpus",
    "identify", "notify", "doctor", "mcp", "proposal", "sessions", "task",
)  # fmt: skip
PATIENCE_S = 60.0


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return os.environ | {"PITWALL_DATA": str(tmp_path / "data")}


def pitwall(*words: str, environ: dict[str, str], cwd: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([PITWALL, *words], env=environ, cwd=cwd, input=text, capture_output=True, text=True)


def wait_for(holds: Callable[[], object]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end_s, "it did not come"
        time.sleep(0.05)


def test_help_lists_commands_and_exit_statuses(environ: dict[str, str], tmp_path: Path) -> None:
    actual_pitwall = pitwall("--help", environ=environ, cwd=tmp_path)
    assert actual_pitwall.returncode == 0
    assert all(f"\n    {name} " in actual_pitwall.stdout for name in COMMANDS)
    assert "exit status:" in actual_pitwall.stdout and "a load whose server was never reached" in actual_pitwall.stdout
    document = (ROOT / "docs/command-line.md").read_text()
    assert all(f"`{name}" in document for name in COMMANDS), "docs/command-line.md tells each"


def options_of(command: argparse.ArgumentParser) -> set[str]:
    """The long options of a command and of those within it."""
    inner = [action for action in command._actions if isinstance(action, argparse._SubParsersAction)]
    words = {word for action in command._actions for word in action.option_strings if word.startswith("--")}
    return words.union(*(options_of(choice) for action in inner for choice in action.choices.values()))


def test_the_document_names_every_option() -> None:
    document = (ROOT / "docs/command-line.md").read_text()
    assert sorted(name for name in options_of(parser()) if name not in document) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    output = capsys.readouterr()
    assert (ended.value.code, output.err) == (0, "") and output.out.startswith("usage: ./pitwall " + name)


@pytest.mark.parametrize(
    ("text", "needed", "not_needed"),
    [
        ("parser()", "cli.machines.shim", {"asyncio", "pydantic", "httpx"}),
        ("main(['shim', 'list'])", "launcher.remote.remote_shim", {"httpx", "rich", "duckdb", "numpy", "streamlit"}),
        (f"main(['import', '{LOG.relative_to(ROOT)}'])", "storage.store", {"pandas", "streamlit"}),
    ],
)
def test_command_does_not_load_other_libraries(
    text: str, needed: str, not_needed: set[str], environ: dict[str, str]
) -> None:
    """A launch by ssh is several processes on the far machine, each of which pays for what it imports.

    And a first value given to DuckDB or Arrow would import pandas, which takes longer than most commands.
    """
    script = f"import sys; from cli.main import main, parser; {text}; print(*sys.modules, sep='\\n')"
    process = subprocess.run([sys.executable, "-c", script], env=environ, cwd=ROOT, capture_output=True, text=True)
    modules = set(process.stdout.splitlines())
    assert needed in modules, process.stderr
    assert modules & not_needed == set()


def test_works_from_any_folder_and_through_a_link(environ: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "here.log").write_bytes(LOG.read_bytes())
    link = tmp_path / "pw"
    link.symlink_to(PITWALL)
    process = subprocess.run([link, "parse", "here.log"], cwd=tmp_path, env=environ, capture_output=True, text=True)
    assert json.loads(process.stdout)["engine"] == "vllm"


@pytest.mark.parametrize(
    ("words", "status", "sentence"),
    [
        (("parse", "gone.log"), 2, "gone.log: No such file or directory."),
        (("parse", "--engine", "x", "gone.log"), 2, "There is no engine x: use one of"),
        (("import", "gone.log"), 2, "There is no file gone.log."),
        (("load", "gone.json"), 2, "gone.json: No such file or directory."),
        (("load", "report", "gone.jsonl"), 2, "gone.jsonl: No such file or directory."),
        (("load", "a", "b"), 2, "give one SPEC.json, or report and one FILE"),
        (("check",), 1, "There is no published file"),
        (("restore", "gone.zip"), 2, "gone.zip: No such file"),
        (("identify", "http://127.0.0.1:9"), 1, "127.0.0.1:9"),
        (("explain", "a-pipe"), 2, "a-pipe is a pipe (FIFO), not a regular file"),
        (("parse", "a-pipe"), 2, "a-pipe is a pipe (FIFO), not a regular file"),
        (("load", "a-pipe"), 2, "a-pipe is a pipe (FIFO), not a regular file"),
        (("load", "report", "a-pipe"), 2, "a-pipe is a pipe (FIFO), not a regular file"),
        (("study", "run", "a-pipe"), 1, "a-pipe is not a regular file."),
        (("explain", "/dev/zero"), 2, "/dev/zero is a device, not a regular file"),
        (("explain", "large"), 1, "large is larger than the limit of 1 MiB."),
        (("load", "large"), 1, "large is larger than the limit of 16 MiB"),
    ],
)
def test_a_mistake_is_a_sentence_and_a_status(
    words: tuple[str, ...], status: int, sentence: str, environ: dict[str, str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "a-pipe")
    with (tmp_path / "large").open("wb") as large:
        large.truncate((16 << 20) + 1)
    done = pitwall(*words, environ=environ, cwd=tmp_path)
    assert (done.returncode, sentence in done.stderr) == (status, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_pipe_without_end_is_read_up_to_a_limit(environ: dict[str, str]) -> None:
    with Path("/dev/zero").open("rb") as endless:
        process = subprocess.run([PITWALL, "explain", "-"], env=environ, stdin=endless, capture_output=True, text=True)
    assert (process.returncode, process.stderr) == (1, "Standard input is larger than the limit of 1 MiB.\n")


def test_occupied_port_is_reported_before_start(environ: dict[str, str], tmp_path: Path) -> None:
    with socket.socket() as taken_socket:
        taken_socket.bind(("127.0.0.1", 0))
        taken_socket.listen()
        taking = environ | {"PITWALL_PORT": str(taken_socket.getsockname()[1])}
        done = pitwall("run", environ=taking, cwd=tmp_path)
    assert done.returncode == 1
    assert "is in use" in done.stderr and "Choose another with PITWALL_PORT" in done.stderr


def test_a_program_reads_json(environ: dict[str, str], tmp_path: Path) -> None:
    taken_pitwall = pitwall("import", "--json", str(LOG), str(ROOT / "Makefile"), environ=environ, cwd=tmp_path)
    log, other_document = (json.loads(line) for line in taken_pitwall.stdout.splitlines())
    assert (taken_pitwall.returncode, log["state"], other_document["state"], other_document["run_ids"]) == (
        1,
        "done",
        "refused",
        [],
    )
    checked = json.loads(pitwall("check", "--json", environ=environ, cwd=tmp_path).stdout)
    assert checked["rows"]["runs"] == 1
    exported = pitwall("export", log["run_ids"][0], "-o", "run.pitwall.zip", "--json", environ=environ, cwd=tmp_path)
    assert json.loads(exported.stdout)["size_bytes"] == (tmp_path / "run.pitwall.zip").stat().st_size


@pytest.mark.wide
def test_import_survives_pitwalls_end(environ: dict[str, str], tmp_path: Path) -> None:
    """Here a process holds the store and works nothing off, then is killed: the command takes its place."""
    code = (
        "import sys, time\nfrom settings import load_settings\nfrom storage.store import Store\n"
        "store = Store.open(load_settings())\nprint('open', flush=True)\ntime.sleep(600)\n"
    )
    owner = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True)
    assert owner.stdout and owner.stdout.readline() == "open\n"
    data = Path(environ["PITWALL_DATA"])
    command = subprocess.Popen([PITWALL, "import", str(LOG)], env=environ, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: list(inbox_folder(data).glob("*.job.json")))
        owner.kill()
        owner.wait()
        said, _ = command.communicate(timeout=PATIENCE_S)
    finally:
        owner.kill()
        command.kill()
    assert command.returncode == 0 and "was imported as the run vLLM" in said
    assert runs_in(data) == 1


@pytest.mark.wide
def test_next_store_owner_resumes_killed_import(environ: dict[str, str], tmp_path: Path) -> None:
    """The job is in the inbox before it is worked off, so that a kill -9 at any moment loses and doubles nothing."""
    data = Path(environ["PITWALL_DATA"])
    for delay_s in (0.0, 0.1, 0.3):
        command = subprocess.Popen([PITWALL, "import", str(LOG)], env=environ, stdout=subprocess.DEVNULL)
        watched = threading.Timer(PATIENCE_S, command.kill)
        watched.start()
        wait_for(lambda: command.poll() is not None or list(inbox_folder(data).glob("*.job.json")))  # noqa: B023
        time.sleep(delay_s)  # the kill comes at another moment of the work each time
        command.send_signal(signal.SIGKILL)
        command.wait()
        watched.cancel()
    done = pitwall("import", str(LOG), environ=environ, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wait_for(lambda: not list(inbox_folder(data).glob("*.job.json")))
    assert runs_in(data) == 1, "one log is one run, however often it is handed in"


def runs_in(data: Path) -> int:
    store = Store.open(Settings(data_dir=data))
    try:
        return len(store.runs())
    finally:
        store.close()

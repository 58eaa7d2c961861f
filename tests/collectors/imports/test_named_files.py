"""A person names files for an import as in a shell: in full, from home, or by a pattern."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from cli.main import main
from collectors.imports.inbox import inbox_folder
from collectors.imports.log_file import ImportRefusedError
from collectors.imports.named_files import MAX_FILES, named_files
from settings import Settings
from web.context import provided_services
from web.markup import markdown_text

LOG = Path(__file__).resolve().parents[2] / "fixtures/vllm/0.32-ngram.log"
FORM = """
from web.launch.import_form import import_form

import_form()
"""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with logs, from which the words are read."""
    for name in ("logs/b.log", "logs/a.log", "logs/c[1].log", "logs/note.txt", "results/x.json"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(LOG.read_bytes())
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("logs/a.log", ["logs/a.log"]),
        ("~/logs/?.log", ["~/logs/a.log", "~/logs/b.log"]),
        ("logs/[b-z]*.log", ["logs/b.log", "logs/c[1].log"]),
        ("logs/c[1].log", ["logs/c[1].log"]),
        ("r*", ["results"]),
    ],
)
def test_what_is_named_is_found(home: Path, text: str, names: list[str]) -> None:
    assert named_files(text) == [Path(name).expanduser() for name in names]


@pytest.mark.parametrize("name", ["red\x1b[31m.log", "two\nlines.log", os.fsdecode(b"bad\xff.log")])
def test_names_that_cannot_be_shown_are_refused(home: Path, name: str) -> None:
    """Printed to a terminal they would act on it, and no job could hold their bytes."""
    (home / name).write_bytes(b"x")
    for text in (name, "*.log"):
        with pytest.raises(ImportRefusedError, match=r"has characters that cannot be shown, here as '\?': rename"):
            named_files(text)
    (home / name).unlink()
    (home / "non-breaking\u00a0space.log").write_bytes(b"x")
    assert len(named_files("*.log")) == 1


def test_a_pipe_is_no_missing_file(home: Path) -> None:
    os.mkfifo(home / "pipe")
    with pytest.raises(ImportRefusedError, match="pipe is neither a file nor a folder"):
        named_files("pipe")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("gone.log", "There is no file gone.log."),
        ("logs/*.gz", "There is no file logs/*.gz."),
        ("~nobody-of-this-name/a.log", "The home folder in ~nobody-of-this-name/a.log is unknown: "),
        ("many/*", f"More than {MAX_FILES:,} files match many/*: "),
    ],
)
def test_what_is_not_there_is_a_sentence(home: Path, text: str, sentence: str) -> None:
    (home / "many").mkdir()
    for number in range(MAX_FILES + 1):
        (home / f"many/{number}").touch()
    with pytest.raises(ImportRefusedError) as refusal:
        named_files(text)
    assert str(refusal.value).startswith(sentence)


def test_command_imports_quoted_pattern_matches(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(home / "data"))
    assert main(["import", "--json", "logs/[ab].log"]) == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [Path(one["file"]).name for one in documents] == ["a.log", "b.log"]
    assert main(["import", "logs/*.gz"]) == 2
    assert capsys.readouterr().err == "There is no file logs/*.gz.\n"


@pytest.fixture
def inbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    settings = Settings(data_dir=tmp_path / "data")
    audited = SimpleNamespace(audit=lambda *_: None)
    monkeypatch.setattr("web.actions.current_role", lambda: "operator")
    monkeypatch.setattr("web.audit.record", lambda *_, **__: None)
    stand_in = SimpleNamespace(settings=settings, store=audited)
    with provided_services(stand_in):  # type: ignore[arg-type]
        yield inbox_folder(settings.data_dir)


def test_the_page_hands_in_each_file_of_a_pattern(home: Path, inbox: Path) -> None:
    at = AppTest.from_string(FORM, default_timeout=60).run()
    at.text_input[0].set_value("~/logs/*.gz")
    at.button[0].click().run()
    assert not at.exception and [error.value for error in at.error] == [
        markdown_text(f"There is no file {home}/logs/*.gz.")
    ]
    at.text_input[0].set_value(" ~/logs/?.log ")
    at.button[0].click().run()
    assert not at.exception, at.exception
    jobs = [json.loads(path.read_text()) for path in inbox.glob("*.job.json")]
    assert sorted(job["path"] for job in jobs) == [f"{home}/logs/a.log", f"{home}/logs/b.log"]

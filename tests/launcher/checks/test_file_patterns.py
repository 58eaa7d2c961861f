"""File patterns of a command become the files that a real bash would name, and the run's record has them."""

from __future__ import annotations

import random
import subprocess
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from commands.expansion import expand_config
from commands.explain import explain
from commands.presets import Needs
from commands.write import shell_text
from domain import Config
from launcher.checks.file_patterns import MOST_MATCHES, resolve_patterns
from launcher.checks.launch_request import LaunchRefusedError
from launcher.checks.requirements import GpuFacts, find_doubts, find_lacks
from launcher.processes.process import read_spec
from launcher.runs.supervisor import Supervisor
from tests.launcher.servers import DictStore, request_for

TELL = 'llama-server() { printf "%s\\0" llama-server "$@"; }\n'
FILES = (
    "models/a-Q4.gguf", "models/b-Q8.gguf", "models/.hidden.gguf", "models/odd[1]*$X.gguf", "one/only.gguf",
    "two words/m.gguf", "~x/m.gguf", "here.gguf", "args/-x.gguf", "args/9.gguf", "deep/er/m.gguf",
)  # fmt: skip
PASTES = [
    "llama-server -m one/*.gguf",
    "llama-server -m models/*.gguf --port 1",
    "llama-server -m ./one/only.ggu?",
    "llama-server -m models/[ab]-*.gguf",
    "llama-server -m models/[!a]-*.gguf",
    "llama-server -m models/[^a]-*.gguf",
    "llama-server -m *.gguf",
    "llama-server -m ~/models/a*.gguf --lora $DIR/one/*.gguf",
    "llama-server -m 'two words'/*.gguf",
    "llama-server -m './~x'/*.gguf",
    "llama-server -m 'models/*.gguf'",
    'llama-server -m "models/"*".gguf"',
    r"llama-server -m models/\*.gguf --x models/'a*'",
    r"llama-server -m models/odd\[1\]\**",
    "llama-server -m models/'odd[1]*$X'*",
    "llama-server -m none/*.gguf",
    "llama-server -m deep/**/m.gguf -md de*/er/",
    "llama-server -m here.gguf -ot .ffn_.*_exps.=CPU --x '{\"a/b\": [1, 2]}' --y [1] --z 'a/[1]?'",
    "llama-server -m here.gguf --url http://h/?a=* --lora=one/*.gguf",
    "PATTERN='one/*.gguf'\nllama-server -m here.gguf --x \"$PATTERN\" --y=$PATTERN",
    "A='o*'\nllama-server -m here.gguf --x \"${A}/\"",
    "llama-server -m args/*.gguf",
    'PATTERN=\'one/*.gguf\'\nllama-server -m $PATTERN --x "$PATTERN" --y "$PATTERN"x/b',
    r"llama-server -m here.gguf --x 'one/\*.gguf' --y one/\\*.gguf",
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


def environ_of(folder: Path) -> dict[str, str]:
    return {"LC_ALL": "C", "HOME": str(folder), "DIR": str(folder), "X": "x", "PATH": "/usr/bin:/bin"}


def in_bash(text: str, folder: Path) -> list[str]:
    """The words that the program is given."""
    fields = {"input": TELL + text, "env": environ_of(folder), "cwd": folder, "capture_output": True, "check": True}
    return subprocess.run(["bash"], text=True, **fields).stdout.split("\0")[:-1]


def config_of(text: str) -> Config:
    config = explain(text).config
    assert config
    return config


def launched(config: Config, folder: Path) -> list[str]:
    """The words that Pitwall starts."""
    environ = environ_of(folder)
    return list(expand_config(resolve_patterns(config, environ, folder), environ).config.argv)


@pytest.mark.parametrize("paste", PASTES)
def test_paste_names_the_same_files_as_a_shell(paste: str, folder: Path) -> None:
    assert launched(config_of(paste), folder) == in_bash(paste, folder)


@pytest.mark.parametrize("paste", PASTES)
def test_copied_command_equals_shell_and_pitwall(paste: str, folder: Path) -> None:
    copied = shell_text(config_of(paste).argv)
    assert in_bash(copied, folder) == in_bash(paste, folder)
    assert config_of(copied).argv == config_of(paste).argv


def generated(seed: int) -> str:
    """A command with signs of patterns inside and outside of quotes; one seed, one command."""
    draw = random.Random(seed)
    parts = ["models/", "one/", "a-Q4", "b-", "*", "?", "[ab]", "[!a]", "[1]", ".gguf", "odd", "\\", "${X}", "only"]
    forms = ["{}", "{}", "{}", "'{}'", '"{}"']

    def piece() -> str:
        form, part = draw.choice(forms), draw.choice(parts)
        return form.format("\\\\" if part == "\\" and form != "'{}'" else part)

    words = ["".join(piece() for _ in range(draw.randrange(1, 6))) for _ in range(3)]
    return "llama-server -m here.gguf --x " + " --y ".join(words)


def test_generated_patterns_match_a_shell(folder: Path) -> None:
    """Words that do not read like a path are left alone, which is told: here each has a slash."""
    pastes = [paste.replace("--x ", "--x ./").replace("--y ", "--y ./") for paste in map(generated, range(600))]
    expected = in_bash("\n".join(f"{paste}\nprintf '\\1\\0'" for paste in pastes), folder)
    actual_words = [list(words) for is_end, words in groupby(expected, key=lambda word: word == "\1") if not is_end]
    for paste, words in zip(pastes, actual_words, strict=True):
        assert launched(config_of(paste), folder) == words, paste


def test_the_typed_fields_say_the_files_too(folder: Path) -> None:
    named_resolve_patterns = resolve_patterns(
        config_of("llama-server -m one/*.gguf -md deep/er/?.gguf"), environ_of(folder), folder
    )
    assert (
        named_resolve_patterns.model == "one/only.gguf"
        and named_resolve_patterns.speculative
        and named_resolve_patterns.speculative.model == "deep/er/m.gguf"
    )
    assert resolve_patterns(named_resolve_patterns, environ_of(folder), folder) == named_resolve_patterns


def test_the_record_and_the_start_have_the_files(supervisor: Supervisor, store: DictStore, folder: Path) -> None:
    request = request_for()
    words = (*request.config.argv, "./one/*.gguf", r"./one/\*.gguf")
    run = supervisor.launch(replace(request, config=request.config.model_copy(update={"argv": words}), cwd=folder))
    assert run.config.argv[-2:] == ("./one/only.gguf", r"./one/\*.gguf")
    assert run.run_dir and read_spec(Path(run.run_dir))["argv"][-2:] == ["./one/only.gguf", "./one/*.gguf"]


def test_too_many_files_are_refused_unlisted(folder: Path) -> None:
    config = config_of("llama-server -m here.gguf --x many/* --y none/*.json --port 1")
    (actual_doubt,) = [doubt for doubt in find_doubts(config, Needs(), GpuFacts(), folder) if "none/" in doubt]
    assert actual_doubt == "No file matches none/*.json; it is passed on unchanged."
    (folder / "many").mkdir()
    for number in range(MOST_MATCHES + 1):
        (folder / f"many/{number}").touch()
    sentence = f"The pattern many/* matches more than {MOST_MATCHES} files: please name the file that you mean."
    with pytest.raises(LaunchRefusedError) as refusal:
        resolve_patterns(config, environ_of(folder), folder)
    assert str(refusal.value) == sentence
    assert find_lacks(config, Needs(), GpuFacts(), folder) == [sentence]
    assert find_doubts(config, Needs(), GpuFacts(), folder) == [actual_doubt]

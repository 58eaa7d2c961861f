"""Presets: the published commands come out of them again, and a mistake in one names its line."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from commands.explain import explain
from commands.presets import SHIPPED, PresetError, preset_text, read_preset, read_presets, save_preset
from commands.write import shell_text
from domain import Config
from reference.published import load_published
from tests.reference.published_commands import COMMANDS, PublishedCommand

SHELF = read_presets([SHIPPED])
GOOD = """name = "x"
frame = ["vllm", "serve"]

[config]
engine = "vllm"
model = "o/m"
max_num_seqs = 4

[config.speculative]
num_tokens = 2
"""


def words_of(text: str) -> Counter[str]:
    """The words of a command whatever their order; '--a=b' is '--a b', and JSON counts by its meaning."""
    words = list(explain(text).config.argv)  # type: ignore[union-attr]
    split = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
    return Counter(json.dumps(json.loads(word), sort_keys=True) if word.startswith("{") else word for word in split)


def test_every_shipped_preset_is_valid() -> None:
    assert SHELF.problems == []
    assert len(SHELF.presets) == 15


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.id)
def test_preset_regenerates_its_published_command(command: PublishedCommand) -> None:
    config = SHELF.presets[command.preset].launchable
    env = {} if config.image else config.env
    assert words_of(shell_text(config.argv, env)) == words_of(command.text)
    read = explain(command.text).config
    assert read and config.env == read.env
    update = {"argv": (), "engine_version": None}
    assert config.model_copy(update=update) == read.model_copy(update=update)


@pytest.mark.parametrize("stem", sorted(SHELF.presets))
def test_what_a_source_does_not_say_is_marked(stem: str) -> None:
    preset = SHELF.presets[stem]
    assert preset.published in load_published()
    fields = preset.config.model_dump(exclude_none=True)
    assert all(key.split(".")[0] not in fields for key in preset.required)
    text = " ".join(preset.launchable.argv)
    for key in preset.inferred:
        assert key in text if key.startswith("--") else fields.get(key.split(".")[0]), key
    is_printed = stem in {command.preset for command in COMMANDS}
    assert is_printed != bool(preset.inferred)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("max_num_seqs = 4", 'max_num_seqs = "4"', 7, "config.max_num_seqs must be a whole number, not '4'"),
        ("num_tokens = 2", "num_tokens = 2.5", 10, "config.speculative.num_tokens must be a whole number, not 2.5"),
        ("max_num_seqs = 4", "max_nums_seqs = 4", 7, "config.max_nums_seqs is not a key of a preset"),
        ('name = "x"', 'name = "x"\nflame = []', 2, "flame is not a key of a preset"),
        ('frame = ["vllm", "serve"]', 'frame = "vllm"', 2, "frame must be a list"),
        ('engine = "vllm"', 'engine = "vllm', 5, "this is not TOML"),
        ('name = "x"', "", 1, "the key name is missing"),
        ("num_tokens = 2", 'num_tokens = 2\n[inferred]\nmodle = "?"', 11, "'modle' is not a field of a configuration"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, old: str, new: str, line: int, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(PresetError) as refusal:
        read_preset(path)
    assert str(refusal.value).startswith(f"{path}:{line}: ") and said in str(refusal.value)


def test_a_broken_preset_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD)
    (tmp_path / "bad.toml").write_text("name = 3")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    os.mkfifo(tmp_path / "pipe.toml")
    shelf = read_presets([tmp_path])
    assert list(shelf.presets) == ["good"] and len(shelf.problems) == 3
    assert shelf.problems[-1] == f"{tmp_path / 'pipe.toml'}: it is not a regular file."


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000, f"0x{'f' * 5000}"])
def test_value_that_no_reader_expects_is_told(tmp_path: Path, value: str) -> None:
    (tmp_path / "bad.toml").write_text(f"name = {value}")
    (problem,) = read_presets([tmp_path]).problems
    assert "this is not TOML" in problem and problem.endswith(".") and len(problem) < 300


PASTES = [
    "vllm serve o/m --port 8000 --max-model-len 16K --trust-remote-code",
    "docker run --rm -e A=1 -p 81:80 vllm/vllm-openai:x --model m --port 80",
    "llama-server -m /m.gguf -c 512 -ctk q8_0 -ctv q8_0",
    "/opt/server --port 80",
]


@pytest.mark.parametrize("paste", PASTES)
def test_a_saved_preset_is_the_same_configuration(tmp_path: Path, paste: str) -> None:
    config = explain(paste).config or Config(argv=tuple(paste.split()))
    path = save_preset(tmp_path / "new", "My first, at 16K!", config)
    assert path.name == "my-first-at-16k.toml"
    assert read_preset(path).launchable == config
    assert read_preset(path).name == "My first, at 16K!"


def test_a_name_that_is_taken_or_empty_is_refused(tmp_path: Path) -> None:
    config = Config(argv=("x",))
    save_preset(tmp_path, "one", config)
    for name in ("One", "  ", "../.."):
        with pytest.raises(PresetError):
            save_preset(tmp_path, name, config)
    assert [path.name for path in tmp_path.iterdir()] == ["one.toml"]


def test_no_secret_is_in_a_saved_preset(tmp_path: Path) -> None:
    config = explain("HF_TOKEN=hf_abcdefghijklmnop vllm serve m --api-key sk-1234567890abcdef").config
    assert config
    text = save_preset(tmp_path, "keys", config).read_text()
    assert "hf_abc" not in text and "sk-1234" not in text and "<secret>" in text


def test_the_text_of_a_shipped_preset_reads_back(tmp_path: Path) -> None:
    for stem, preset in SHELF.presets.items():
        (tmp_path / f"{stem}.toml").write_text(preset_text(preset))
    assert read_presets([tmp_path]).presets == SHELF.presets

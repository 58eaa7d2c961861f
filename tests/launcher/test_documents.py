"""Every launch command and preset of the documents is started for real; stand-ins write down what reached them.

The facts say what the document's words are after a shell; a real bash, given the same text and the same stand-ins,
says so too.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from commands.explain import explain_with_secrets
from commands.presets import SHIPPED, read_presets
from commands.write import command_of, shell_text
from domain import Config
from launcher.checks.launch_request import LaunchRequest
from launcher.runs.supervisor import Supervisor
from tests.launcher.recorders import environ_for, make_recorders, read_record
from tests.launcher.servers import wait_for
from tests.ports import free_ports
from tests.reference.published_commands import COMMANDS

FACTS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "fixtures/commands/documents.json").read_text(encoding="utf-8")
)
PRESETS = read_presets([SHIPPED]).presets
CLUSTER = "containers/spark-vllm-docker"
CLIENT_KEEPS = {"--rm", "-d", "--detach"}  # of what a container's client is told, Pitwall leaves these out
TELLING = ("HF_", "VLLM_", "NVIDIA_", "CUDA_")
Launch = Callable[[Config], dict[str, Any]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder with the scripts of the documents; the stand-ins are first on the PATH."""
    home = tmp_path / "home"
    make_recorders(home / "bin")
    make_recorders(home / CLUSTER, ["launch-cluster.sh"])
    make_recorders(home, ["run-recipe.sh"])
    (home / ".cache/huggingface").mkdir(parents=True)
    for name, value in environ_for(home / "bin", home, tmp_path / "launched.json").items():
        monkeypatch.setenv(name, value)
    for name in [name for name in os.environ if name.startswith(TELLING)]:
        monkeypatch.delenv(name)
    return home


@pytest.fixture
def launch(supervisor: Supervisor, home: Path, tmp_path: Path) -> Launch:
    """Starts a config and gives what its stand-in wrote down."""

    def launched(config: Config) -> dict[str, Any]:
        base_url = f"http://127.0.0.1:{free_ports(1)[0]}"
        supervisor.launch(LaunchRequest(config, base_url=base_url, cwd=home))
        record: dict[str, Any] = wait_for(lambda: read_record(tmp_path / "launched.json"))
        return record

    return launched


def in_bash(text: str, home: Path, tmp_path: Path) -> dict[str, Any]:
    """What reaches the stand-in when a person pastes the text into a terminal."""
    environ = environ_for(home / "bin", home, tmp_path / "typed.json") | {"RECORD_ONLY": "1"}
    subprocess.run(["bash", "-c", text], env=environ, cwd=home, check=True, timeout=60)
    record = read_record(tmp_path / "typed.json")
    assert record
    return record


def without_ours(argv: Sequence[str], run_id_mark: str = "pitwall.run=") -> list[str]:
    """The words without what Pitwall adds for a container: a name of its own, its label, its marker."""
    words = list(argv)
    for at in range(len(words) - 1, 0, -1):
        is_ours = words[at].startswith((run_id_mark, "PITWALL_RUN_ID=", "pitwall-"))
        if is_ours and words[at - 1] in ("--label", "--env", "--name"):
            del words[at - 1 : at + 1]
    return words


def undetached_words(argv: Sequence[str]) -> list[str]:
    """The words of a typed command without what would detach or remove the container, or start it again."""
    if Path(argv[0]).name not in ("docker", "podman"):
        return list(argv)
    words = [word for word in argv if word not in CLIENT_KEEPS]
    if "--restart" in words:
        del words[(at := words.index("--restart")) : at + 2]
    return words


def own_words(record: dict[str, Any], home: Path) -> list[str]:
    """The recorded words, the program as the document names it."""
    program = record["argv"][0].removeprefix(f"{home}/bin/")
    return [program, *record["argv"][1:]]


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: str(fact["id"]))
def test_documented_command_arrives_as_written(
    launch: Launch, home: Path, tmp_path: Path, fact: dict[str, Any]
) -> None:
    config = explain_with_secrets(fact["text"])[0].config
    assert config
    reached, typed = launch(config), in_bash(fact["text"], home, tmp_path)
    texts = [word.replace("{HOME}", str(home)) for word in fact["argv"]]
    assert own_words(typed, home) == texts, "the facts are what a shell makes of the document"
    assert without_ours(own_words(reached, home)) == undetached_words(texts)
    assert fact["env"].items() <= reached["env"].items() and fact["env"].items() <= typed["env"].items()
    assert reached["cwd"] == str(home)
    env = {name for name in reached["env"] if name.startswith(TELLING)}
    assert env - set(config.env) - set(fact["env"]) == set(), "nothing that the document does not say"


@pytest.mark.parametrize("stem", sorted(PRESETS))
@pytest.mark.wide
def test_preset_reaches_program_as_from_a_shell(launch: Launch, home: Path, tmp_path: Path, stem: str) -> None:
    config = PRESETS[stem].launchable
    if config.model is None and "model" in PRESETS[stem].required:
        config = config.model_copy(update={"model": "organisation/model"})
        config = config.model_copy(update={"argv": tuple(command_of(config))})
    text = shell_text(config.argv, {} if config.image else config.env)
    reached, typed = launch(config), in_bash(text, home, tmp_path)
    assert without_ours(own_words(reached, home)) == undetached_words(own_words(typed, home))
    assert not [word for word in reached["argv"] if word.startswith("~") or "$" in word]
    if not config.image:
        assert config.env.items() <= reached["env"].items()


def test_every_printed_command_is_among_the_facts() -> None:
    by_id = {fact["id"]: fact["text"] for fact in FACTS}
    assert {command.id: command.text for command in COMMANDS}.items() <= by_id.items()

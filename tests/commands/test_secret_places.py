"""A secret is kept by its place: what a paste says of it is what its server gets, and nothing else is taken for it."""

from __future__ import annotations

import shlex

import pytest

from commands.explain import explain, explain_with_secrets
from commands.presets import preset_of, preset_text
from commands.secrets import (
    as_references,
    hide_secrets,
    missing_secrets,
    places_of,
    take_secrets,
    unfilled_places,
    variables_of,
)
from commands.sweep import Axis, sweep_configs
from commands.write import command_of, shell_text
from domain import Config
from launcher.processes.shim import complete_argv, server_environ
from redaction import MASK

TOKEN = "hf_" + "a1B2" * 8
PASTES = [
    "vllm serve m --api-key K1 K2 --port 1",
    "vllm serve m --api-key=sk-K1 --port 1",
    "vllm serve m --db https://u:PASSWORD@h/x --port 1",
    "vllm serve m --db https://u:P1@h,https://u:P2@h --port 1",
    "vllm serve m --header 'Authorization: Bearer abcdef1234' --header 'Authorization: Basic dXNlcjpwYXNz' --port 1",
    """vllm serve m --extra '{"api_key": "abcd1234", "other": 1}' --port 1""",
    f"vllm serve /models/{TOKEN}/m --port 1",
    f"vllm serve --model /models/{TOKEN} --port 1",
    "docker run -p 1:8000 -e DB=postgres://u:pass@h -e HF_TOKEN=hf vllm/vllm-openai --model m",
    "docker run -p 1:8000 vllm/vllm-openai bash -c 'export HF_TOKEN=abcdefgh && vllm serve m --api-key K1 K2'",
    "vllm serve m --api-key vllm --port 1",
    "vllm serve m --api-key EMPTY --served-model-name EMPTY --port 1",
    "vllm serve m --api-key longsecret --served-model-name longsecret --port 1",
]


def started(config: Config, secrets: dict[str, str]) -> list[str]:
    """The words that the server of a masked config gets."""
    hidden = hide_secrets(config.argv, config.env, secrets, {})
    assert unfilled_places({"argv": hidden.argv, "env": hidden.env}, hidden.secrets) == []
    return complete_argv(hidden.argv, hidden.secrets)


@pytest.mark.parametrize("paste", PASTES)
def test_server_gets_secrets_at_their_places(paste: str) -> None:
    explanation, secrets = explain_with_secrets(paste)
    assert explanation.config and secrets
    assert started(explanation.config, secrets) == shlex.split(paste)
    assert take_secrets(explanation.config) == (explanation.config, {}), "masking twice is masking once"
    assert missing_secrets(explanation.config, {}) == sorted(secrets) == explanation.secret_names


@pytest.mark.parametrize("paste", PASTES)
def test_secrets_survive_edit_sweep_and_copy(paste: str) -> None:
    explanation, secrets = explain_with_secrets(paste)
    config = explanation.config
    assert config
    edited = config.model_copy(update={"max_model_len": 4096})
    edited = edited.model_copy(update={"argv": tuple(command_of(edited))})
    variant = sweep_configs(config, [Axis("max_num_seqs", (7,))])[0].config
    for changed in (edited, variant):
        assert set(secrets) >= set(places_of(changed))
        words = started(changed, secrets)
        if "bash" in paste:  # a script is said anew by its fields
            assert "HF_TOKEN=abcdefgh" in words and "K1" in words
        else:
            assert [word for word in shlex.split(paste) if word in words] == shlex.split(paste)
    preset = preset_text(preset_of("kept", config))
    assert not [value for value in secrets.values() if len(value) >= 8 and value in preset]
    copied, literal = explain_with_secrets(shell_text(config.argv))
    assert copied.config and not literal
    assert started(copied.config, variables_of(secrets)) == shlex.split(paste)


def test_environment_is_filled_at_the_secret() -> None:
    env = {"DB": "postgres://u:pass@h", "HF_TOKEN": "hf", "URLPW": "x", "MY_AUTH": "abc", "DISABLE_AUTH": "1", "A": "b"}
    config, secrets = take_secrets(Config(argv=("run",), env=env))
    assert config.env == {
        "DB": f"postgres://u:{MASK}@h",
        "HF_TOKEN": MASK,
        "URLPW": MASK,
        "MY_AUTH": MASK,
        "DISABLE_AUTH": "1",
        "A": "b",
    }
    hidden = hide_secrets(config.argv, config.env, secrets, {"DB": "another"})
    assert hidden.env == {"DISABLE_AUTH": "1", "A": "b"}
    assert server_environ({"env": hidden.env, "marker": "m"}, hidden.secrets) == {**env, "PITWALL_RUN_ID": "m"}


def test_secret_with_a_reference_gets_its_value() -> None:
    hidden = hide_secrets([], {"HF_TOKEN": "$MINE", "KEY": "$KEY"}, {}, {"MINE": "mine"})
    assert hidden.secrets["HF_TOKEN"] == "mine" and hidden.env == {}


def test_placeholder_is_secret_only_in_place() -> None:
    config = explain("vllm serve m --api-key vllm").config
    assert config and (config.engine, config.executable) == ("vllm", "vllm")
    assert config.argv == ("vllm", "serve", "m", "--api-key", MASK)
    config = explain("llama-server -m m.gguf --api-key llamacpp").config
    assert config and (config.engine, config.argv[-1]) == ("llamacpp", MASK), "long enough to be one, and no secret"


def test_a_place_without_its_secret_is_named() -> None:
    words = ["vllm", "--db", f"https://u:{MASK}@h", "--api-key", "a", MASK]
    hidden = hide_secrets(words, {"DB": f"x://u:{MASK}@h"}, {}, {})
    named_unfilled_places = unfilled_places({"argv": hidden.argv, "env": hidden.env}, hidden.secrets)
    assert named_unfilled_places == [f"--db https://u:{MASK}@h", "--api-key (2)", f"DB=x://u:{MASK}@h"]
    fields = {"argv": ["vllm", "--api-key", "${PITWALL_SECRET_12}"], "env": {}}
    assert unfilled_places(fields, {}) == ["--api-key"]


def test_copied_commands_tell_the_places_apart() -> None:
    assert as_references(["--api-key", MASK, MASK, "--x", f"/a/{MASK}b"]) == [
        "--api-key",
        "$API_KEY",
        "$API_KEY_2",
        "--x",
        "/a/${X_A_B_SECRET}b",
    ]

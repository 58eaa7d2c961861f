from __future__ import annotations

import pytest

from commands.secrets import find_api_key, hide_secrets, mask_argv, mask_env, missing_secrets
from domain import Config
from launcher.processes.shim import complete_argv
from redaction import MASK, is_secret_flag, is_secret_name, mask_json, mask_text

SECRET = "s3cr3t-value"


@pytest.mark.parametrize(
    "name",
    ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "MY_SECRET", "k_token_2"],
)
def test_secret_names(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["MAX_TOKENS", "TOKENIZERS_PARALLELISM", "KEYBOARD", "HF_HOME", "PASSWORD_FILE", "CUDA_VISIBLE_DEVICES"]
)
def test_innocent_names(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    "flag", ["--api-key", "--admin-api-key", "--hf-token", "-hft", "--hf_token", "--token", "--password"]
)
def test_secret_flags(flag: str) -> None:
    assert is_secret_flag(flag)


@pytest.mark.parametrize(
    "flag", ["--max-num-batched-tokens", "--api-key-file", "--ssl-keyfile", "--tokenizer", "--stop-token"]
)
def test_innocent_flags(flag: str) -> None:
    assert not is_secret_flag(flag)


@pytest.mark.parametrize(
    "argv",
    [
        ["vllm", "serve", "m", "--api-key", SECRET, "--port", "1"],
        ["vllm", "serve", "m", "--api-key", "other", SECRET, "--port", "1"],
        ["vllm", "serve", "m", f"--api-key={SECRET}"],
        ["docker", "run", "-e", f"HF_TOKEN={SECRET}", "image"],
        ["docker", "run", f"--env=HF_TOKEN={SECRET}", "image"],
        ["env", f"HF_TOKEN={SECRET}", "vllm"],
    ],
)
def test_argv_is_masked_and_nothing_else(argv: list[str]) -> None:
    masked = mask_argv(argv)
    assert not any(SECRET in word for word in masked)
    assert any(MASK in word for word in masked)
    assert len(masked) == len(argv)
    assert mask_argv(masked) == masked


def test_references_and_innocent_words_stay() -> None:
    argv = [
        "docker",
        "run",
        "-e",
        "HF_TOKEN=$HF_TOKEN",
        "-e",
        "HF_HOME=/m",
        "i",
        "--api-key",
        "${KEY:-none}",
        "--port=8000",
    ]
    assert mask_argv(argv) == argv
    assert mask_env({"HF_TOKEN": "abc", "VLLM_API_KEY": "$K", "HF_HOME": "/m"}) == {
        "HF_TOKEN": MASK,
        "VLLM_API_KEY": "$K",
        "HF_HOME": "/m",
    }


def test_text_is_masked_by_value_name_and_shape() -> None:
    assert SECRET not in mask_text(f"using {SECRET} now", [SECRET])
    assert SECRET not in mask_text(f"non-default args: {{'api_key': ['{SECRET}'], 'port': 8000}}")
    assert "hf_" not in mask_text("login with hf_abcdefghijklmnopqrstuv failed")
    assert mask_text("Authorization: Bearer abcdef123456") == f"Authorization: Bearer {MASK}"
    innocent = "api_key=None, max_num_batched_tokens=2048 tokens: 12"
    assert mask_text(innocent, ["a"]) == innocent


def test_secrets_masked_in_commands_urls_json() -> None:
    assert mask_text(f"argv: serve m --api-key {SECRET} --port 1") == f"argv: serve m --api-key {MASK} --port 1"
    assert mask_text(f"GET https://user:{SECRET}@host/x") == f"GET https://user:{MASK}@host/x"
    fields = {"api_key": [SECRET], "hf_token": None, "args": [f"X-API-Key: {SECRET}"], "eos_token": "</s>", "port": 1}
    assert mask_json(fields) == fields | {"api_key": [MASK], "args": [f"X-API-Key: {MASK}"]}


def completed(argv: list[str], texts: dict[str, str]) -> list[str]:
    hidden = hide_secrets(argv, {}, texts, {})
    return complete_argv(hidden.argv, hidden.secrets)


def test_only_the_shim_completes_hidden_secrets() -> None:
    argv = ["vllm", "serve", "m", "--api-key", "literal", "-e", "HF_TOKEN=$MINE", "--hf-token", "${NONE:-spare}"]
    hidden = hide_secrets(argv, {}, {"MINE": "mine"}, {})
    assert not any(word in " ".join(hidden.argv) for word in ("literal", "mine", "spare"))
    texts = ["vllm", "serve", "m", "--api-key", "literal", "-e", "HF_TOKEN=mine", "--hf-token", "spare"]
    assert complete_argv(hidden.argv, hidden.secrets) == texts
    assert completed(["vllm", "--api-key", MASK], {"--api-key": "given"}) == ["vllm", "--api-key", "given"]


def test_missing_secrets_and_api_key_by_place() -> None:
    argv, env = ["vllm", "--api-key", MASK], {"HF_TOKEN": MASK, "A": "b"}
    config = Config(argv=tuple(argv), env=env)
    assert missing_secrets(config, {}) == ["--api-key", "HF_TOKEN"]
    assert missing_secrets(config, {"HF_TOKEN": "x", "--api-key": "k1,k2"}) == []
    assert missing_secrets(Config(argv=("vllm", "--api-key", "$K")), {}) == ["K"]
    assert find_api_key(hide_secrets(argv, env, {"--api-key": "k1,k2"}, {})) == "k1"
    assert find_api_key(hide_secrets(["vllm"], {"VLLM_API_KEY": "k"}, {}, {})) == "k"
    assert find_api_key(hide_secrets(["vllm", "--api-key=k"], {}, {}, {})) == "k"
    assert find_api_key(hide_secrets(argv, env, {}, {})) is None

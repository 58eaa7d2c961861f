"""Secrets in any text, and words that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from redaction import MASK, KnownSecrets, is_distinctive, is_secret_name, mask_json, mask_text

FOLDERS = [Path(__file__).parent / "fixtures", *filter(None, [os.environ.get("PITWALL_CORPUS")])]
X = "s3cr3tValue42"


@pytest.mark.parametrize(
    "name", ["MY_AUTH", "URLPW", "DBPASS", "DB_PWD", "AWS_SECRET_ACCESS_KEY", "HTTP_AUTHORIZATION"]
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["PWD", "OLDPWD", "BYPASS", "COMPASS", "SSH_AUTH_SOCK", "XAUTHORITY", "TOKENIZER"])
def test_names_of_what_is_no_secret(name: str) -> None:
    assert not is_secret_name(name)
    assert not is_secret_name("DISABLE_AUTH", "true")


@pytest.mark.parametrize(
    "text",
    [
        "AWS_SECRET_ACCESS_KEY={}",
        "env: {{'AWS_SECRET_ACCESS_KEY': '{}', 'A': 'b'}}",
        "MY_AUTH={} URLPW={}",
        "Authorization: Basic {}",
        "authorization: bearer {}",
        "headers: [(b'authorization', b'Basic {}'), (b'host', b'x')]",
        "Proxy-Authorization: {}abcdef",
        "X-API-Key: {}",
        "redis://:{}@cache:6379",
        "GET /v1/models?api_key={}&limit=1",
        "GET /?token={} HTTP/1.1",
        "'hf_token': '{}'",
        "wandb: WANDB_API_KEY={}",
        "serve m --api-key {} --port 1",
        """--hf-overrides '{{"token": "{}"}}'""",
        r'{{"env": "{{\"HF_TOKEN\": \"{}\"}}"}}',
        r'{{"a": "{{\\\"api_key\\\": \\\"{}\\\"}}"}}',
        r'sh -c "HF_TOKEN=\"{}\" serve"',
        r'{{"headers": "{{\"Authorization\": \"Basic {}\"}}"}}',
        r'"{{\"token\": \"{}\"}}"',
    ],
)
def test_a_secret_is_masked_by_its_name(text: str) -> None:
    actual_text = text.replace("{{", "{").replace("}}", "}").replace("{}", X)
    assert X not in mask_text(actual_text)
    assert mask_text(actual_text) == mask_text(mask_text(actual_text))
    assert mask_text(actual_text).count(MASK) == text.count("{}")


@pytest.mark.parametrize(
    "shape",
    [
        "hf_" + "aB3d" * 8,
        "AKIA" + "ABCD1234EFGH5678",
        "sk-proj-" + "a1B2" * 8,
        "ghp_" + "a1B2" * 9,
        "github_pat_" + "a1B2" * 8,
        "xoxb-" + "123456789012-abcdef",
        "wandb_v1_" + "a1B2" * 8,
        "eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK",
    ],
)
def test_a_secret_is_masked_by_its_shape(shape: str) -> None:
    assert mask_text(f"loaded with {shape}, well") == f"loaded with {MASK}, well"


def test_key_without_a_digit_is_masked_by_its_name() -> None:
    """As a server's error repeats it; a word that begins like a key is none."""
    assert mask_text("invalid key=sk-abcdefghijklmnopqrstuvwx") == f"invalid key={MASK}"
    assert mask_text("monkey=sk-learnlearnlearn") == "monkey=sk-learnlearnlearn"


def test_json_is_masked_by_the_names_in_it() -> None:
    fields = {"AWS_SECRET_ACCESS_KEY": X, "eos_token": "</s>", "KEY": 1, "env": [f"MY_AUTH={X}"]}
    assert mask_json(fields) == fields | {"AWS_SECRET_ACCESS_KEY": MASK, "env": [f"MY_AUTH={MASK}"]}


def test_known_values_masked_but_not_placeholders() -> None:
    known_secrets = KnownSecrets()
    known_secrets.add(["EMPTY", "None", "short", X, X + "longer", "$REFERENCE"])
    text = f"EMPTY None short a{X}longer {X} $REFERENCE"
    assert [text[start:end] for start, end in known_secrets.spans(text)] == [X + "longer", X]
    assert not is_distinctive("EMPTY") and not is_distinctive("not-needed") and is_distinctive(X)


INNOCENT = """
print_info: EOS_TOKEN: '</s>' bos_token = '<s>', mask_token=<|MASK|>, add_bos_token=True
max_num_batched_tokens=2048 tokens: 12, time_to_first_token: 0.31, tokenizer=m, api_key=None, hf_token=None
APIRouter auth: disabled; Basic configuration follows; Authorization failed; the key: value pairs
{"token": "internationalization"} {"token": "2026"}
sort_key=4 KEY=7 cache_key: 12ab GET https://h:8000/v1 HTTP/1.1 at 12:30:11@x task-sk-learn disk-0
"""


def test_what_real_servers_print_is_not_masked() -> None:
    files = [path for folder in FOLDERS for path in Path(folder).rglob("*.log")]
    assert len(files) > 5
    lines = [line for path in files for line in path.read_text(errors="replace").splitlines()] + INNOCENT.splitlines()
    assert [line for line in lines if mask_text(line) != line and MASK not in line] == []

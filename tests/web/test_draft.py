"""What the Launch page holds of a command while it is edited."""

from __future__ import annotations

from domain import Config
from web.launch.draft import Draft


def test_a_secret_that_was_edited_out_of_the_command_is_not_given_to_the_server() -> None:
    secrets = {"HF_TOKEN": "hf_1", "--api-key": "sk_1"}
    stated = Config(argv=("vllm", "serve", "o/m", "--api-key", "<secret>"), env={"HF_TOKEN": "$HF_TOKEN"})
    assert Draft(stated, secrets=secrets).secrets_in_use == secrets
    other = Config(argv=("vllm", "serve", "o/m"), env={"MY_HF_TOKEN_2": "<secret>"})
    assert Draft(other, secrets=secrets).secrets_in_use == {}
    assert Draft(other, secrets=secrets).missing_secrets == ["MY_HF_TOKEN_2"]

"""What the Launch page holds of a command while it is edited."""

from __future__ import annotations

from web.launch.draft import Draft


def test_a_secret_that_was_edited_out_of_the_command_is_not_given_to_the_server() -> None:
    secrets = {"HF_TOKEN": "hf_1", "--api-key": "sk_1"}
    assert Draft(text="HF_TOKEN=$HF_TOKEN vllm serve o/m --api-key <secret>", secrets=secrets).secrets_in_use == secrets
    assert Draft(text="vllm serve o/m", secrets=secrets).secrets_in_use == {}

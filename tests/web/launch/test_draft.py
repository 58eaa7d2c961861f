"""The draft of a command while it is edited on the Launch page."""

from __future__ import annotations

from domain import WATCH, Config, WorkloadSpec
from web.launch.attach_form import with_command
from web.launch.draft import LaunchDraft


def test_removed_secret_is_not_given_to_server() -> None:
    secrets = {"HF_TOKEN": "hf_1", "--api-key": "sk_1"}
    config = Config(argv=("vllm", "serve", "o/m", "--api-key", "<secret>"), env={"HF_TOKEN": "$HF_TOKEN"})
    assert LaunchDraft(config, secrets=secrets).secrets_in_use == secrets
    other_config = Config(argv=("vllm", "serve", "o/m"), env={"MY_HF_TOKEN_2": "<secret>"})
    assert LaunchDraft(other_config, secrets=secrets).secrets_in_use == {}
    assert LaunchDraft(other_config, secrets=secrets).missing_secrets == ["MY_HF_TOKEN_2"]


def test_relaunch_keeps_load_and_parameters() -> None:
    edited = LaunchDraft(workload=WorkloadSpec(name="ladder", params={"tokens": 64}))
    assert edited.load_params("ladder") == {"tokens": 64}
    assert edited.proposed_workload == "ladder" and LaunchDraft().proposed_workload == WATCH.name
    watched = LaunchDraft(Config(engine="vllm"), workload=WorkloadSpec(name=WATCH.name))
    assert (
        watched.proposed_workload == WATCH.name and LaunchDraft(Config(engine="vllm")).proposed_workload != WATCH.name
    )
    assert edited.load_params("prompts") == {} == LaunchDraft().load_params("ladder")


def test_command_line_completes_server_facts() -> None:
    config = Config(engine="vllm", engine_version="0.32.0", launcher="attach", model="tiny", port=8000)
    command = Config(engine="vllm", launcher="attach", model="/m/tiny", kv_cache_dtype="fp8", argv=("vllm", "serve"))
    both = with_command(config, command)
    assert (both.model, both.engine_version, both.port, both.kv_cache_dtype) == ("/m/tiny", "0.32.0", 8000, "fp8")
    assert with_command(config, command.model_copy(update={"engine": "sglang"})) == config

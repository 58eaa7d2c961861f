"""Missing requirements of a machine are named before the launch; the GPUs are facts passed in."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path
from typing import Literal

import pytest

from commands.explain import explain
from commands.presets import SHIPPED, Needs, read_preset
from domain import Config, Run, Speculation, new_run_id, utc_now
from engines.forced_acceptance import forced_sentence
from launcher.checks.requirements import GIB, Gpu, GpuFacts, find_doubts, find_lacks, find_unknowns
from launcher.processes.containers import ImageLookup
from tests.ports import free_ports

NONE = GpuFacts(reason="no NVIDIA driver on this machine")
BIG = Gpu("NVIDIA B200", "10.0", 180 * GIB, 2 * GIB)


def config_of(paste: str) -> Config:
    config = explain(paste).config
    assert config
    return config


def lacks(paste: str, needs: Needs | None = None, facts: GpuFacts = NONE) -> list[str]:
    return find_lacks(config_of(paste), needs or Needs(), facts, Path.cwd())


def test_a_missing_program_and_model_are_told() -> None:
    assert lacks("vllm-is-not-here/vllm serve o/m")[0].endswith("does not exist: install it, or give its path.")
    (lack,) = lacks("python3 -m demo serve -m /no/such/model.gguf --port 1")
    assert lack.startswith("The model /no/such/model.gguf does not exist: ")


def test_a_variable_without_value_is_told() -> None:
    assert "The command refers to $NOWHERE_SET, which is not set." in lacks("vllm serve $NOWHERE_SET/m")


def test_podman_is_asked_for_the_image() -> None:
    if ImageLookup().has("podman", "localhost/none:1") is None:
        pytest.skip("podman does not answer here")
    assert ImageLookup().has("podman", "localhost/none:1") is False
    paste = "podman run -v /no/such/models:/m localhost/vllm/none:1 --model /m/x --port 80"
    actual_lacks = lacks(paste)
    pull = "The image localhost/vllm/none:1 is not on this machine: podman will try to pull it."
    assert find_doubts(config_of(paste), Needs(), NONE, Path.cwd()) == [pull] and pull not in actual_lacks
    assert "The folder /no/such/models, to be mounted in the container as /m, does not exist." in actual_lacks


def test_forced_acceptance_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    config = config_of("SGLANG_SIMULATE_ACC_LEN=3.5 sglang serve --model-path o/m")
    sentence = forced_sentence("SGLANG_SIMULATE_ACC_LEN=3.5")
    assert sentence in find_doubts(config, Needs(), NONE, Path.cwd())
    plain = config.model_copy(update={"env": {}})
    assert sentence not in find_doubts(plain, Needs(), NONE, Path.cwd())
    monkeypatch.setenv("SGLANG_SIMULATE_ACC_LEN", "3.5")
    assert sentence in find_doubts(plain, Needs(), NONE, Path.cwd()), "the server would inherit it"


def test_a_tool_that_is_not_there_is_not_asked() -> None:
    assert ImageLookup().has("no-such-tool", "x") is None


@pytest.mark.skipif(ImageLookup().has("podman", "x") is None, reason="podman does not answer here")
def test_model_is_sought_at_the_volume_target(tmp_path: Path) -> None:
    start = f"podman run -v {tmp_path}:/m -v /empty vllm/x:1 --port 80"
    assert f"The model /m/a would be {tmp_path}/a on this machine, which does not exist." in lacks(
        f"{start} --model /m/a"
    )
    (tmp_path / "a").mkdir()
    assert not [lack for lack in lacks(f"{start} --model /m/a") if "model" in lack]
    assert any("it starts empty" in lack for lack in lacks(f"{start} --model /empty/a"))


def test_forbidden_volume_is_reported(locked: Path) -> None:
    config = Config(argv=("true",), launcher="podman", volumes=(f"{locked}/m:/m",))
    (lack,) = find_lacks(config, Needs(), NONE, Path("/"))
    assert lack == f"Pitwall cannot check whether {locked}/m exists: Permission denied."
    config = config.model_copy(update={"volumes": ("~nobody-of-this-name/m:/m",)})
    (lack,) = find_lacks(config, Needs(), NONE, Path("/"))
    assert lack.startswith("The path ~nobody-of-this-name/m names a home folder that is not known")


def test_gpus_are_held_against_the_needs() -> None:
    config = Config(engine="vllm", port=free_ports(1)[0])
    needs = Needs(gpu="NVIDIA Blackwell", gpu_count=2, compute_capability="12.0", gpu_memory_gib=190)
    assert find_lacks(config, needs, NONE, Path.cwd()) == [
        "It needs a GPU (NVIDIA Blackwell), but there is none here: no NVIDIA driver on this machine."
    ]
    lacks = find_lacks(config, needs, GpuFacts([BIG]), Path.cwd())
    assert [lack.split(";")[0] for lack in lacks] == [
        "It needs 2 GPUs",
        "It needs compute capability 12.0 or newer",
    ]
    (doubt,) = find_doubts(config, needs, GpuFacts([BIG]), Path.cwd())
    assert doubt.startswith("It needs 190 GiB of GPU memory;")
    enough = Needs(gpu_count=1, compute_capability="9.0", gpu_memory_gib=170)
    assert find_lacks(config, enough, GpuFacts([BIG]), Path.cwd()) == []
    assert find_lacks(config, enough, GpuFacts([Gpu()]), Path.cwd()) == [], "what is not known says nothing"


def test_occupied_memory_is_reported_before_vllm() -> None:
    config = Config(engine="vllm", gpu_memory_fraction=0.9)
    gpu_facts = GpuFacts([Gpu("x", "9.0", 100 * GIB, 30 * GIB)])
    assert find_doubts(config, Needs(), gpu_facts, Path.cwd()) == [
        "It asks for 90.0 GiB of GPU memory (0.9 of all); 70.0 GiB are free now."
    ]


def run_at(port: int, kind: Literal["launched", "attached"]) -> Run:
    now = utc_now()
    base_url = f"http://127.0.0.1:{port}"
    fields = {"id": new_run_id(now), "name": "the first", "color": 0, "machine_id": "here", "created_at": now}
    return Run(config=Config(), kind=kind, base_url=base_url, **fields)


def test_occupied_port_is_reported_with_its_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        config = Config(engine="vllm", host="127.0.0.1", port=port)
        (lack,) = find_lacks(config, Needs(), NONE, Path.cwd())
        assert re.fullmatch(rf"Port {port} is in use by .+ \(pid {os.getpid()}\)\. Stop it, or choose.+", lack)
        (lack,) = find_lacks(config, Needs(), NONE, Path.cwd(), [run_at(port, "attached")])
        assert "Pitwall watches it as the run 'the first'." in lack
        assert find_lacks(config, Needs(), NONE, Path.cwd(), [run_at(port, "launched")]) == [], "it can queue behind"
    assert find_lacks(config, Needs(), NONE, Path.cwd()) == []


def test_missing_files_and_drafters_are_reported(tmp_path: Path) -> None:
    (tmp_path / "there.jinja").touch()
    argv = ("true", "--chat-template", "./gone.jinja", f"--config={tmp_path}/there.jinja", "--lora", "o/m.json")
    config = Config(argv=argv, port=free_ports(1)[0])
    assert find_doubts(config, Needs(), NONE, tmp_path) == [
        "The command names the file ./gone.jinja, which does not exist."
    ]
    drafting = config.model_copy(update={"speculative": Speculation(model="~/no-such-draft.gguf")})
    (lack,) = find_lacks(drafting, Needs(), NONE, tmp_path)
    assert lack.startswith(f"The model {Path.home()}/no-such-draft.gguf does not exist")


def test_shipped_preset_lists_missing_parts() -> None:
    preset = read_preset(SHIPPED / "gemma4-31b-turbo-pip.toml")
    lacks = find_lacks(preset.launchable, preset.needs, NONE, Path.cwd())
    assert any("no NVIDIA driver" in lack for lack in lacks)


def test_unknowable_before_start_is_stated() -> None:
    config = Config(launcher="script", model="o/m", speculative=Speculation(model="/models/draft"))
    assert find_unknowns(config, Needs(gpu_count=1), GpuFacts([Gpu()])) == [
        "The preset does not state how much GPU memory it needs.",
        "The preset does not state on which GPU architectures it runs.",
        "The driver does not report how much memory the GPU has.",
        "The script's own requirements are unknown.",
        "Pitwall does not check whether o/m is on this machine: the server downloads missing files.",
    ]
    needs = Needs(gpu_count=1, gpu_memory_gib=20.0, compute_capability="9.0")
    assert find_unknowns(Config(model="./m/x"), needs, GpuFacts([BIG])) == []

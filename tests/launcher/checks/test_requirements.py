"""What a machine lacks is said before the launch; the GPUs are facts passed in."""

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
from launcher.checks.requirements import GIB, Gpu, GpuFacts, find_doubts, find_lacks, find_unknowns
from launcher.processes.containers import Images
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
    (said,) = lacks("python3 -m demo serve -m /no/such/model.gguf --port 1")
    assert said.startswith("The model /no/such/model.gguf does not exist: ")


def test_a_variable_without_value_is_told() -> None:
    assert "The command refers to $NOWHERE_SET, which is not set." in lacks("vllm serve $NOWHERE_SET/m")


def test_podman_is_asked_for_the_image() -> None:
    if Images().has("podman", "localhost/none:1") is None:
        pytest.skip("podman does not answer here")
    assert Images().has("podman", "localhost/none:1") is False
    paste = "podman run -v /no/such/models:/m localhost/vllm/none:1 --model /m/x --port 80"
    said = lacks(paste)
    pull = "The image localhost/vllm/none:1 is not on this machine: podman will try to pull it."
    assert find_doubts(config_of(paste), Needs(), NONE, Path.cwd()) == [pull] and pull not in said
    assert "The folder /no/such/models, which the container is to see as /m, does not exist." in said


def test_a_tool_that_is_not_there_is_not_asked() -> None:
    assert Images().has("no-such-tool", "x") is None


@pytest.mark.skipif(Images().has("podman", "x") is None, reason="podman does not answer here")
def test_a_model_is_looked_for_where_the_volume_leads(tmp_path: Path) -> None:
    start = f"podman run -v {tmp_path}:/m -v /empty vllm/x:1 --port 80"
    assert f"The model /m/a would be {tmp_path}/a on this machine, which does not exist." in lacks(
        f"{start} --model /m/a"
    )
    (tmp_path / "a").mkdir()
    assert not [one for one in lacks(f"{start} --model /m/a") if "model" in one]
    assert any("it starts empty" in one for one in lacks(f"{start} --model /empty/a"))


def test_a_volume_that_may_not_be_looked_at_is_told(locked: Path) -> None:
    config = Config(argv=("true",), launcher="podman", volumes=(f"{locked}/m:/m",))
    (said,) = find_lacks(config, Needs(), NONE, Path("/"))
    assert said == f"Whether {locked}/m exists cannot be told: Permission denied."
    config = config.model_copy(update={"volumes": ("~nobody-of-this-name/m:/m",)})
    (said,) = find_lacks(config, Needs(), NONE, Path("/"))
    assert said.startswith("The path ~nobody-of-this-name/m names a home folder that is not known")


def test_gpus_are_held_against_the_needs() -> None:
    config = Config(engine="vllm", port=free_ports(1)[0])
    needs = Needs(gpu="NVIDIA Blackwell", gpu_count=2, compute_capability="12.0", gpu_memory_gib=190)
    assert find_lacks(config, needs, NONE, Path.cwd()) == [
        "It needs a GPU (NVIDIA Blackwell), and here is none: no NVIDIA driver on this machine."
    ]
    said = find_lacks(config, needs, GpuFacts([BIG]), Path.cwd())
    assert [one.split(";")[0] for one in said] == [
        "It needs 2 GPUs",
        "It needs compute capability 12.0 or newer",
    ]
    (doubt,) = find_doubts(config, needs, GpuFacts([BIG]), Path.cwd())
    assert doubt.startswith("It needs 190 GiB of GPU memory;")
    enough = Needs(gpu_count=1, compute_capability="9.0", gpu_memory_gib=170)
    assert find_lacks(config, enough, GpuFacts([BIG]), Path.cwd()) == []
    assert find_lacks(config, enough, GpuFacts([Gpu()]), Path.cwd()) == [], "what is not known says nothing"


def test_memory_that_is_taken_is_told_before_vllm_refuses() -> None:
    config = Config(engine="vllm", gpu_memory_fraction=0.9)
    taken = GpuFacts([Gpu("x", "9.0", 100 * GIB, 30 * GIB)])
    assert find_doubts(config, Needs(), taken, Path.cwd()) == [
        "It asks for 90.0 GiB of GPU memory (0.9 of all); 70.0 GiB are free now."
    ]


def run_at(port: int, kind: Literal["launched", "attached"]) -> Run:
    now = utc_now()
    base_url = f"http://127.0.0.1:{port}"
    named = {"id": new_run_id(now), "name": "the first", "color": 0, "machine_id": "here", "created_at": now}
    return Run(config=Config(), kind=kind, base_url=base_url, **named)


def test_a_port_that_is_taken_is_told_with_who_has_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config = Config(engine="vllm", host="127.0.0.1", port=port)
        (said,) = find_lacks(config, Needs(), NONE, Path.cwd())
        assert re.fullmatch(rf"Port {port} is in use by .+ \(pid {os.getpid()}\)\. Stop that, or choose.+", said)
        (said,) = find_lacks(config, Needs(), NONE, Path.cwd(), [run_at(port, "attached")])
        assert "Pitwall watches it as the run 'the first'." in said
        assert find_lacks(config, Needs(), NONE, Path.cwd(), [run_at(port, "launched")]) == [], "it can queue behind"
    assert find_lacks(config, Needs(), NONE, Path.cwd()) == []


def test_files_and_drafters_that_are_missing_are_told(tmp_path: Path) -> None:
    (tmp_path / "there.jinja").touch()
    argv = ("true", "--chat-template", "./gone.jinja", f"--config={tmp_path}/there.jinja", "--lora", "o/m.json")
    config = Config(argv=argv, port=free_ports(1)[0])
    assert find_doubts(config, Needs(), NONE, tmp_path) == [
        "The command names the file ./gone.jinja, which does not exist."
    ]
    drafting = config.model_copy(update={"speculative": Speculation(model="~/no-such-draft.gguf")})
    (said,) = find_lacks(drafting, Needs(), NONE, tmp_path)
    assert said.startswith(f"The model {Path.home()}/no-such-draft.gguf does not exist")


def test_a_shipped_preset_says_what_this_machine_lacks() -> None:
    preset = read_preset(SHIPPED / "gemma4-31b-turbo-pip.toml")
    said = find_lacks(preset.launchable, preset.needs, NONE, Path.cwd())
    assert any("no NVIDIA driver" in one for one in said)


def test_what_nobody_can_tell_before_the_start_is_said() -> None:
    config = Config(launcher="script", model="o/m", speculative=Speculation(model="/models/draft"))
    assert find_unknowns(config, Needs(gpu_count=1), GpuFacts([Gpu()])) == [
        "How much GPU memory it needs is not stated.",
        "Which GPU architectures it runs on is not stated.",
        "How much memory the GPU here has, its driver does not tell.",
        "What the script itself needs is not known.",
        "Whether o/m is on this machine is not looked up: the server downloads what it lacks.",
    ]
    known = Needs(gpu_count=1, gpu_memory_gib=20.0, compute_capability="9.0")
    assert find_unknowns(Config(model="./m/x"), known, GpuFacts([BIG])) == []

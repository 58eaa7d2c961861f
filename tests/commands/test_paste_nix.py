"""Modules of NixOS: a service's command and a container."""

from __future__ import annotations

from time import process_time

import pytest

from commands.explain import explain
from tests.commands.test_paste import stated_fields

COMMANDS = {
    "a string": '"${pkgs.llama-cpp}/bin/llama-server -m /m/a.gguf -c 8192 --port 8081"',
    "lines": "''\n      ${lib.getExe' pkgs.llama-cpp \"llama-server\"} \\\n"
    "        -m /m/a.gguf -c 8192 --port 8081\n    ''",
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_service(command: str) -> None:
    module = (
        '{ pkgs, lib, ... }: {\n  systemd.services.llama = {\n    environment = { CUDA_VISIBLE_DEVICES = "1"; };\n'
        f"    serviceConfig.ExecStart = {command};\n  }};\n}}\n"
    )
    assert stated_fields(module) == {
        "engine": "llamacpp", "launcher": "process", "executable": "llama-server", "model": "/m/a.gguf",
        "max_model_len": 8192, "port": 8081, "gpus": "1", "env": {"CUDA_VISIBLE_DEVICES": "1"},
    }  # fmt: skip


def test_a_container() -> None:
    assert stated_fields(
        'virtualisation.oci-containers.containers.llm = {\n  image = "vllm/vllm-openai:v0.11.0";\n'
        '  ports = [ "8005:8000" ];\n  volumes = [ "/m:/m" ];\n  environment = { A = "1"; };\n'
        '  cmd = [ "--model" "/m/a"\n    "--max-model-len" "4096" ];\n'
        '  extraOptions = [ "--device=nvidia.com/gpu=all" ];\n};\n'
    ) == {
        "engine": "vllm", "launcher": "podman", "image": "vllm/vllm-openai:v0.11.0", "model": "/m/a", "port": 8005,
        "max_model_len": 4096, "gpus": "nvidia.com/gpu=all", "volumes": ["/m:/m"], "env": {"A": "1"},
    }  # fmt: skip


SERVICE = """{ config, pkgs, ... }:
let
  chosen = "small";
  window = 8192;
  models = {
    small = { file = "/m/a.gguf"; flags = [ "--jinja" "-ngl" "10" # ten layers fit
      ]; };
  };
in {
  services = {
    openssh.enable = true;
    llama-cpp = {
      enable = true;
      port = 8001;
      model = MODEL;
      extraFlags = models.${chosen}.flags ++ [ "-c" "${toString window}" ];
    };
  };
  systemd.services.llama-cpp.environment.CUDA_VISIBLE_DEVICES = "1";
}
"""


def test_the_service_of_an_engine_is_its_command() -> None:
    explanation = explain(SERVICE.replace("MODEL", "models.${chosen}.file").replace("models.${chosen}.flags ++ ", ""))
    config = explanation.config
    assert config and (config.engine, config.model, config.port) == ("llamacpp", "/m/a.gguf", 8001)
    assert (config.max_model_len, config.unknown_flags, config.env) == (8192, [], {"CUDA_VISIBLE_DEVICES": "1"})
    assert (explanation.unresolved, explanation.left_out, explanation.warnings) == ([], [], [])


def test_flags_by_the_name_that_let_binds() -> None:
    text = SERVICE.replace("MODEL", '"/m/b.gguf"').replace(' ++ [ "-c" "${toString window}" ]', "")
    config = explain(text).config
    assert config and (config.model, config.unknown_flags) == ("/m/b.gguf", ["--jinja", "-ngl 10"])


def test_a_model_that_only_nix_can_compute_is_unresolved() -> None:
    explanation = explain(SERVICE.replace("MODEL", 'pkgs.fetchurl { url = "https://x.example/a.gguf"; }'))
    assert explanation.config and explanation.config.port == 8001
    assert explanation.unresolved[0].startswith("<pkgs.fetchurl url https://x.example/a.gguf")


def test_the_settings_of_llama_swap_are_its_file() -> None:
    explanation = explain(
        "{ lib, pkgs, ... }: {\n  services.llama-swap = {\n    enable = true;\n    port = 11434;\n    settings = {\n"
        '      macros.run = "${lib.getExe\' pkgs.llama-cpp "llama-server"} --port \\${PORT} -fa on";\n'
        '      models."a:8b" = { cmd = "\\${run} -hf o/a:Q8_0 -c 4096"; ttl = 120; };\n    };\n  };\n}\n'
    )
    config = explanation.config
    assert config and (config.executable, config.model, config.max_model_len) == ("llama-server", "o/a:Q8_0", 4096)
    assert (config.port, explanation.unresolved, config.unknown_flags) == (None, ["${PORT}"], ["-fa on"])


@pytest.mark.parametrize(
    "text",
    [
        "services.llama-cpp = " + "{a=" * 30_000,
        'services.llama-swap = {"' + '"${' * 30_000,
        "services.llama-cpp = {" + "x:" * 40_000,
        'let a="${b}${b}${b}"; b="${a}${a}${a}"; in { services.llama-cpp = {port = a;};}',
    ],
)
def test_hostile_expressions_cost_little(text: str) -> None:
    start = process_time()
    explain(text)
    assert process_time() - start < 3


SHELL = """{ mkShell, podman }:
let
  port = 8005;
  version = "v0.11.0";
  image = "vllm/vllm-openai:${version}";
in
mkShell {
  shellHook = ''
    serve() {
      ${podman}/bin/podman run -p ${toString port}:8000 ${image} --model ''${MODEL:-o/m}
    }
  '';
}
"""


def test_values_of_let_in_the_commands_of_a_shell_hook() -> None:
    explanation = explain(SHELL)
    assert explanation.config and (explanation.config.image, explanation.config.port, explanation.config.model) == (
        "vllm/vllm-openai:v0.11.0", 8005, "o/m",
    )  # fmt: skip


def test_values_of_let_in_the_command_of_a_service() -> None:
    explanation = explain(
        '{ pkgs, ... }:\nlet\n  model = "/m/a.gguf";\nin\n{\n  systemd.services.llm.serviceConfig = {\n'
        '    ExecStart = "${pkgs.llama-cpp}/bin/llama-server -m ${model}";\n  };\n}\n'
    )
    assert explanation.config and explanation.config.model == "/m/a.gguf"


CONTAINER = """{ pkgs, ... }:
let
  image = "vllm/vllm-openai:v0.11.0";
in {
  virtualisation.oci-containers.containers = let
    model = "o/m";
    port = 8005;
  in {
    llm = {
      inherit image;
      ports = [ "${toString port}:8000" ];
      cmd = [ "--model" model "--max-model-len" (toString 4096) ];
    };
  };
}
"""


def test_values_of_an_inner_let_in_a_container() -> None:
    assert stated_fields(CONTAINER) == {
        "engine": "vllm", "launcher": "podman", "image": "vllm/vllm-openai:v0.11.0", "model": "o/m", "port": 8005,
        "max_model_len": 4096,
    }  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        '"${pkgs.llama-cpp}/bin/llama-server " + lib.concatStringsSep " " args',
        'lib.escapeShellArgs ([ "${pkgs.llama-cpp}/bin/llama-server" ] ++ args)',
        '"${cfg.package}/bin/llama-server ${toString args}"',
    ],
)
def test_command_put_together_from_lists(command: str) -> None:
    module = (
        '{ config, lib, pkgs, ... }:\nlet\n  cfg = { file = "/m/a.gguf"; window = 8192; };\nin {\n'
        '  systemd.services.llama = let args = [ "-m" cfg.file "-c" (toString cfg.window) ]; in {\n'
        f'    environment.CUDA_VISIBLE_DEVICES = "1";\n    serviceConfig.ExecStart = {command};\n  }};\n}}\n'
    )
    assert stated_fields(module) == {
        "engine": "llamacpp", "launcher": "process", "executable": "llama-server", "model": "/m/a.gguf",
        "max_model_len": 8192, "gpus": "1", "env": {"CUDA_VISIBLE_DEVICES": "1"},
    }  # fmt: skip


def test_flags_under_a_condition_are_unresolved() -> None:
    explanation = explain(
        "{ lib, pkgs, ... }: {\n  systemd.services.llm.serviceConfig.ExecStart = lib.escapeShellArgs ([\n"
        '    "${pkgs.vllm}/bin/vllm" "serve" "o/m" "--port" "8005"\n'
        '  ] ++ lib.optionals wide [ "--max-model-len" "65536" ]);\n}\n'
    )
    assert explanation.config and (
        explanation.config.model,
        explanation.config.port,
        explanation.config.max_model_len,
    ) == ("o/m", 8005, None)
    assert explanation.unresolved == ["<lib.optionals wide --max-model-len 65536>"]


def test_values_of_two_lets_in_a_script() -> None:
    explanation = explain(
        "{\n  outputs = { self, nixpkgs }:\n    let\n      window = 16384;\n    in {\n      apps.default = let\n"
        '        file = "/m/a.gguf";\n      in {\n        program = pkgs.writeShellScript "serve" \'\'\n'
        "          ${pkgs.llama-cpp}/bin/llama-server -m ${file} -c ${toString window}\n"
        "        '';\n      };\n    };\n}\n"
    )
    config = explanation.config
    assert config and (config.executable, config.model, config.max_model_len) == ("llama-server", "/m/a.gguf", 16384)
    assert explanation.unresolved == []

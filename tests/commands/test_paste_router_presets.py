"""Presets of llama.cpp's router: an INI file with one section per model."""

from __future__ import annotations

import pytest

from commands.explain import explain

PRESETS = """version = 1

[*]
flash-attn = on
c = 32768
jinja = true
mmap = false
load-on-startup = true

[small]
m = /m/a.gguf
ctx-size = 65536
LLAMA_ARG_N_PARALLEL = 2

[org/big-GGUF:Q4_K_M]
spec-type = draft-mtp
spec-draft-n-max = 3
"""


def test_a_preset_is_the_command_that_the_router_runs() -> None:
    explanation = explain(PRESETS)
    config = explanation.config
    assert config and (config.engine, config.model, config.served_model_name) == ("llamacpp", "/m/a.gguf", "small")
    assert (config.max_model_len, config.max_num_seqs, config.port) == (65536, 2, None)
    assert config.unknown_flags == ["--flash-attn on", "--jinja", "--no-mmap"]
    assert explanation.warnings == ["this paste has two server commands; the first one is used"]


def test_a_section_without_a_model_is_a_repository() -> None:
    first, _, second = PRESETS.partition("[small]")
    config = explain(first + second[second.index("[org") :]).config
    assert config and (config.model, config.max_model_len) == ("org/big-GGUF:Q4_K_M", 32768)
    assert config.speculative and (config.speculative.method, config.speculative.num_tokens) == ("draft-mtp", 3)


def test_the_preset_of_a_repository_has_no_sections() -> None:
    explanation = explain(
        "# mine\nhf-repo = o/m-GGUF\nhf-repo-draft = o/d-GGUF\nctx-size = 2048\njinja = true\n; and so on\n"
    )
    config = explanation.config
    assert config and (config.engine, config.model, config.max_model_len) == ("llamacpp", "o/m-GGUF", 2048)
    assert config.speculative and config.speculative.model == "o/d-GGUF"
    assert (config.unknown_flags, explanation.left_out, explanation.warnings) == (["--jinja"], [], [])


@pytest.mark.parametrize(
    "text",
    [
        "model = a\nworkers = 4\n",
        "model=o/m\nport=8001\n",
        "MODEL=/m/a.gguf\nCTX=4096\n",
        "ctx-size = 2048\ntemp = 0.5\n",
        "[server]\nmodel = a\nworkers = 4\ndatabase = x\nretries = 3\n",
        "[Unit]\nDescription=x\n[Service]\nUser=llm\nRestart=always\n",
        "[a]\nthis is no INI file\n",
    ],
)
def test_an_ini_file_of_another_program_is_refused(text: str) -> None:
    assert "No command of a known server" in (explain(text).refused or "")

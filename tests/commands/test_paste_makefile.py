"""Recipes of Makefiles and justfiles: variables, defaults, functions, conditions."""

from __future__ import annotations

from time import process_time

import pytest

from commands.explain import explain

MAKEFILE = """MODEL ?= o/m
TP := 2  # two GPUs
EXTRA =
CHANGE
.PHONY: help serve

help:
\t@echo "serve - vllm serve"

serve: help
\t@echo starting
\t@uv run vllm serve $(MODEL) -tp $(TP) \\
\t\t--port $(or $(PORT),8001) --max-model-len $${LEN:-4096} $(EXTRA)

stop:
\t-pkill vllm
"""


def test_a_makefile() -> None:
    explanation = explain(MAKEFILE.replace("CHANGE", ""))
    config = explanation.config
    assert config and (config.engine, config.model, config.tensor_parallel) == ("vllm", "o/m", 2)
    assert (config.port, config.max_model_len, config.unknown_flags) == (8001, 4096, [])
    assert explanation.launcher_flags == ["uv run"] and explanation.warnings == []


@pytest.mark.parametrize("test", ["ifdef BIG", "ifeq ($(BIG),1)"])
def test_a_condition_of_make_is_told(test: str) -> None:
    explanation = explain(MAKEFILE.replace("CHANGE", f"{test}\nEXTRA += --enforce-eager\nendif"))
    assert explanation.config and explanation.config.enforce_eager is None
    assert any("also gets --enforce-eager if" in text for text in explanation.warnings)


def test_the_function_if_is_read_without_what_is_not_set() -> None:
    explanation = explain(
        "TP ?= 2\nserve:\n\tvllm serve o/m $(if $(TP),-tp $(TP),) $(if $(LEN),--max-model-len $(LEN),) \\\n"
        "\t  $(if $(MEM),--gpu-memory-utilization $(MEM),--gpu-memory-utilization 0.85) --port 8001\n"
    )
    config = explanation.config
    assert config and (config.tensor_parallel, config.max_model_len, config.port) == (2, None, 8001)
    assert config.gpu_memory_fraction == 0.85 and config.unknown_flags == []
    assert any('--gpu-memory-utilization ${MEM} if [ -n "${MEM}" ]' in text for text in explanation.warnings)


def test_what_only_make_computes_is_unresolved() -> None:
    explanation = explain("serve:\n\tvllm serve $(notdir $(MODEL_PATH)) -tp $(shell nproc)\n")
    assert explanation.config and explanation.config.tensor_parallel is None
    assert "$(shell nproc)" in explanation.unresolved or "$(nproc)" in explanation.unresolved


def test_a_justfile() -> None:
    explanation = explain(
        "set dotenv-load\nmodel := \"o/m\"\nmax-len := '8192'\n\ndefault:\n    just --list\n\n# serve it\n"
        'serve port="8001" tp="2":\n    #!/usr/bin/env bash\n    vllm serve {{model}} \\\n'
        "      --port {{port}} -tp {{ tp }} --max-model-len {{max-len}}\n"
    )
    config = explanation.config
    assert config and (config.model, config.port, config.tensor_parallel) == ("o/m", 8001, 2)
    assert config.max_model_len == 8192 and explanation.warnings == []


@pytest.mark.parametrize(
    "text",
    ["a:\n\tvllm serve m " + "$(if $(A)," * 9000, "a:\n\tvllm serve m " + "$(" * 40_000, "a b:" * 20_000 + "\n\tx\n"],
)
def test_hostile_recipes_cost_little(text: str) -> None:
    start = process_time()
    explain(text)
    assert process_time() - start < 3


def test_a_container_of_an_engine() -> None:
    explanation = explain(
        "MODEL ?= o/m\n.PHONY: up\nup:\n\t@docker run -d -p 80:8000 \\\n"
        "\t  vllm/vllm-openai:v0.11.0 --model $(MODEL) \\\n"
        "\t  --max-model-len 8192\nother:\n\t@(ollama serve &)\n"
    )
    assert explanation.config and explanation.refused is None
    assert (explanation.config.model, explanation.config.max_model_len, explanation.config.port) == ("o/m", 8192, 80)

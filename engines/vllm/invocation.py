"""Commands, modules and images that start vLLM's server."""

from __future__ import annotations

import re

from engines.base import HostedModule, Invocation, serves
from engines.vllm.flags import MODULE

INVOCATION = Invocation(
    is_server=serves("vllm"),
    first_words=("vllm",),
    text_pattern=r"vllm\s+serve|python[\d.]*\s+-m\s+(?:dynamo\.)?vllm[.\w]*",
    image_name=re.compile(r"vllm", re.IGNORECASE),
    modules=(MODULE, "vllm.entrypoints.api_server", "vllm.entrypoints.cli.main", "vllm"),
    hosted_modules={"dynamo.vllm": HostedModule("Dynamo", flag_prefix="--dyn-")},
    files=("vllm/entrypoints/openai/api_server.py", "vllm/entrypoints/api_server.py"),
    scripts=("launch-cluster.sh", "run-recipe.sh", "run-recipe.py"),
    image_command=("vllm", "serve"),
    chart_section="vllmConfig",  # of vLLM's production stack, LLMKube
)

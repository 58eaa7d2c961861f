"""How vLLM's server is started."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.vllm.flags import MODULE


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """`vllm serve ...`."""
    return program == "vllm" and words[after : after + 1] == ["serve"]


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("vllm",),
    in_text=r"vllm\s+serve|python[\d.]*\s+-m\s+vllm[.\w]*",
    image_name=re.compile(r"vllm", re.IGNORECASE),
    modules=(MODULE, "vllm.entrypoints.api_server", "vllm.entrypoints.cli.main", "vllm"),
    files=("vllm/entrypoints/openai/api_server.py", "vllm/entrypoints/api_server.py"),
    scripts=("launch-cluster.sh", "run-recipe.sh", "run-recipe.py"),
    image_command=("vllm", "serve"),
)

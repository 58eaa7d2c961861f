"""Commands, modules and images that start TensorRT-LLM's server."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.trtllm.flags import MODULE


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """Whether this is `trtllm-serve ...`."""
    return program == "trtllm-serve"


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("trtllm-serve", "trtllm-llmapi-launch"),
    text_pattern=r"trtllm-serve",
    image_name=re.compile(r"tensor-?rt[_-]?llm|trt-?llm", re.IGNORECASE),
    modules=(MODULE,),
)

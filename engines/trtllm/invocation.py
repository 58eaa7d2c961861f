"""How TensorRT-LLM's server is started."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.trtllm.flags import MODULE


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """`trtllm-serve ...`."""
    return program == "trtllm-serve"


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("trtllm-serve", "trtllm-llmapi-launch"),
    in_text=r"trtllm-serve",
    image_name=re.compile(r"tensor-?rt[_-]?llm|trt-?llm", re.IGNORECASE),
    modules=(MODULE,),
)

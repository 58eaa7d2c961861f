"""Commands, modules and images that start TensorRT-LLM's server."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import HostedModule, Invocation
from engines.trtllm.flags import MODULE

DYNAMO_FLAGS = {
    "--model-path": "--model",
    "--tensor-parallel-size": "--tp_size",
    "--pipeline-parallel-size": "--pp_size",
    "--expert-parallel-size": "--ep_size",
    "--free-gpu-memory-fraction": "--kv_cache_free_gpu_memory_fraction",
    "--extra-engine-args": "--extra_llm_api_options",
}


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """Whether this is `trtllm-serve ...`."""
    return program == "trtllm-serve"


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("trtllm-serve", "trtllm-llmapi-launch"),
    text_pattern=r"trtllm-serve|python[\d.]*\s+-m\s+dynamo\.trtllm",
    image_name=re.compile(r"tensor-?rt[_-]?llm|trt-?llm", re.IGNORECASE),
    modules=(MODULE,),
    hosted_modules={"dynamo.trtllm": HostedModule("Dynamo", DYNAMO_FLAGS, "--dyn-")},
)

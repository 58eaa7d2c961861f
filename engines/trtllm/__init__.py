"""TensorRT-LLM: its log grammar, counters and command line, put together."""

from engines.base import Engine
from engines.trtllm import arguments, flags, log
from engines.trtllm.definitions import DEFINITIONS
from engines.trtllm.forced_acceptance import forced_acceptance
from engines.trtllm.invocation import INVOCATION
from engines.trtllm.settings import SETTINGS

ENGINE = Engine(
    name="trtllm",
    title="TensorRT-LLM",
    default_port=8000,
    ready_path="/health",
    metrics_path=None,
    owned_by="tensorrt_llm",
    version_paths=(("/version", "version"),),
    packages=("tensorrt_llm",),
    own_benchmarks=("trtllm-bench", "TensorRT-LLM benchmark"),
    # trtllm-serve's openai_protocol.py and openai_server.py, as read in 2026
    next_token_obstacle="turns no text into token ids and names likely tokens by their text, which several may share",
    log=log,
    arguments=arguments,
    effective_names={"free_gpu_memory_fraction": "gpu_memory_fraction"},
    definitions=DEFINITIONS,
    commands=flags,
    invocation=INVOCATION,
    settings_file=SETTINGS,
    forced_acceptance=forced_acceptance,
)

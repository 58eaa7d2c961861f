"""Translates vLLM's failure messages into one plain sentence with their numbers."""

from __future__ import annotations

import re

_SENTENCES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (
            r"max seq len \((\d+)\),? \(?([\d.]+) GiB KV cache is needed, which is larger than the available "
            r"KV cache memory \(([\d.]+) GiB\)\..*?estimated maximum model length is (\d+)",
            r"The KV cache is too small for one request of \1 tokens: \2 GiB are needed, \3 GiB are available; "
            r"vLLM estimates that \4 tokens fit.",
        ),
        (
            r"max seq len \((\d+)\),? \(?([\d.]+) GiB KV cache is needed, which is larger than the available "
            r"KV cache memory \(([\d.]+) GiB\)",
            r"The KV cache is too small for one request of \1 tokens: \2 GiB are needed, \3 GiB are available.",
        ),
        (
            r"max seq len \((\d+)\) is larger than the maximum number of tokens that can be stored "
            r"in KV cache \((\d+)\)",
            r"The KV cache holds \2 tokens, too few for one request of \1.",
        ),
        (
            r"No available memory for the cache blocks",
            "No GPU memory is left for the KV cache: weights and working memory use the whole budget.",
        ),
        (
            r"Free memory on device \S* ?\(([\d.]+)/([\d.]+) GiB\) on startup is less than desired GPU memory "
            r"utilization \(([\d.]+), ([\d.]+) GiB\)",
            r"Only \1 of \2 GiB of GPU memory were free at the start, less than the requested \4 GiB (\3 of all).",
        ),
        (
            r"(?:CUDA|HIP|XPU) out of memory.*?Tried to allocate ([\d.]+ \w+)",
            r"The GPU ran out of memory: an allocation of \1 failed.",
        ),
        (r"(?:CUDA|HIP|XPU) out of memory|OutOfMemoryError|Cuda failure 'out of memory'", "The GPU ran out of memory."),
        (r"unrecognized arguments: (.+)", r"vLLM does not know these arguments: \1."),
        (
            r"Model architectures \[(.{1,80}?)\] are not supported",
            r"This version of vLLM does not support the model's architecture (\1).",
        ),
        (
            r"model type `?([^`\s]+)`? but Transformers does not recognize",
            r"The installed Transformers does not know the model's architecture (\1).",
        ),
        (
            r"GatedRepoError|access a gated repo",
            "The model is gated: accept its terms, and set HF_TOKEN to a token of that account.",
        ),
        (
            r"Errno 98|[Aa]ddress already in use",
            "The port is in use by another process.",
        ),
        (r"KeyError: .*weight_scale", "The checkpoint lacks a weight scale that its quantization needs."),
        (
            r"[Cc]an't pickle|cannot pickle|PicklingError",
            "The compiled model could not be pickled for the compile cache.",
        ),
        (r"illegal memory access", "A CUDA kernel accessed memory outside its bounds (illegal memory access)."),
        (r"CUDA error: (.{1,100})", r"A CUDA call failed: \1."),
        (r"Killed|oom-kill|SIGKILL", "The server was killed from outside (the kernel does so when memory runs out)."),
        (r"engine core exited unexpectedly", "The engine's process (EngineCore) died without stating a cause."),
        (r"[Ww]orker proc(?:ess)? (\S+) died unexpectedly", r"The worker process \1 died without stating a cause."),
    )
)


def explain_cause(text: str) -> str:
    """Return the plain sentence for a known failure, else vLLM's own words."""
    for pattern, sentence in _SENTENCES:
        match = pattern.search(text)
        if match:
            return match.expand(sentence)
    return text

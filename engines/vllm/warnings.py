"""Warnings of vLLM that matter for comparing configurations, each as one sentence."""

from __future__ import annotations

import re

_SENTENCES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), sentence)
    for pattern, sentence in (
        (
            r"KV cache scaling factor 1\.0|[Uu]sing uncalibrated q_scale|"
            r"scal(?:e|ing factor)s? .{0,60}(?:default|set) to 1\.0",
            "FP8 KV cache scaling factors default to 1.0: the checkpoint gives none, so accuracy may suffer.",
        ),
        (
            r"does not provide a q scaling factor",
            "The checkpoint has no q scaling factor: the k scale is used for FP8 attention.",
        ),
        (
            r"does not have native support for (FP[48]) computation",
            r"The GPU has no native \1: weights are unpacked by the Marlin kernel, which saves memory but not compute.",
        ),
        (
            r"Using default MoE config",
            "No tuned MoE kernel configuration for this GPU: the default one may be slower.",
        ),
        (
            r"global scales? .{0,40}(?:is|are) different for parallel layers",
            "NVFP4 global scales differ between fused layers: accuracy may suffer.",
        ),
        (
            r"Add (\d{1,4}) padding layers, may waste at most (\d{1,3}(?:\.\d{1,4})?)%",
            r"\1 padding layers were added to the KV cache: up to \2 % of its memory is wasted.",
        ),
        (r"Enforce eager set", "Eager mode: torch.compile and CUDA graphs are off."),
        (
            r"JIT compilation during inference",
            "Triton kernels were compiled while serving: expect latency spikes at first.",
        ),
        (
            r"may result in lower acceptance rate",
            "More draft tokens than MTP layers: later positions may be accepted less.",
        ),
        (
            r"is preempted by|preempted because there is not enough KV cache",
            "Requests were preempted: the KV cache is too small for the load.",
        ),
        (
            r"CUDAGraphMode\.(\w+) is not supported",
            r"CUDA graph mode \1 is not supported by this attention backend: a lesser mode is used.",
        ),
        (r"Unknown vLLM environment variable detected: (\w+)", r"vLLM does not know the environment variable \1."),
    )
)
_AS_PRINTED = re.compile(
    r"[Ff]all(?:ing|s|ed)? ?back|fallback|suboptimal|sub-optimal|significant performance loss|"
    r"not supported with .{1,60}speculative|"
    r"will be disabled|is not optimized|AllReduce fusion pass is disabled"
)
_STALL = re.compile(r"No available (?:shared memory broadcast )?block found in \d+ seconds?")
_MAX_WARNING_CHARS = 300


def read_warning(text: str) -> str | None:
    """Return one sentence for a message at level WARNING that matters; None for others."""
    for pattern, sentence in _SENTENCES:
        match = pattern.search(text)
        if match:
            return match.expand(sentence)
    return text[:_MAX_WARNING_CHARS] if _AS_PRINTED.search(text) else None


def read_stall(text: str) -> str | None:
    """Return the warning of a message that workers take nothing from the engine; it means one only while serving.

    At the start the same message, at level INFO, waits for a compilation.
    """
    if _STALL.search(text) is None:
        return None
    return (
        "A worker took no work from the engine for a minute or longer while serving: a process hangs or is very busy."
    )

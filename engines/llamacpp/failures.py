"""Failures of llama.cpp's server, their consequences, and warnings that matter."""

from __future__ import annotations

import re
from functools import lru_cache

from engines.line_reader import LogFailure
from engines.machine_failures import read_machine_failure

_OUT_OF_MEMORY = "The accelerator ran out of memory."
_RETRIED = re.compile(r"compute buffer allocation failed, retrying|retrying without pipeline parallelism")
# It measures how much memory a draft model would need, which it cannot do for every one.
_EXPECTED = re.compile(r"this warning is normal during memory fitting|failed to measure draft model memory")
_RULES: tuple[tuple[re.Pattern[str], int | None, str], ...] = tuple(
    (re.compile(pattern), rank, sentence)
    for pattern, rank, sentence in (
        (
            r"cudaMalloc failed: out of memory|failed to allocate \S+ buffer of size|"
            r"failed to allocate (?:buffer for kv cache|compute)|ErrorOutOfDeviceMemory|"
            r"(?:CUDA|ROCm|HIP|MUSA) error: out of memory|Device memory allocation of size \d+ failed|"
            r"kIOGPUCommandBufferCallbackErrorOutOfMemory|UR_RESULT_ERROR_OUT_OF_(?:DEVICE|HOST|RESOURCES)\w*",
            0,
            _OUT_OF_MEMORY,
        ),
        (r"^CUDA error: ", 0, "The CUDA runtime failed."),
        (r"^ ?(?:ROCm|HIP|MUSA) error: |\(UR_RESULT_ERROR_\w+\)", 0, "The accelerator's runtime failed."),
        (
            r"^ggml_vulkan: device lost on |ErrorDeviceLost|DeviceLostError",
            0,
            "The accelerator was lost: its driver reset it, or a computation took too long.",
        ),
        (r"Exception caught at file:\S+, line:\d", 0, "The accelerator's runtime failed."),
        (r"^Error OP [A-Z]", 1, "The accelerator failed to compute a graph."),
        (r"^ggml_metal_\w+: error: ", 1, "The accelerator's runtime failed."),
        (r"command buffer \d+ failed with status \d", 1, "The accelerator failed to compute a graph."),
        (r"unknown model architecture", 0, "This build does not know the model's architecture."),
        (
            r"invalid magic characters|failed to open GGUF|gguf_init_from_file\w*: (?:failed|invalid)|"
            r"failed to open .*No such file or directory|missing tensor '|wrong number of tensors",
            0,
            "The model file cannot be read.",
        ),
        (
            r"^error: (?:invalid argument|unknown argument|argument)|error while handling argument",
            0,
            "The server does not know a flag or its value.",
        ),
        (r"couldn't bind (?:HTTP server )?socket|address already in use", 0, "The port is in use."),
        (
            r"^(?:\S+: line \d+: +\d+ )?Killed\b|Out of memory: Killed process",
            0,
            "The kernel killed the process, most likely for memory.",
        ),
        (r"failed to decode the batch, n_batch = 1\b", 0, "The KV cache has no room for one more token."),
        (r"GGML_ASSERT\(", 0, "An internal check of the engine failed."),
        (r"what\(\): ", 0, "The server ended with an exception."),
        (r"terminate called after throwing", 1, "The server ended with an exception."),
        (
            r"draft (?:model|vocab).*(?:not compatible|incompatible|must match)",
            0,
            "The draft model does not fit the target.",
        ),
        (r"error loading model(?: architecture| vocabulary|:)", 1, "The model cannot be loaded."),
        (
            r"failed to (?:load model|initialize the context|load draft model|create context)",
            2,
            "The model cannot be loaded.",
        ),
        (r"\(ggml_abort\+0x|\bin ggml_abort ", 3, "The engine ended itself."),
        (r"exiting due to (?:model loading|HTTP server) error", 3, "The server gave up."),
        (r"^ggml_cuda_init: failed to initialize", None, "No GPU is used: its driver could not be initialized."),
        (r"no usable GPU found", None, "No GPU is used: the layers stay on the CPU."),
        (
            r"Flash Attention (?:was auto|not supported), set to disabled",
            None,
            "Flash attention is off: this model or device lacks it.",
        ),
        (
            r"failed to find (?:a memory slot|free space in the KV cache)",
            None,
            "The KV cache is full: a batch is split.",
        ),
        (
            r"exceeds the available context size|request \(\d+ tokens\) exceeds",
            None,
            "A request does not fit the slot's context and was refused.",
        ),
        (
            r"failed to fit params to free device memory",
            None,
            "The settings were not fitted to the free memory of the devices.",
        ),
        (
            r"exceeds the training context of the model|> n_ctx_train \(",
            None,
            "The context is longer than the model was trained for.",
        ),
        (
            r"forcing full prompt re-processing",
            None,
            "A prompt is read again from its beginning: this model's cache cannot be cut back.",
        ),
        (
            r"is not supported by (?:this context|multimodal), it will be disabled",
            None,
            "A setting is off: this model does not support it.",
        ),
        (
            r"failed to decode the batch.*\bret = -[23]\b",
            None,
            "A batch could not be computed: its requests failed.",
        ),
        (r"^srv +operator\(\): got exception: ", None, "A request failed; the server keeps running."),
    )
)


@lru_cache(maxsize=16)  # a line's failure is asked for twice
def read_failure(text: str) -> LogFailure | None:
    """Return the failure that a message reports, or None."""
    if _EXPECTED.search(text):
        return None
    for pattern, rank, sentence in _RULES:
        if pattern.search(text):
            return LogFailure(rank, text, sentence if rank is None else f"{sentence} {text}")
    return read_machine_failure(text, cause_rank=0, echo_rank=3)


def is_allocation_failure(text: str) -> bool:
    """Whether an allocation failed; some are retried with less memory, see `is_retry`."""
    failure = read_failure(text)
    return failure is not None and failure.sentence.startswith(_OUT_OF_MEMORY)


def is_retry(text: str) -> bool:
    """Whether a failed allocation is retried in another way."""
    return _RETRIED.search(text) is not None

"""Failures in llama.cpp's log, and lines that only sound like one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from engines.llamacpp.log import log_parser

NOW = datetime(2026, 11, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (
            "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9 MiB: cudaMalloc failed: out of memory\n"
            "llama_model_load: error loading model: unable to allocate CUDA0 buffer\n"
            "srv    load_model: failed to load model, 'a.gguf'\n"
            "main: exiting due to model loading error\n",
            "ran out of memory",
        ),
        ("ROCm error: invalid device function\n", "runtime failed"),
        (" ROCm error: unspecified launch failure\n", "runtime failed"),
        ("ROCm error: out of memory\n", "ran out of memory"),
        ("ggml_vulkan: Device memory allocation of size 1073741824 failed.\n", "ran out of memory"),
        ("ggml_vulkan: device lost on Vulkan0\n", "accelerator was lost"),
        ("srv  update_slots: decode() failed: vk::Queue::submit: ErrorDeviceLost\n", "accelerator was lost"),
        ("terminate called after throwing an instance of 'vk::DeviceLostError'\n", "accelerator was lost"),
        ("error: Insufficient Memory (00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory)\n", "ran out of memory"),
        ("Native API failed. Native API returns: 39 (UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY)\n", "ran out of memory"),
        ("Native API failed. Native API returns: 20 (UR_RESULT_ERROR_DEVICE_LOST)\n", "runtime failed"),
        ("No kernel was foundException caught at file:/a/ggml-sycl.cpp, line:4199\n", "runtime failed"),
        ("Error OP MUL\n", "failed to compute"),
        ("gguf_init_from_file: invalid magic number 67676a74\n", "cannot be read"),
        ("ggml_metal_get_buffer: error: buffer is nil\n", "runtime failed"),
        ("ggml_metal_graph_compute: command buffer 0 failed with status 5\n", "failed to compute"),
        ("llama_model_load: error loading model: unknown model architecture: 'gemma9'\n", "does not know the model"),
        ("error: invalid argument: --tensor-size\n", "does not know a flag"),
        ("start: couldn't bind HTTP server socket, hostname: 127.0.0.1, port: 8080\n", "port is in use"),
        ("libggml-base.so(ggml_abort+0x152)[0x72ed]\n", "ended itself"),
        ("#3  0x00007f55 in ggml_abort () from libggml-base.so.0\n", "ended itself"),
        ("/ggml/src/ggml.c:1: GGML_ASSERT(ne[0] > 0) failed\n", "internal check"),
        (
            "llama_kv_cache_unified: failed to allocate buffer for kv cache\n"
            "common_init_from_params: failed to create context with model 'a.gguf'\n",
            "ran out of memory",
        ),
    ],
)
def test_the_cause_of_a_failure(lines: str, says: str, read_log) -> None:
    log = read_log("llamacpp", lines)
    first = lines.partition("\n")[0]
    assert log.reading.errors[0] == first
    assert says in log.marks("failure")[0]
    assert log.reading.errors == lines.splitlines()


def test_thrown_error_precedes_the_generic_one(read_log) -> None:
    text = "terminate called after throwing an instance of 'std::runtime_error'\n  what():  no chat template\n"
    assert read_log("llamacpp", text).reading.errors == ["  what():  no chat template", text.partition("\n")[0]]


def test_a_failure_behind_the_dots_of_progress(read_log) -> None:
    reading = read_log("llamacpp", "......ROCm error: context is destroyed\n").reading
    assert reading.errors == ["ROCm error: context is destroyed"]


def test_what_only_sounds_like_a_failure_is_none(read_log) -> None:
    lines = (
        "llama_params_fit: failed to fit params to free device memory: n_gpu_layers already set by user to 99, abort\n"
        "srv  log_server_r: done request: POST /v1/chat/completions 127.0.0.1 500\n"
        "0.02.249.228 W common_speculative_init: no implementations specified for speculative decoding\n"
        "0.00.301.237 E llama_init_from_model: failed to initialize the context: dflash requires ctx_other to be set "
        "(this warning is normal during memory fitting)\n"
        "0.00.334.091 W srv    load_model: [spec] failed to measure draft model memory: failed to load model\n"
    )
    assert read_log("llamacpp", lines).reading.errors == []


def test_failed_request_is_no_server_failure(read_log) -> None:
    log = read_log("llamacpp", 'srv    operator(): got exception: {"error":{"code":500,"message":"Failed to parse"}}\n')
    assert log.reading.errors == []
    assert log.marks("warning") == ["A request failed; the server keeps running."]


ALLOCATION = """\
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9216.00 MiB on device 1: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA1 buffer of size 9663676416
graph_reserve: failed to allocate compute buffers
"""


def test_retried_allocation_is_only_a_warning(read_log) -> None:
    retried = "llama_context: compute buffer allocation failed, retrying without pipeline parallelism\n"
    log = read_log("llamacpp", ALLOCATION + retried + "srv    load_model: initializing, n_slots = 4\n")
    assert log.reading.errors == [] and log.marks("failure") == []
    (warning,) = log.marks("warning")
    assert warning.startswith("A buffer did not fit in memory and was retried")
    for end in ("", "srv    load_model: failed to load model\n"):
        log = read_log("llamacpp", ALLOCATION + end)
        assert len(log.marks("failure")) == 3 + bool(end) and log.reading.errors[0] in ALLOCATION


def test_failed_allocation_waits_for_later_lines() -> None:
    parser = log_parser()
    assert parser.feed(ALLOCATION.encode()) == [] and parser.settled_offset() == 0
    assert len(parser.close()) == 3


def test_full_cache_at_batch_of_one_is_a_failure(read_log) -> None:
    full = "update_slots : failed to find free space in the KV cache, retrying with smaller n_batch = 1\n"
    last = "update_slots : failed to decode the batch, n_batch = 1, ret = 1"
    log = read_log("llamacpp", full + last + "\n")
    assert log.reading.errors == [last] and len(log.marks("warning")) == 1


def test_a_batch_that_could_not_be_computed_is_a_warning(read_log) -> None:
    line = "srv  update_slots: decode() failed: failed to decode the batch, i = 0, n_batch = 2048, ret = -3\n"
    log = read_log("llamacpp", line)
    assert (log.reading.errors, log.marks("warning")) == ([], ["A batch could not be computed: its requests failed."])

"""The author of a log: an engine, a router, or neither; parse and import follow one rule."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.imports import log_recognition
from collectors.imports.log_recognition import recognise_log
from engines import ENGINES
from engines.parse import parse_file
from engines.recognition import PART_BYTES, unread_reason
from tests.wide import wide_params

GATEWAY = """\
2026-02-26 13:55:38  INFO smg::server: src/server.rs:794: Starting router on 0.0.0.0:8000 | mode: PrefillDecode
2026-02-26 13:55:38  INFO smg::workflow: /home/runner/work/sglang/sglang/src/event.rs:197: Workflow started
2026-02-26 13:55:39  WARN smg::core::worker: update.rs:62: Model /models/a/ has conflicting load_balance_method
2026-02-26 13:55:40  WARN smg::core::worker: update.rs:62: Model /models/a/ has conflicting load_balance_method
2026-02-26 13:56:09 ERROR http_request{method=POST uri=/v1/x}: smg::routers::pd: pd.rs:172: Failed to select PD pair
"""
ENGINE_LINES = {
    "vllm": '(APIServer pid=1) INFO:     192.168.10.54:55322 - "GET /version HTTP/1.1" 200 OK\n',
    "vllm core": "(EngineCore pid=812) INFO 08-14 10:02:11 [core.py:1] Hello\n",
    "vllm module": "CRITICAL 08-14 10:02:11 [core_client.py:260] Got fatal signal from worker processes\n",
    "vllm path": 'ERROR 08-14 10:02:11 [a.py:1]   File "/opt/site-packages/vllm/distributed/a.py"\n',
    "vllm worker": "(VllmWorker PP0_TP3 pid=4800) Using vllm unified attention\n",
    "vllm frame": 'INFO -   File "/opt/site-packages/vllm/v1/utils.py", line 494, in wait_for_engine_startup\n',
    "vllm backend": "(ServeReplica:default:V pid=77) INFO 02-27 23:48:16 cuda.py:160] Using Triton MLA backend.\n",
    "vllm command": "$ A=1 vllm serve org/m --port 1\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allo\n",
    "sglang command": "python3 -m sglang.launch_server --model org/m\nCUDA out of memory. Tried to allocate 2 MiB\n",
    "vllm arguments": "INFO 08-08 14:47:21 api_server.py:220] args: Namespace(host='0.0.0.0', port=8000\n",
    "vllm limit": "INFO 04-02 17:25:34 [config.py:1] Chunked prefill is enabled with max_num_batched_tokens=2048.\n",
    "vllm in Ray Serve": "INFO 2024-11-18 01:46:34,210 V a.py:47 - Starting: AsyncEngineArgs(model='org/m', seed=0\n",
    "vllm dead worker": "Worker proc VllmWorker-6 died unexpectedly\n",
    "vllm of 0.6": "INFO 12-13 19:54:18 worker.py:243] Memory profiling results:\n",
    "vllm in KServe": "Failed to start model server: Engine core initialization failed. See root cause above.\n",
    "vllm platform": "INFO 03-09 12:40:52 __init__.py:190] Automatically detected platform cuda.\n",
    "vllm platforms": "DEBUG 02-11 02:14:15 [__init__.py:35] Checking if TPU platform is available.\n",
    "llamacpp file of ggml": "ROCm error: illegal access\n/src/ggml/src/ggml-cuda/ggml-cuda.cu:106: ROCm error\n",
    "vllm rank": "(Worker_TP3_EP3 pid=891) [aiter] import [module_moe_sorting]\n",
    "sglang retraction": "Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.1474 -> 0.1845\n",
    "sglang rank": "[2026-08-14 10:02:11 DP1 TP9] Tree cache initialized: source=default\n",
    "sglang": "[2026-08-14 10:02:11 TP0] sglang.srt.utils is here\n",
    "sglang process": "frame #31: PyObject_Call + 0x115 (0x54b155 in sglang::scheduler_DP1_TP1_EP1)\n",
    "sglang frame": '  File "/w/python/sglang/srt/entrypoints/http_server.py", line 50, in <module>\n',
    "sglang arguments": "[2026-08-14 10:02:11] server_args=ServerArgs(model_path='org/m', tokenizer_path='org/m', dt\n",
    "llamacpp file": "llama_model_loader: - kv   2:        llama.context_length u32              = 4096\n",
    "llamacpp loader": "WARN a::b: c.rs:111: <x>: llama_model_loader: - kv   0: general.architecture str = bert\n",
    "llamacpp tensors": "webui | llama_model_loader: - tensor  289: blk.31.attn_v.weight f16 [ 4096, 4096, 1, 1 ]\n",
    "llamacpp of 2023": "api-1  | llama_model_load_internal: n_vocab    = 32000\n",
    "llamacpp layers": "load_tensors: layer  25 assigned to device RPC[10.0.2.209:50052], is_swa = 0\n",
    "llamacpp model": "[34333] 0.00.883.873 I print_info: model type            = 196B.A11B\n",
    "llamacpp of 2024": '      INFO [    main] HTTP server listening | tid="0x1" timestamp=1720645907 port="8080"\n',
    "llamacpp": "srv  log_server_r: request: GET /health 127.0.0.1 200\n",
    "trtllm": "[08/14/2026-10:02:11] [TRT-LLM] [I] Starting the executor\n",
}


def parsed(log: Path) -> dict[str, Any]:
    out = io.StringIO()
    parse_file(log, ENGINES, out)
    reading: dict[str, Any] = json.loads(out.getvalue())
    return reading


@pytest.fixture(name="log")
def log_fixture(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def recognised(log: Path) -> tuple[str | None, str | None]:
    """Engine and router, by parse and by both ways of an import."""
    reading = parsed(log)
    writer = recognise_log(log, lambda share: None)
    engine, router = writer.engine, writer.router
    assert (reading["engine"], reading["router"]) == (engine and engine.name, router and router.title)
    is_read = bool(engine or router)
    reason = None if is_read else unread_reason(writer, "The file", log.stat().st_size, ENGINES)
    assert reading["reason"] == reason
    return reading["engine"], reading["router"]


@pytest.mark.parametrize("is_large", [False, *wide_params(True)])
@pytest.mark.parametrize(
    ("text", "writer"),
    [
        (GATEWAY, (None, "SGLang Model Gateway")),
        (GATEWAY + ENGINE_LINES["sglang"], ("sglang", None)),
        ("A shopping list: SGLang, vllm/engine/, TensorRT-LLM], llama-server, milk.\n", (None, None)),
        ("vllm serve org/m\nBuy milk.\n", (None, None)),
        ("Error: milk\nStart it by vllm serve org/m\nValueError: odd\n", (None, None)),
        ("▎ Available KV cache memory: 22.5 GiB\n", ("vllm", None)),
        ("ggml_cuda_init: failed to initialize CUDA: unknown error\nllm_load_tensors: CPU\n", ("llamacpp", None)),
        ("[TM][ERROR] CUDA runtime error: out of memory\n", (None, None)),
        *((line, (engine.split()[0], None)) for engine, line in ENGINE_LINES.items()),
    ],
)
def test_parse_and_import_agree(
    text: str, writer: tuple[str | None, str | None], is_large: bool, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:  # another process reads it
        monkeypatch.setattr(log_recognition, "SMALL_BYTES", 0)
    log.write_text(text)
    assert recognised(log) == writer


def test_errors_of_a_router_are_causes_and_its_warnings_warnings(log: Path) -> None:
    log.write_text(GATEWAY)
    reading = parsed(log)
    assert reading["errors"] == ["Failed to select PD pair"]
    text = "Model /models/a/ has conflicting load_balance_method"
    assert reading["warnings"] == [{"line": 3, "text": text, "count": 2}]
    assert (reading["engine"], reading["samples"], reading["startup"]) == (None, [], {})


ROUTERS = {
    "0: 2025-08-21T08:17:04.681034Z ERROR dynamo_llm::http::service::service_v2: no worker": "NVIDIA Dynamo frontend",
    "2025-07-08 19:58:04  ERROR sglang_router_rs::router: src/router.rs:354: no worker": "SGLang Model Gateway",
    "\x1b[2m2026-09-20 08:28:07\x1b[0m \x1b[31mERROR\x1b[0m vllm_router_rs::server: src/server.rs:847: no worker": (
        "vLLM Router"
    ),
    "[2026-03-01 10:00:00,123] ERROR: No worker (request.py:222:vllm_router.services.request)": "vLLM Router",
}


@pytest.mark.parametrize("line", ROUTERS)
def test_every_router_is_named(line: str, log: Path) -> None:
    log.write_text(f"{line}\n")
    assert recognised(log) == (None, ROUTERS[line])
    assert [error.lower() for error in parsed(log)["errors"]] == ["no worker"]


@pytest.mark.wide
def test_router_record_across_two_parts_is_no_engines(log: Path) -> None:
    line = GATEWAY.splitlines()[1]
    log.write_text("x" * (PART_BYTES - 60) + f"\n{line}\n")
    assert recognised(log) == (None, "SGLang Model Gateway")


def test_a_named_engine_does_not_hide_the_one_that_wrote(log: Path) -> None:
    log.write_text(f"image vllm/engine/tools\n{ENGINE_LINES['trtllm']}")
    assert recognised(log) == ("trtllm", None)


LLAMA_SWAP = """\
[DEBUG] <qwen-9b> swapState() State transitioned from starting to ready
[INFO] Request 10.1.0.4 "POST /v1/chat/completions HTTP/1.1" 502 41 "curl/8.5.0" 293.7ms
[WARN] <qwen-9b> ExitError >> signal: aborted (core dumped), exit code: -1
[ERROR] <qwen-9b> health check timed out after 60s
"""


def test_llama_swap_is_a_router_with_causes_and_warnings(log: Path) -> None:
    log.write_text(LLAMA_SWAP)
    assert recognised(log) == (None, "llama-swap")
    reading = parsed(log)
    assert reading["errors"] == ["<qwen-9b> health check timed out after 60s"]
    (warning,) = reading["warnings"]
    assert (warning["line"], warning["text"]) == (
        3,
        "<qwen-9b> ExitError >> signal: aborted (core dumped), exit code: -1",
    )


def test_the_server_behind_llama_swap_wrote_the_log_that_has_its_lines(log: Path) -> None:
    log.write_text(LLAMA_SWAP + ENGINE_LINES["llamacpp"])
    assert recognised(log) == ("llamacpp", None)


@pytest.mark.parametrize(
    ("container", "title"), [("", "reverse proxy in Go"), ("llama-swap-2  | ", "llama-swap")], ids=["bare", "compose"]
)
def test_proxy_errors_of_go_are_causes(container: str, title: str, log: Path) -> None:
    line = f"{container}2026/08/11 03:31:33 http: proxy error: dial tcp 127.0.0.1:5800: connect: connection refused\n"
    log.write_text(line * 3)
    assert recognised(log) == (None, title)
    assert parsed(log)["errors"] == ["dial tcp 127.0.0.1:5800: connect: connection refused"]


OTHER_LOGS = {
    "[TM][ERROR] CUDA runtime error: out of memory src/a.cc:9": "LMDeploy",
    "2026-03-02 11:05:44,155 - lmdeploy - WARNING - Fallback to the pytorch engine": "LMDeploy",
    "2026-05-26T10:46:35.2Z ERROR batch{size=1}: text_generation_router_v3::client: mod.rs:45: Server error": (
        "Text Generation Inference"
    ),
    '{"level":"ERROR","message":"Request failed","target":"text_generation_router_v3::backend"}': (
        "Text Generation Inference"
    ),
    'time=2026-01-21T07:58:24.396Z level=INFO source=images.go:499 msg="total blobs: 3"': "Ollama",
    "[2026-08-05 17:22:08][INFO][LM STUDIO SERVER] Server started.": "LM Studio",
    "INFO 02-12 16:56:47 [communication_op.py:48] lightllm_kernel is not installed, you can't use it": "LightLLM",
    "tabbyapi-1  | 2026-03-14 11:05:29.634 INFO:     ExllamaV3 version: 0.0.6": "TabbyAPI",
    "INFO:     Metrics (ID: 1d1b1a8d): 43 tokens generated in 1.2 seconds (Queue: 0.0 s": "TabbyAPI",
    "12:26:44 - LiteLLM Proxy:ERROR: proxy_server.py:3 - No deployments available": "LiteLLM",
    "I0410 16:58:08.485508 1 model_lifecycle.cc:849] successfully loaded 'a'": "Triton Inference Server",
    "I0609 06:11:59.784444 1 libtorch.cc:1030] TRITONBACKEND_Initialize: pytorch": "Triton Inference Server",
    "2025-04-24T07:42:44.118Z  INFO serve_dynamo.worker: [PrefillWorker] Starting PrefillWorker": "NVIDIA Dynamo",
    "2025-09-02T15:50:01.770028Z  INFO main.init: VllmWorker for org/m has been initialized": "NVIDIA Dynamo",
    "2025-11-05T00:11:20.114Z ERROR decode_handler.generate: The prefill worker did not answer": "NVIDIA Dynamo",
    "2025-12-04 21:57:21.605213+08:00 - gpustack.worker.backends.vllm - INFO - Starting vLLM model": "GPUStack",
    "[2025-07-03 12:45:27,563] LMCache WARNING: Failed to allocate memory for the KV cache.": "LMCache",
    '  File "/venv/lib/python3.12/site-packages/dynamo/trtllm/main.py", line 373, in main': "NVIDIA Dynamo",
    "thread '<unnamed>' panicked at /opt/dynamo/lib/runtime/src/storage/kv.rs:440:29:": "NVIDIA Dynamo",
    '  File "/venv/lib/python3.12/site-packages/mlx_lm/server.py", line 9, in main': "MLX LM",
    "kernel: NVRM: Xid (PCI:000f:01:00): 31, pid=8123, name=VLLM::EngineCor, channel 0x8. MMU Fault": (
        "the Linux kernel, with messages of the NVIDIA driver"
    ),
    "[ 1843.308145] NVRM: Xid (PCI:0000:b3:00): 79, GPU has fallen off the bus.": (
        "the Linux kernel, with messages of the NVIDIA driver"
    ),
}


@pytest.mark.parametrize("is_large", [False, *wide_params(True)])
@pytest.mark.parametrize("line", OTHER_LOGS)
def test_a_program_whose_logs_are_not_read_is_named(
    line: str, is_large: bool, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if is_large:
        monkeypatch.setattr(log_recognition, "SMALL_BYTES", 0)
    log.write_text(f"{line}\n")
    assert recognised(log) == (None, None)
    engines = "vLLM, SGLang, llama.cpp, TensorRT-LLM"
    assert (
        parsed(log)["reason"] == f"The file is a log of {OTHER_LOGS[line]}, which is not read; those of {engines} are."
    )


@pytest.mark.parametrize(
    ("line", "writer"),
    [
        (ENGINE_LINES["sglang"], ("sglang", None)),
        (GATEWAY, (None, "SGLang Model Gateway")),
        (next(iter(OTHER_LOGS)), (None, None)),
    ],
)
def test_a_program_that_imports_vllm_is_not_vllm(line: str, writer: tuple[str | None, str | None], log: Path) -> None:
    log.write_text(f"{ENGINE_LINES['vllm platform']}{line}\n")
    assert recognised(log) == writer


def test_an_engine_in_another_programs_log_wrote_it(log: Path) -> None:
    log.write_text(f"{next(iter(OTHER_LOGS))}\n{ENGINE_LINES['vllm']}")
    assert recognised(log) == ("vllm", None)

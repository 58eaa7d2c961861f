"""Why a vLLM server failed: the true cause first, then its echoes, and nothing that only looks like a failure."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.base import LogMark
from engines.vllm.log import VllmReader

FIXTURES = Path(__file__).parents[2] / "fixtures" / "vllm"
CORE = "(EngineCore_DP0 pid=2) ERROR 05-20 01:43:25 [core.py:718] "
RAW_CORE = "(EngineCore_DP0 pid=2) "
API = "(APIServer pid=1) "
ECHO = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore': 1}"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above)."
TRACEBACK = "Traceback (most recent call last):"
READY = f"{API}INFO:     Application startup complete.\n"


def core_fails(cause: str) -> str:
    """A failed start as 0.8 to 0.33 print it: the core's traceback as records, the API server's raw."""
    records = "".join(
        f"{CORE}{line}\r\n" for line in ("EngineCore failed to start.", TRACEBACK, '  File "c.py"', cause)
    )
    return f'{records}{API}{TRACEBACK}\n{API}  File "x.py", line 1\n{API}{ECHO}\n'


CAUSES = {
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 252.00 MiB. GPU 0 has a total of 10 GiB.": (
        "The GPU ran out of memory: an allocation of 252.00 MiB failed."
    ),
    "ValueError: To serve at least one request with the model's max seq len (32768), (4.0 GiB KV cache is needed, "
    "which is larger than the available KV cache memory (2.5 GiB). Based on the available memory, the estimated "
    "maximum model length is 20480. Try increasing": (
        "The KV cache is too small for one request of 32768 tokens: 4.0 GiB are needed, 2.5 GiB are available; "
        "vLLM estimates that 20480 tokens fit."
    ),
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`.": (
        "No GPU memory is left for the KV cache: weights and working memory use the whole budget."
    ),
    "ValueError: Free memory on device (13.58/15.99 GiB) on startup is less than desired GPU memory utilization "
    "(0.85, 13.59 GiB). Decrease": (
        "Only 13.58 of 15.99 GiB of GPU memory were free at the start, less than the requested 13.59 GiB (0.85 of all)."
    ),
    "ValueError: Model architectures ['FooForCausalLM'] are not supported for now. Supported architectures: x": (
        "This version of vLLM does not support the model's architecture ('FooForCausalLM')."
    ),
    "KeyError: 'layers.0.down_proj.weight_scale'": "The checkpoint lacks a weight scale that its quantization needs.",
    "AttributeError: Can't pickle local object 'f.<locals>.g'": (
        "The compiled model could not be pickled for the compile cache."
    ),
    "RuntimeError: CUDA error: an illegal memory access was encountered": (
        "A CUDA kernel accessed memory outside its bounds (illegal memory access)."
    ),
    "AttributeError: 'DPEngineCoreProc' object has no attribute 'dp_rank'": (
        "AttributeError: 'DPEngineCoreProc' object has no attribute 'dp_rank'"
    ),
}
OTHER_FAILURES = {
    "an unknown flag": ("vllm: error: unrecognized arguments: --max-num-seqz 8", "arguments: --max-num-seqz 8."),
    "the port": ("OSError: [Errno 98] Address already in use", "The port is in use"),
    "the port, told by uvicorn": (
        "ERROR:    [Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
        "The port is in use",
    ),
    "an engine that KServe could not start": (
        "2026-02-11 02:15:04.629 1 kserve ERROR [__main__.py:<module>():337] Failed to start model server: Engine core "
        "initialization failed. See root cause above. Failed core proc(s): {}",
        "",
    ),
    "the kernel": ("run.sh: line 3: 4711 Killed                  vllm serve m", "killed from outside"),
    "a config that pydantic refuses": (
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        "  Value error, Model architectures ['Foo'] are not supported for now.",
        "does not support the model's architecture ('Foo')",
    ),
    "a worker that died": (
        f"{CORE}Worker proc VllmWorker-0 died unexpectedly (exit code: None), shutting down executor.",
        "VllmWorker-0 died",
    ),
    "an engine while serving": (
        f"{READY}{CORE}EngineCore encountered a fatal error.\n{CORE}IndexError: x",
        "IndexError: x",
    ),
    "the API server at its second start": (
        READY
        + f"{API}INFO 05-20 01:43:25 [core.py:1] Initializing a V1 LLM engine (v0.30.0) with config: x\n" * 2
        + f"{API}ERROR 05-20 01:43:25 [api_server.py:1] ValueError: odd",
        "ValueError: odd",
    ),
    "an exception as the engine of V0 writes it": (
        "ERROR 05-20 01:43:25 engine.py:244] nixlUnknownError('NIXL_ERR_UNKNOWN')\n"
        f"ERROR 05-20 01:43:25 engine.py:244] {TRACEBACK}",
        "nixlUnknownError: NIXL_ERR_UNKNOWN",
    ),
    "an exception whose name begins with a small letter": (
        f"{CORE}nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
        "nixl._bindings.nixlBackendError: NIXL_ERR_BACKEND",
    ),
    "an engine in a stage of vLLM-Omni": (
        "(StageEngineCoreProc pid=7) ERROR 05-20 01:43:25 [stage_engine_core_proc.py:174] StageEngineCoreProc "
        "encountered a fatal error.",
        "StageEngineCoreProc encountered a fatal error.",
    ),
    "an orchestrator's requests that end with their engine": (
        "ERROR 05-20 01:43:25 [omni.py:963] [Orchestrator] Stage 1 error on request 6_97: EngineCore encountered an "
        "issue. See stack trace (above) for the root cause.",
        "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    ),
    "an error of CUDA that native code throws": (
        "c10::AcceleratorError:\nCUDA error: unspecified launch failure\nWorker proc VllmWorker-6 died unexpectedly",
        "A CUDA call failed: unspecified launch failure.",
    ),
    "a fragment": ("RuntimeError: CUDA out of memory occurred when warming up sampler.", "The GPU ran out of memory."),
}
SERVING = f"{API}ERROR 05-20 01:43:25 [serving_chat.py:251] "
REFUSED = f"{SERVING}Error in preprocessing prompt inputs\r\n{SERVING}{TRACEBACK}\r\n{SERVING}ValueError: too long.\r\n"
NO_FAILURE = {
    "a request too long": READY + REFUSED,
    "the same before READY was seen": REFUSED,
    "a request that uvicorn tells of": (
        f"{READY}{API}ERROR:    Exception in ASGI application\n{API}{TRACEBACK}\n"
        f"{API}pydantic_core._pydantic_core.ValidationError: 1 validation error\n"
    ),
    "a thread that does not matter": (
        f"{RAW_CORE}Exception in thread Thread-1 (_report_usage_worker):\n{RAW_CORE}{TRACEBACK}\n"
        f"{RAW_CORE}json.decoder.JSONDecodeError: Expecting value: line 1 column 2 (char 1)\n"
    ),
    "an orderly end": (
        f"{RAW_CORE}INFO 05-20 01:43:25 [core.py:1] [shutdown] EngineCore: trigger received signal=SIGTERM\n"
        f"{API}ERROR 05-20 01:43:25 [async_llm.py:704] AsyncLLM output_handler failed.\r\n"
        f"{API}ERROR 05-20 01:43:25 [async_llm.py:704] {DEAD}\r\n"
    ),
    "a warning": f"{API}WARNING 05-20 01:43:25 [_ipex_ops.py:16] Import error msg: No module named 'intel_extension'\n",
    "advice": "INFO 05-20 01:43:25 [a.py:1] If OOM'ed, lower it: CUDA graphs may lead to running out of memory.\n",
    "vLLM's words in a question": "I get `ValueError: something` sometimes, why?\n",
}


def test_a_written_exception_and_its_traceback_are_one_cause(read_log) -> None:
    head = "ERROR 05-20 01:43:25 engine.py:366] "
    log = f"{head}ValueError('odd size')\n{head}{TRACEBACK}\n{head}ValueError: odd size\n"
    assert read_log("vllm", log).reading.errors == ["ValueError: odd size"]


@pytest.mark.parametrize("cause", CAUSES)
def test_cause_precedes_report_and_echo(cause: str, read_log) -> None:
    log = read_log("vllm", core_fails(cause))
    assert log.reading.errors == [cause, "EngineCore failed to start.", ECHO]
    assert CAUSES[cause] in log.marks("failure")


@pytest.mark.parametrize("name", OTHER_FAILURES)
def test_other_failures(name: str, read_log) -> None:
    text, sentence = OTHER_FAILURES[name]
    log = read_log("vllm", text + "\n")
    assert log.reading.errors
    assert any(sentence in mark for mark in log.marks("failure"))


def test_the_end_of_a_traceback_behind_a_stamp_and_a_bar(read_log) -> None:
    log = read_log(
        "vllm",
        '2025-05-30 18:28:27.890 |   File "/usr/lib/python3/dist-packages/vllm/linear.py", line 202, in apply\n'
        "2025-05-30 18:28:27.890 | RuntimeError: CUDA error: no kernel image is available for execution\n",
    )
    assert log.reading.errors == ["RuntimeError: CUDA error: no kernel image is available for execution"]


@pytest.mark.parametrize("head", ["", "(APIServer pid=7) ", "(APIServer pid=7) ERROR 11-20 10:00:00 [serve.py:9] "])
def test_a_member_of_an_exception_group_is_the_cause(head: str, read_log) -> None:
    """Python draws the members of a group behind a margin."""
    lines = (
        "  + Exception Group Traceback (most recent call last):",
        '  |   File "/usr/bin/vllm", line 8, in <module>',
        "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)",
        "  +-+---------------- 1 ----------------",
        "    | Traceback (most recent call last):",
        '    |   File "/usr/lib/python3.12/asyncio/runners.py", line 195, in run',
        "    | torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
        "    +------------------------------------",
    )
    log = read_log("vllm", "".join(f"{head}{line}\n" for line in lines))
    assert log.reading.errors == ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."]


@pytest.mark.parametrize("name", NO_FAILURE)
def test_what_only_looks_like_a_failure(name: str, read_log) -> None:
    log = read_log("vllm", NO_FAILURE[name])
    assert (log.reading.errors, log.marks("failure")) == ([], [])


def test_announcement_stands_behind_its_cause(read_log) -> None:
    announced = f"{API}pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
    text = f"{API}  Value error, Model architectures ['FooForCausalLM'] are not supported for now. Supported: x\n"
    errors = read_log("vllm", announced + text).reading.errors
    assert [error.partition(",")[0] for error in errors] == ["Value error", announced.removeprefix(API).strip()]
    request = announced.replace("ModelConfig", "ChatCompletionRequest")
    assert read_log("vllm", READY + request).reading.errors == []


class _Thorough(VllmReader):
    """Looks at the routine lines too."""

    LINE_FILTER = VllmReader.LINE_FILTER._replace(routine=None)


HEADS = (SERVING, SERVING.removeprefix(API), CORE, API, RAW_CORE, f"{API}WARNING 05-20 01:43:25 [a.py:1] ", "")
MESSAGES = (
    *CAUSES,
    *(text.split("] ")[-1] for text, _ in OTHER_FAILURES.values()),
    *("Error in preprocessing prompt inputs", TRACEBACK, "ValueError: too long.", "AssertionError", ECHO, DEAD),
    *("During handling of the above exception, another exception occurred:", "Killed", "KeyboardInterrupt: stop"),
    *(
        "INFO 05-20 01:43:25 metrics.py:4] Error: x",
        "WARNING:x:Error: fallback",
        "Error: x | y",
        "Error: [x]",
        "Error: é",
    ),
    *(
        "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 1.0 tokens/s",
        "Prefix cache hit rate",
    ),
    *("Initializing a V1 LLM engine (v0.30.0) with config: x", "INFO:     Application startup complete."),
)
LINES = st.builds("{}{}{}".format, st.sampled_from(HEADS), st.sampled_from(MESSAGES), st.sampled_from(("\n", "\r\n")))


@given(st.lists(LINES, max_size=12).map("".join))
def test_lines_skipped_while_serving_are_silent(text: str) -> None:
    quick, thorough = VllmReader(), _Thorough()
    data = READY.encode() + text.encode()
    assert quick.feed(data) + quick.close() == thorough.feed(data) + thorough.close()
    assert quick.reading() == thorough.reading()


def test_requests_that_were_refused_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    monkeypatch.setattr(VllmReader, "read_line", lambda self, line: read.append(line.text) or [])
    reader = VllmReader()
    reader.skip_routine(True)
    reader.feed((REFUSED + core_fails("AssertionError")).encode())
    assert read == ["EngineCore failed to start.", TRACEBACK, "AssertionError", TRACEBACK, ECHO]


def test_at_most_five_errors_and_no_growth(read_log) -> None:
    log = read_log("vllm", "".join(f"{CORE}ValueError: number {n}\n" for n in range(500)))
    assert log.reading.errors == [f"ValueError: number {n}" for n in range(5)]
    assert len(log.marks("failure")) == 5


def test_capture_of_a_kv_cache_too_small(read_log) -> None:
    log = read_log("vllm", (FIXTURES / "0.32-kv-too-small.log").read_bytes())
    assert log.reading.errors[0].startswith("ValueError: To serve at least one request")
    assert any(mark.endswith("vLLM estimates that 524160 tokens fit.") for mark in log.marks("failure"))
    assert log.reading.errors[1:] == [
        "EngineCore failed to start.",
        "Worker proc VllmWorker-0 died unexpectedly (exit code: None), shutting down executor.",
    ]


def test_capture_of_an_unknown_flag(read_log) -> None:
    log = read_log("vllm", (FIXTURES / "0.32-unknown-flag.log").read_bytes())
    assert log.reading.errors == ["vllm: error: unrecognized arguments: --max-num-seqz 8"]
    assert log.marks("failure") == ["vLLM does not know these arguments: --max-num-seqz 8."]


# vLLM 0.32 on the CPU, its EngineCore killed with signal 9: the API server shuts down in order and exits with 0.
KILLED_CORE = (
    f"{READY}(APIServer pid=1) WARNING 11-26 04:40:30 [core_client.py:817] [shutdown] MPClient: engine core exited "
    "unexpectedly; starting cleanup\n"
    "(APIServer pid=1) INFO 11-26 04:40:30 [core_client.py:770] [shutdown] MPClient: start timeout=default\n"
    "(APIServer pid=1) ERROR 11-26 04:40:30 [async_llm.py:906] AsyncLLM output_handler failed.\n"
    f"(APIServer pid=1) ERROR 11-26 04:40:30 [async_llm.py:906] {DEAD}\nINFO:     Shutting down\n"
)
# The same another time: it notices while it already shuts down.
KILLED_CORE_LATE = (
    f"{READY}(APIServer pid=1) INFO 11-26 04:52:31 [utils.py:628] [shutdown] Process manager: send sigterm to process "
    "EngineCore\n" + KILLED_CORE.removeprefix(READY)
)
# The same, its worker killed: the engine core is told so, and ends the server.
KILLED_WORKER = (
    f"{READY}(EngineCore pid=2) ERROR 11-26 04:42:22 [multiproc_executor.py:315] Worker proc VllmWorker-0 died "
    "unexpectedly (exit code: None), shutting down executor.\n"
    "(EngineCore pid=2) INFO 11-26 04:42:22 [multiproc_executor.py:479] [shutdown] Executor: waiting for worker exit\n"
)
ORDERED = (
    f"{READY}(APIServer pid=1) INFO 11-26 04:40:29 [launcher.py:99] [shutdown] APIServer: trigger received "
    "signal=SIGTERM\n" + KILLED_CORE.removeprefix(READY)
)
ORDERED_LATE = (
    f"{READY}(APIServer pid=1) INFO 11-26 04:55:23 [launcher.py:254] [shutdown] API server: shutdown triggered\n"
    + KILLED_CORE_LATE.removeprefix(READY)
)
REFUSED_ONE = (
    f"{READY}(APIServer pid=1) ERROR 11-26 04:40:29 [serving.py:9] ValueError: too long.\nINFO:     Shutting down\n"
)


STATS = (
    "(APIServer pid=1) INFO 11-26 04:41:00 [loggers.py:273] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg "
    "generation throughput: 10.0 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 0.1%, Prefix cache "
    "hit rate: 0.0%\n"
)


def test_continuing_server_has_not_died() -> None:
    text = f"{READY}(APIServer pid=1) ERROR 11-26 04:40:30 [serving.py:9] {DEAD}\n"
    for log, has_died in ((text, True), (text + STATS, False), (STATS + text, True)):
        reader = VllmReader()
        reader.feed(log.encode())
        reader.close()
        assert reader.reading().has_died is has_died


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (KILLED_CORE_LATE, "The engine's process (EngineCore) died without stating a cause."),
        (KILLED_CORE, "The engine's process (EngineCore) died without stating a cause."),
        (KILLED_WORKER, "The worker process VllmWorker-0 died without stating a cause."),
        (ORDERED, None),
        (ORDERED_LATE, None),
        (REFUSED_ONE, None),
    ],
)
def test_dead_engine_differs_from_ended_server(log: str, sentence: str | None) -> None:
    reader = VllmReader()
    marks = [*reader.feed(log.encode()), *reader.close()]
    texts = [mark.text for mark in marks if isinstance(mark, LogMark) and mark.kind == "failure"]
    assert texts[:1] == ([sentence] if sentence else [])
    assert reader.reading().has_died is (sentence is not None)


def test_a_bare_assertion_error_states_its_assertion(read_log) -> None:
    source = f"    assert new.page_bytes == old.page_bytes\r\n{CORE}           ^^^^^^^^"
    log = read_log("vllm", core_fails(f"{source}\r\n{CORE}AssertionError"))
    assert log.reading.errors[0] == "AssertionError: assert new.page_bytes == old.page_bytes"
    explained = read_log("vllm", core_fails(f"{source}\r\n{CORE}AssertionError: pages differ"))
    assert explained.reading.errors[0] == "AssertionError: pages differ"
    raised = f"{CORE}a line\r\n" * 30 + f"{CORE}AssertionError"
    assert "AssertionError" in read_log("vllm", core_fails(f"{source}\r\n{raised}")).reading.errors


@pytest.mark.parametrize("bare", ["KeyError: 'm5'", "AssertionError", "NotImplementedError:"])
def test_an_exception_with_a_message_precedes_one_without(bare: str, read_log) -> None:
    unknown = "ValueError: The checkpoint has model type `m5` but Transformers does not recognize this architecture."
    log = read_log("vllm", core_fails(bare) + core_fails(unknown))
    assert log.reading.errors == [unknown, bare, "EngineCore failed to start.", ECHO]
    assert "The installed Transformers does not know the model's architecture (m5)." in log.marks("failure")


def test_an_exception_in_a_worker_of_v0_is_the_cause(read_log) -> None:
    head = "(VllmWorkerProcess pid=232) ERROR 08-23 08:25:25 multiproc_worker_utils.py:226] "
    text = (
        "Exception in worker VllmWorkerProcess while processing method init_device: NCCL error: unhandled system error"
    )
    log = read_log("vllm", f"{head}{text} (run with NCCL_DEBUG=INFO for details), Traceback (most recent call last):\n")
    assert log.reading.errors == ["NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"]


def test_the_cause_of_a_compilation_error_comes_first(read_log) -> None:
    core = "(EngineCore pid=2) ERROR 05-20 01:43:25 [core.py:1] "
    lines = ("triton.compiler.errors.CompilationError: at 1:0:", "def kernel(", "^", 'ValueError("no fp8 here")')
    log = read_log("vllm", "".join(f"{core}{line}\n" for line in lines))
    assert log.reading.errors[0] == 'ValueError("no fp8 here")'


@pytest.mark.parametrize(
    "line",
    [
        "ERROR 12-19 09:33:44 engine.py:135] OutOfMemoryError('Error in model execution: CUDA out of memory. Tried to",
        "(VllmWorker rank=7 pid=240) Cuda failure 'out of memory'",
    ],
)
def test_out_of_memory_in_other_words(line: str, read_log) -> None:
    echo = "ERROR 12-19 09:33:45 [multiproc_executor.py:123] Worker proc VllmWorker-6 died unexpectedly, shutting down."
    assert "out of memory" in read_log("vllm", f"{line}\n{echo}\n").reading.errors[0]


def test_version_of_a_library_is_not_that_of_the_server(read_log) -> None:
    text = "(VllmWorker rank=7 pid=240) torch.distributed.DistBackendError: NCCL error, NCCL version 2.21.5\n"
    assert read_log("vllm", text).reading.version is None

"""SGLang's failures: the true cause before its echoes, requests that fail alone, warnings that matter."""

from __future__ import annotations

import pytest

from engines.sglang.log import log_parser

STARTED = (
    "[2026-06-07 12:15:01] server_args=ServerArgs(model_path='o/m', speculative_num_draft_tokens=4)\n"
    "[2026-06-07 12:15:31] The server is fired up and ready to roll!\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "/opt/sglang/srt/managers/scheduler.py", line 432, in __init__
    raise RuntimeError(
{error}
"""
SIGQUIT = "[2026-06-07 12:16:01] Received sigquit from a child process. It usually means the child failed."

FATAL = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 616.00 MiB. GPU 0 has a total capacity of 31.36 GiB",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
    "RuntimeError: CUDA error: an illegal memory access was encountered",
    "ImportError: cannot import name 'KVFP4QuantizeUtil' from 'sglang.srt.layers.quantization.kvfp4_tensor'",
    "AttributeError: 'MergedColumnParallelLinear' object has no attribute 'weight'",
    "AssertionError",
    "Exception: Capture CUDA graph failed: out of resource",
    "triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 147456",
]


@pytest.mark.parametrize("error", FATAL)
def test_scheduler_exception_precedes_its_echo(error: str, read_log) -> None:
    head = "[2026-06-07 12:16:01 TP{rank}] Scheduler hit an exception: "
    one = TRACEBACK.format(error=error)
    text = head.format(rank=1) + one + SIGQUIT + "\n" + head.format(rank=0) + one + SIGQUIT + "\n"
    log = read_log("sglang", text)
    assert log.reading.errors == [error, SIGQUIT.partition("] ")[2]]
    assert len(log.marks("failure")) == 2


def test_an_echo_that_comes_first_is_listed_last(read_log) -> None:
    cause = "[2026-06-07 12:16:02 TP0] Scheduler hit an exception: " + TRACEBACK.format(error="RuntimeError: late")
    assert read_log("sglang", f"{SIGQUIT}\n{cause}").reading.errors == [
        "RuntimeError: late",
        SIGQUIT.partition("] ")[2],
    ]


def test_key_error_yields_to_its_explanation(read_log) -> None:
    explanation = "ValueError: The model type `m5` is unknown to Transformers"
    head = "[2026-06-07 12:16:01] Scheduler hit an exception: " + TRACEBACK.format(error="KeyError: 'm5'")
    chained = (
        f"During handling of the above exception, another exception occurred:\n{TRACEBACK.format(error=explanation)}"
    )
    assert read_log("sglang", head + chained).reading.errors[0] == explanation
    bare = head.replace("KeyError: 'm5'", "NotImplementedError")
    assert read_log("sglang", f"{SIGQUIT}\n{bare}{chained}").reading.errors[:2] == [explanation, "NotImplementedError"]
    assert read_log("sglang", head + SIGQUIT).reading.errors[0] == "KeyError: 'm5'"


def test_a_bare_assertion_error_states_its_assertion(read_log) -> None:
    head = "[2026-06-07 12:16:01 TP0] Scheduler hit an exception: "
    text = head + TRACEBACK.format(error="    assert self.pages.is_free(page)\nAssertionError")
    assert read_log("sglang", text).reading.errors == ["AssertionError: assert self.pages.is_free(page)"]


def test_an_open_traceback_is_not_settled() -> None:
    parser = log_parser()
    before = b"[2026-06-07 12:16:00] nothing\n"
    parser.feed(before + b"[2026-06-07 12:16:01] Scheduler hit an exception: Traceback (most recent call last):\n  a\n")
    assert parser.settled_offset() == len(before)
    parser.feed(b"ValueError: odd\n")
    assert parser.settled_offset() > len(before)


@pytest.mark.parametrize(
    "line",
    [
        "`RuntimeError: Decode out of memory. Try to lower your batch size.",
        "Prefill out of memory. Try to lower your batch size.",
        "launch_server.py: error: unrecognized arguments: --tensor-size 2",
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use",
        "./serve.sh: line 28:  8891 Killed                  python3 -m sglang.launch_server",
    ],
)
def test_a_cause_without_a_traceback_is_found(line: str, read_log) -> None:
    assert read_log("sglang", line + "\n").reading.errors == [line.lstrip("`")]


def test_failed_request_is_no_server_failure(read_log) -> None:
    request = "[2026-06-09 03:35:23] Error in request: NPU function error\n[ERROR] 2026-06-09 ERR00100 call failed\n"
    text = request + TRACEBACK.format(error="RuntimeError: NPU function error")
    log = read_log("sglang", text)
    assert log.reading.errors == []
    assert log.marks("warning") == ["A request failed; the server keeps running: RuntimeError: NPU function error"]
    assert read_log("sglang", STARTED + TRACEBACK.format(error="ValueError: odd")).reading.errors == []


def test_main_traceback_before_ready_is_fatal(read_log) -> None:
    log = read_log("sglang", TRACEBACK.format(error="ValueError: Unrecognized model in org/model."))
    assert log.reading.errors == ["ValueError: Unrecognized model in org/model."]


def test_log_ending_in_traceback_says_so(read_log) -> None:
    text = "[2026-06-07 12:16:01 TP0] Scheduler hit an exception: " + TRACEBACK.partition("{error}")[0]
    assert read_log("sglang", text).reading.errors == ["Scheduler hit an exception"]


def test_a_cut_traceback_stands_behind_the_cause_of_another_rank(read_log) -> None:
    head = "[2026-06-07 12:16:01 TP0] Scheduler hit an exception: "
    assertion = TRACEBACK.format(error="    assert isinstance(pool, Pool)\nAssertionError")
    log = read_log("sglang", head + assertion + head + TRACEBACK.partition("{error}")[0])
    assert log.reading.errors == ["AssertionError: assert isinstance(pool, Pool)", "Scheduler hit an exception"]


def test_an_exception_quoted_without_its_traceback(read_log) -> None:
    error = "RuntimeError: alloc_req_slots runs out of memory. Please set a smaller number for `--max-running-requests`"
    decode = "[2025-09-13 09:09:15 TP0] Decode batch. #running-req: 4, #token: 9071, token usage: 0.01, #queue-req: 3\n"
    assert read_log("sglang", f"{error}\n{decode}").reading.errors == [error]
    assert read_log("sglang", f"{decode}{error}\n").reading.errors == []


def test_warnings_that_matter(read_log) -> None:
    lines = [
        "[2026-06-07 18:31:49] Using FP8 KV cache but no scaling factors provided. Defaulting to scaling factors of "
        "1.0. This may lead to less accurate results!",
        "[2026-06-07 18:37:46] FP4 (E2M1) KV Cache might lead to a accuracy drop!",
        "[2026-06-07 18:37:46] Speculative algorithm NEXTN is resolved to FROZEN_KV_MTP for this draft model.",
        "[2026-06-07 18:37:46 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 1, #new_token_ratio: 0.5",
        "[2025-01-06 02:58:44 TP0] Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.098 -> 0.94",
        "[2026-06-07 18:31:49 TP0] max_total_tokens=8000 is larger than the profiled value 6000. Use the profiled",
    ]
    log = read_log("sglang", "\n".join(lines))
    assert len(log.marks("warning")) == 6
    assert log.reading.errors == []


def test_processes_that_end_on_request_did_not_fail(read_log) -> None:
    ended = "[2026-06-07 12:17:01] Subprocess scheduler_0 (pid=7) crashed with exit code -15. Triggering SIGQUIT\n"
    ordered = "[2026-06-07 12:17:01] SIGTERM received. signum=None frame=None. Draining requests and shutting down...\n"
    assert read_log("sglang", STARTED + ended).reading.errors
    assert read_log("sglang", STARTED + ordered + ended).reading.errors == []


def test_leaked_objects_are_one_warning(read_log) -> None:
    text = (
        "/usr/lib/a.py:279: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up\n"
        "  warnings.warn('resource_tracker: There appear to be %d '\n"
    )
    assert len(read_log("sglang", text).marks("warning")) == 1


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("OSError: [Errno 98] Address already in use", "The port is in use."),
        ("Watchdog timeout (self.watchdog_timeout=300)", "The scheduler hung and its watchdog stopped it."),
    ],
)
def test_a_cause_without_a_traceback(line: str, sentence: str, read_log) -> None:
    log = read_log("sglang", f"[2026-06-07 12:16:00] {line}\n{SIGQUIT}\n")
    assert log.reading.errors == [line, SIGQUIT.partition("] ")[2]]
    assert log.marks("failure")[0] == f"{sentence} {line}"


def test_keyboard_interrupt_is_no_failure(read_log) -> None:
    assert read_log("sglang", TRACEBACK.format(error="KeyboardInterrupt")).reading.errors == []


def test_restarting_server_is_not_ready_yet(read_log) -> None:
    again = STARTED.partition("\n")[0].replace("speculative_num_draft_tokens=4", "x=1") + "\n"
    decode = "[2026-08-01 23:44:00] Decode batch, #running-req: 1, accept len: 2.50, #queue-req: 0\n"
    log = read_log("sglang", STARTED + again + TRACEBACK.format(error="ValueError: odd") + decode)
    assert log.reading.errors == ["ValueError: odd"]
    assert "num_spec_tokens" not in log.samples[0].fields


@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("name", ["RuntimeError", "torch.distributed.DistBackendError"])
@pytest.mark.parametrize("is_ready", [False, True], ids=["starting", "serving"])
def test_last_nccl_line_is_a_failure_alone(engine: str, name: str, is_ready: bool, read_log) -> None:
    """Of a server that serves, too, whose other exceptions are a request's own."""
    line = f"{name}: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"
    ready = "INFO:     Application startup complete.\n" if is_ready else ""
    log = read_log(engine, STARTED + ready + line + "\n")
    assert log.reading.errors == [line] and len(log.marks("failure")) == 1


CUT_TRACEBACK = """  File "/w/sglang/python/sglang/srt/managers/scheduler.py", line 437, in __init__
    self.init_model_worker()
{error}

[2026-06-11 05:11:11] Received sigquit from a child process. It usually means the child failed.
"""


def test_a_traceback_whose_beginning_is_cut_off_has_its_cause(read_log) -> None:
    log = read_log("sglang", CUT_TRACEBACK.format(error="RuntimeError: size_k = 704, is not divisible by 5"))
    assert log.reading.errors[0] == "RuntimeError: size_k = 704, is not divisible by 5"


def test_the_cause_of_a_compilation_error_comes_first(read_log) -> None:
    error = "triton.compiler.errors.CompilationError: at 1:0:\ndef kernel(\n^\nValueError('type fp8e4nv not supported')"
    log = read_log("sglang", CUT_TRACEBACK.format(error=error))
    assert log.reading.errors[0] == "ValueError('type fp8e4nv not supported')"

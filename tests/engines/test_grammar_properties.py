"""Properties of the grammars for any log: nothing raises, and where the bytes were cut changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines import BY_NAME

FIXTURES = Path(__file__).parent.parent / "fixtures"
LOGS = {
    "vllm": ("vllm/0.32-ngram.log", "vllm/0.32-dp2.log", "vllm/0.32-kv-too-small.log"),
    "sglang": ("sglang/0.5.23-cpu.log", "sglang/0.5.23-tp2-fails.log"),
    "llamacpp": ("llamacpp/draft.log", "llamacpp/b8672-draft.log", "llamacpp/synthetic-draft.jsonl"),
    "trtllm": (),
}
PIECES = (
    b"(APIServer pid=1) INFO 05-20 01:43:25 [a.py:1] Engine 000: Avg prompt throughput: 1.1 tokens/s, Avg "
    b"generation throughput: 1.2.3 tokens/s, Running: 99999999999999999999999 reqs, GPU KV cache usage: %\n",
    b"(APIServer pid=1) INFO 05-20 01:43:25 [a.py:1] SpecDecoding metrics: Mean acceptance length: nan, Accepted: , "
    b"tokens, Drafted: 5 tokens, Per-position acceptance rate: 0.1, , x, Avg Draft acceptance rate: nan%\n",
    b"Maximum concurrency for , tokens per request: 1.1.1x\nGPU KV cache size: ,,, tokens\n# GPU blocks: ,,\n",
    b"Initializing a V1 LLM engine (v) with config: tensor_parallel_size=x, max_seq_len=9999999999999999999999999999\n",
    b"(Worker_TP99999999999999999999 pid=1) ERROR 13-45 99:99:99 [a.py:1] EngineCore failed to start.\n",
    b"[TensorRT-LLM][INFO] [MemUsageChange] Allocated 7.5 GiB for max tokens in paged KV cache (8192).\n",
    b"[08/07/2025-02:28:52] [TRT-LLM] [I] iter = 8, x = 1, states = {'num_ctx_tokens': 99999999999999999999999}\n",
    b"[2026-01-04 00:49:33 DP5 TP5] Decode batch, #running-req: 15, #token: 36992, token usage: 0.28, gen",
    b" throughput (token/s): 1e999, #queue-req: 0\n",
    b"KV Cache is allocated. #tokens: 1, KV size: 1.5.5 GB\n",
    b"slot print_timing: id  0 | task 854 |\n",
    b"prompt eval time = 1.2.3 ms / 96 tokens ( 42.33 ms per token, . tokens per second)\n",
    b"       eval time = - ms / 221 tokens ( 144.20 ms per token, 6.93 tokens per second)\n",
    b"draft acceptance = ... ( 149 accepted / 213 generated), acceptance rate per position = (0.8, , x)\n",
    b"llama_kv_cache: size = 8.0.0 MiB ( 1536 cells, 4 layers, 4/ seqs), K (f16): 4 MiB\n",
    b"Load weight end. elapsed=1.1.1 s, type=A, avail mem=1 GB, mem usage=-.. GB\n",
    b"Scheduler hit an exception: Traceback (most recent call last):\n",
    b"ValueError: odd\n",
)


PADDED = {
    "vllm": (b"INFO 05-20 01:43:25 [a.py:1] # GPU blocks: 812, # CPU blocks: 256", b"ValueError: odd"),
    "sglang": (
        b"[2026-01-04 00:49:33 TP0] Scheduler hit an exception: Traceback (most recent call last):",
        b"KeyError",
    ),
    "llamacpp": (b"0.54.236.075 E CUDA error: an illegal memory access was encountered",),
    "trtllm": (b"[08/07/2026-02:28:52] [TRT-LLM] [E] Failed to initialize executor on rank 0: odd",),
}
MARKS = ("throughput", "acceptance", "startup", "phase", "ready", "warning", "failure")


def lines_of(engine: str) -> list[bytes]:
    return [line for name in LOGS[engine] for line in (FIXTURES / name).read_bytes().splitlines(keepends=True)]


def log_bytes(engine: str) -> st.SearchStrategy[bytes]:
    lines = st.sampled_from([*lines_of(engine), *PIECES])
    part = st.one_of(lines, lines, lines.flatmap(lambda line: st.just(line[: len(line) // 2])), st.binary(max_size=30))
    return st.lists(part, max_size=40).map(b"".join)


@pytest.mark.parametrize("engine", LOGS)
def test_lines_padded_by_a_terminal_mean_the_same(engine: str, read_log) -> None:
    lines = [line.rstrip(b"\r\n") for line in (*lines_of(engine), *PADDED.get(engine, ()))]
    log, padded = (read_log(engine, b"\n".join(line + padding for line in lines)) for padding in (b"", b" " * 17))
    assert padded.reading == log.reading
    assert [dict(s.fields) for s in padded.samples] == [dict(s.fields) for s in log.samples]
    assert [padded.marks(kind) for kind in MARKS] == [log.marks(kind) for kind in MARKS]


@pytest.mark.parametrize("engine", LOGS)
def test_malformed_numbers_are_left_out(engine: str, read_log) -> None:
    startup = read_log(engine, b"".join(PIECES)).reading.startup
    assert startup == ({"kv_cache_gib": 7.5, "kv_cache_tokens": 8192} if engine == "trtllm" else {})
    huge = b"iter = 1, num_scheduled_requests: 1234567890123456, states = {'num_ctx_tokens': 1234567890123456}\n"
    assert [dict(s.fields) for s in read_log("trtllm", huge).samples] == [{"iter": 1}]


@pytest.mark.parametrize("engine", LOGS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_log_cut_anywhere_gives_same_events(engine: str, data: st.DataObject, read_log) -> None:
    log = data.draw(log_bytes(engine))
    whole = read_log(engine, log)
    assert read_log(engine, log, chunk=data.draw(st.integers(1, 50))) == whole


@pytest.mark.parametrize("engine", LOGS)
@settings(max_examples=60)
@given(data=st.data())
def test_events_are_final_before_settled_offset(engine: str, data: st.DataObject) -> None:
    log, cut = data.draw(log_bytes(engine)), data.draw(st.integers(0, 4000))
    grammar = BY_NAME[engine].log
    assert grammar is not None
    parser = grammar.log_parser()
    early = parser.feed(log[:cut])
    settled = parser.settled_offset()
    late = parser.feed(log[cut:]) + parser.close()
    assert settled <= len(log[:cut])
    assert all(event.offset < len(log[:cut]) for event in early)
    assert all(event.offset >= settled for event in late)

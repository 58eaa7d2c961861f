"""Times `./pitwall parse` on a long vLLM log against `grep -cE throughput` on the same file, in one run.

`python benchmarks/parse_log.py [MEGABYTES]` (500 by default). One line in ten is a stats line; the others are what
vLLM prints of requests: with --enable-log-requests a record of its parameters, then the access line; and refused
requests with their tracebacks.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
API = "(APIServer pid=10816) "
FRAMES = (
    '  File "/srv/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/serving_chat.py", line 227, in create',
    "    ) = await self._preprocess_chat(",
    "        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
    '  File "/srv/venv/lib/python3.12/site-packages/vllm/entrypoints/openai/serving_engine.py", line 675, in _validate',
    "    raise ValueError(",
    "ValueError: This model's maximum context length is 6144 tokens. However, your request has 18244 input tokens.",
)


def stats_line(stamp: str, i: int) -> str:
    return (
        f"{API}INFO {stamp} [loggers.py:271] Engine 000: Avg prompt throughput: {i % 900}.3 tokens/s, "
        f"Avg generation throughput: {i % 700}.7 tokens/s, Running: {i % 64} reqs, Waiting: {i % 3} reqs, "
        f"GPU KV cache usage: {i % 100}.5%, Prefix cache hit rate: {i % 90}.1%"
    )


PARAMETERS = (
    "params: SamplingParams(n=1, presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, temperature=0.7, "
    "top_p=0.8, top_k=20, min_p=0.0, seed=None, stop=[], stop_token_ids=[], bad_words=[], "
    "include_stop_str_in_output=False, ignore_eos=False, max_tokens=2048, min_tokens=0, "
    "logprobs=None, prompt_logprobs=None, skip_special_tokens=True, "
    "spaces_between_special_tokens=True, truncate_prompt_tokens=None, structured_outputs=None, extra_args=None), "
    "prompt_token_ids: None, prompt_embeds shape: None, lora_request: None."
)


def request_lines(stamp: str, i: int) -> Iterator[str]:
    """Return nine lines: in one block of three a refused request with its traceback, else three served requests."""
    if i % 3 == 0:
        head = f"{API}ERROR {stamp} [serving_chat.py:251] "
        yield head + "Error in preprocessing prompt inputs"
        yield head + "Traceback (most recent call last):"
        yield from (head + frame for frame in FRAMES)
        yield f'{API}INFO:     127.0.0.1:{40000 + i % 999} - "POST /v1/chat/completions HTTP/1.1" 400 Bad Request'
        return
    for n in range(3):
        request = f"chatcmpl-{i:028x}{n:04x}"
        yield f"{API}INFO {stamp} [logger.py:43] Received request {request}: prompt: None, {PARAMETERS}"
        yield f"{API}INFO {stamp} [async_llm.py:270] Added request {request}."
        yield f'{API}INFO:     127.0.0.1:{40000 + (i + n) % 999} - "POST /v1/chat/completions HTTP/1.1" 200 OK'


def write_log(path: Path, size_bytes: int) -> tuple[int, int]:
    """Writes a log of about this size; returns its numbers of lines and of stats lines."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    byte_count = count = 0
    with path.open("w") as file:
        while byte_count < size_bytes:
            stamp = f"{start + timedelta(seconds=10 * count):%m-%d %H:%M:%S}"
            block = "\n".join((stats_line(stamp, count), *request_lines(stamp, count))) + "\n"
            byte_count += file.write(block)
            count += 1
    return count * 10, count


def measure(command: list[str], out: Path) -> tuple[float, float]:
    """Return seconds of wall time and of CPU."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with out.open("wb") as file:
        subprocess.run(command, stdout=file, check=True, cwd=ROOT)
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def best(command: list[str], out: Path) -> tuple[float, float]:
    """Return the least wall time and the least CPU time of three, for busy machines."""
    turns = [measure(command, out) for _ in range(3)]
    return min(wall for wall, _ in turns), min(cpu for _, cpu in turns)


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 500
    with tempfile.TemporaryDirectory() as folder:
        log, out = Path(folder) / "server.log", Path(folder) / "out"
        lines, stats = write_log(log, megabytes * 1_000_000)
        grep_s, grep_cpu_s = best(["grep", "-cE", "throughput", str(log)], out)
        assert int(out.read_text()) == stats
        parse_s, parse_cpu_s = best([sys.executable, str(ROOT / "pitwall"), "parse", str(log)], out)
        assert out.read_bytes().count(b'"line":') == stats
        peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e6
        print(f"{log.stat().st_size / 1e6:.0f} MB, {lines:,} lines, {stats:,} of them stats lines; best of three\n")
        print("| what | wall s | CPU s | peak memory |")
        print("|---|---|---|---|")
        print(f"| grep -cE throughput | {grep_s:.2f} | {grep_cpu_s:.2f} | |")
        print(f"| ./pitwall parse | {parse_s:.2f} | {parse_cpu_s:.2f} | {peak_mb:.0f} MB |")
        print(f"| ratio | {parse_s / grep_s:.1f} | {parse_cpu_s / grep_cpu_s:.1f} | |")


if __name__ == "__main__":
    main()

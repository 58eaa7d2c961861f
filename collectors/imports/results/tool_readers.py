"""List of the readers of tools' own files: JSON, CSV and logs that a tool wrote."""

from __future__ import annotations

from typing import Protocol

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose import evalscope_html, k6_summary
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import (
    aiperf,
    batched_bench,
    benchy,
    benchy_progress,
    bfcl,
    evalscope,
    fmperf,
    guidellm,
    http_tester_csv,
    http_tester_files,
    inference_perf,
    inferencex,
    llama_bench,
    llama_response,
    llm_load_test,
    llmperf,
    lm_eval,
    lm_studio,
    lmdeploy,
    locust,
    mlperf,
    offline_bench,
    ollama_response,
    optimum_benchmark,
    pytorch_records,
    serving,
    sglang_records,
    small_csv,
    startup_bench,
    trtllm_bench,
    vegeta,
    vllm_mlx,
)


class ResultReader(Protocol):
    """Interface of a tool's module."""

    def recognise(self, head: str) -> bool:
        """Return whether a file with these first bytes was written by the tool."""
        ...

    def read(self, source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
        """Return the loads of a file; raises ImportRefusedError if it cannot be read completely."""
        ...


READERS: tuple[ResultReader, ...] = (
    benchy_progress, benchy, aiperf, pytorch_records, serving, guidellm, lm_eval, bfcl, evalscope, evalscope_html,
    llama_bench, batched_bench, inferencex, llmperf, trtllm_bench, mlperf, offline_bench, inference_perf, vllm_mlx,
    locust, k6_summary, vegeta, http_tester_files, http_tester_csv, optimum_benchmark, llm_load_test, llama_response,
    ollama_response, sglang_records, startup_bench, lmdeploy, lm_studio, small_csv, fmperf,
)  # fmt: skip

"""List of result readers: each recognises its files by their first bytes and returns their loads or refuses them."""

from __future__ import annotations

import re

from collectors.imports.results import toml_files, yaml_files
from collectors.imports.results.looks import (
    JSON_START,
    figures_left_out,
    is_json,
    listed_names,
    looks_of,
    metrics_without_unit,
)
from collectors.imports.results.prose import document, records
from collectors.imports.results.prose.fenced_files import has_fenced_file
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tool_readers import READERS, ResultReader
from collectors.imports.results.tools import (
    aiperf,
    batch_server,
    batched_bench,
    benchmark_lines,
    evalplus,
    fmperf,
    inference_perf,
    llama_response,
    llm_load_test,
    lmdeploy,
    mlperf,
    mlx_lm,
    multi_turn,
    offline_bench,
    omlx,
    one_batch,
    optimum_benchmark,
    perf_analyzer,
    serving,
    startup_bench,
    trtllm_bench,
    vegeta,
    vllm_mlx,
)

FENCE_LINE = re.compile(r"^[ \t]{0,12}`{3}", re.MULTILINE)  # an answer within JSON may have a fence, too
PRINTED: tuple[ResultReader, ...] = (trtllm_bench, mlperf, batched_bench)  # they may stand behind a long log
RECORDS: ResultReader = records  # a tool's own reader knows more of its names, so it is tried after those
TEXTS: ResultReader = document  # logs may contain tables too, so it is tried last


PRINTED_FORMATS = tuple(
    f"what {tool} prints"
    for tool in (
        one_batch.TOOL,
        batch_server.TOOL,
        benchmark_lines.TOOL,
        multi_turn.TOOL,
        startup_bench.TOOL,
        lmdeploy.TOOL,
        "ollama run --verbose (and its responses as JSON)",
        mlx_lm.TOOL,
        perf_analyzer.TOOL,
        "lighteval",
        evalplus.TOOL,
        omlx.TOOL,
        fmperf.TOOL,
        "servers at /metrics (totals and means)",
        "chats and runtimes (MLX, LM Studio, KoboldCpp, ExLlamaV2, OpenVINO and ONNX Runtime GenAI, ExecuTorch ...)",
        "testers of HTTP servers (oha, hey, wrk, wrk2, bombardier, ApacheBench, autocannon)",
    )
)
RESULT_FORMATS = ", ".join(
    (
        "llama-bench (CSV, JSON, JSON lines, SQL, Markdown)", "llama-batched-bench", "llama-sweep-bench",
        f"{llama_response.TOOL} (timings of responses)", "llama-spec-bench", "llama-benchy",
        serving.VLLM, offline_bench.LATENCY, offline_bench.THROUGHPUT,
        serving.SWEEP, serving.SGLANG, trtllm_bench.TOOL, "GuideLLM", "AIPerf", aiperf.GENAI_PERF, "EvalScope",
        "LLMPerf",
        "InferenceX", inference_perf.TOOL, vllm_mlx.TOOL, "MLPerf's LoadGen summary",
        "Locust's statistics of a model's endpoint", "k6's summary", vegeta.TOOL,
        "oha's, autocannon's and bombardier's JSON", "hey's and oha's CSV",
        optimum_benchmark.TOOL,
        llm_load_test.TOOL, "lm-eval", "BFCL",
        *PRINTED_FORMATS, "JSON, YAML, TOML or CSV whose names state metric and unit (`ttft_p50_ms`)",
        "and texts with tables or lines like 'Decode: 95.9 tok/s'",
    )
)  # fmt: skip


def unknown_file_reason(source: ResultFile) -> str:
    """Return the sentences of a refusal: what the file looks like, and which results are read."""
    names = records.names_without_unit(source.head)
    no_unit = f" No unit is stated by {listed_names(names)}." if names else metrics_without_unit(source)
    with_unit = records.names_with_unit(source.head) if is_json(source) else []
    no_unit += (
        f" Units are stated by {listed_names(with_unit)}, but not for a speed or a latency of a model."
        if with_unit
        else ""
    )
    of_kernels = " It times copies or kernels, no answers of a model." if records.times_kernels(source.head) else ""
    kind = looks_of(source)
    reason = f"{no_unit}{of_kernels}" or (figures_left_out(source) if kind.startswith("a text") else "")
    looks = f"{source.name} looks like {kind}.{reason}"
    return f"{looks} The results that are read are those of {RESULT_FORMATS}."


def reader_of(source: ResultFile) -> ResultReader | None:
    """Return the reader of a file; None for a file of no known tool. A text that quotes several files is no file."""
    is_text = FENCE_LINE.search(source.head) is not None and JSON_START.match(source.head) is None
    if is_text and has_fenced_file(source.head, least=2):
        return TEXTS
    reader = next((reader for reader in READERS if reader.recognise(source.head)), None)
    if reader is None and source.tail:
        reader = next((reader for reader in PRINTED if reader.recognise(source.tail)), None)
    if reader is None and RECORDS.recognise(source.head):
        return RECORDS
    if reader is None and yaml_files.is_yaml(source):
        return yaml_files
    if reader is None and toml_files.is_toml(source):
        return toml_files
    if reader is None and (records.times_kernels(source.head) or is_json(source)):
        return None
    return reader or (TEXTS if TEXTS.recognise(source.head) or document.has_benchmark(source.tail) else None)

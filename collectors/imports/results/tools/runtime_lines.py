"""Lines that the benchmarks of runtimes print about their answers, as patterns."""

from __future__ import annotations

import re

from collectors.imports.results.tools.answer_tools import DURATION, AnswerTool, N, W, lines

RATE_OF_ALL, RATE_OF_PROMPT, RATE_OF_ANSWER = (
    rf"(?:(?P<{metric}>{N})|inf|-?nan)" for metric in ("e2e_tps", "prompt_tps", "decode_tps")
)
RUNTIMES: tuple[AnswerTool, ...] = (
    AnswerTool(
        "ONNX Runtime GenAI benchmark_e2e", "Average Token Generation",
        lines(
            rf"Batch Size = (?P<level>{W}), Prompt Length = (?P<prompt_length>{W}), "
            rf"(?:Generation Length = (?P<output_length>{W})|Max Length = (?P<fact_max_length>{W}))",
            rf"^Average Tokenization Latency \(per token\): (?P<stated_tokenization_per_token_ms>{N}) ms",
            rf"^Average Tokenization Throughput \(per token\): (?P<stated_tokenization_tps>{N}) tps",
            rf"^Average Prompt Processing Latency \(per token\): (?P<stated_prompt_processing_per_token_ms>{N}) ms",
            rf"^Average Prompt Processing Throughput \(per token\): (?P<prompt_tps>{N}) tps",
            rf"^Average Token Generation Latency \(per token\): (?P<tpot_ms>{N}) ms",
            rf"^Average Token Generation Throughput \(per token\): (?P<batch_decode_tps>{N}) tps",
            rf"^Average Sampling Latency \(per token\): (?P<stated_sampling_per_token_ms>{N}) ms",
            rf"^Average Sampling Throughput \(per token\): (?P<stated_sampling_tps>{N}) tps",
            rf"^Average Wall Clock Time: (?P<e2e_s>{N}) s",
            rf"^Average Wall Clock Throughput: (?P<total_tps>{N}) tps",
        ),
        statistic="mean", point="one batch",
    ),
    AnswerTool(
        "ONNX Runtime GenAI model_benchmark", "avg (tokens/s):",
        lines(
            rf"^Batch size: (?P<level>{W}), prompt tokens: (?P<prompt_length>{W}), "
            rf"tokens to generate: (?P<output_length>{W})",
            rf"^Peak working set size \(bytes\): (?P<stated_peak_working_set_bytes__max>{N})",
        ),
        {
            "prompt processing (time to first token)": lines(
                rf"^\s{{0,8}}avg \(us\): {{1,12}}(?P<ttft_us__mean>{N})",
                rf"^\s{{0,8}}avg \(tokens/s\): {{1,12}}(?P<prompt_tps__mean>{N})",
                rf"^\s{{0,8}}p50 \(us\): {{1,12}}(?P<ttft_us__median>{N})",
                rf"^\s{{0,8}}stddev \(us\): {{1,12}}(?P<fact_ttft_stddev_us>{N})",
                r"^\s{0,8}n: {1,20}(?P<fact_prompt_n>\d.{0,40})",
            ),
            "token generation": lines(
                rf"^\s{{0,8}}avg \(us\): {{1,12}}(?P<tpot_us__mean>{N})",
                rf"^\s{{0,8}}avg \(tokens/s\): {{1,12}}(?P<batch_decode_tps__mean>{N})",
                rf"^\s{{0,8}}p50 \(us\): {{1,12}}(?P<tpot_us__median>{N})",
                rf"^\s{{0,8}}stddev \(us\): {{1,12}}(?P<fact_tpot_stddev_us>{N})",
                r"^\s{0,8}n: {1,20}(?P<fact_generation_n>\d.{0,40})",
            ),
            "token sampling": lines(
                rf"^\s{{0,8}}avg \(us\): {{1,12}}(?P<fact_sampling_avg_us>{N})",
                rf"^\s{{0,8}}avg \(tokens/s\): {{1,12}}(?P<stated_sampling_tps__mean>{N})",
                rf"^\s{{0,8}}p50 \(us\): {{1,12}}(?P<fact_sampling_p50_us>{N})",
                rf"^\s{{0,8}}stddev \(us\): {{1,12}}(?P<fact_sampling_stddev_us>{N})",
                r"^\s{0,8}n: {1,20}(?P<fact_sampling_n>\d.{0,40})",
            ),
            "e2e generation (entire generation loop)": lines(
                rf"^\s{{0,8}}avg \(ms\): {{1,12}}(?P<e2e_ms__mean>{N})",
                rf"^\s{{0,8}}p50 \(ms\): {{1,12}}(?P<e2e_ms__median>{N})",
                rf"^\s{{0,8}}stddev \(ms\): {{1,12}}(?P<fact_e2e_stddev_ms>{N})",
                r"^\s{0,8}n: {1,20}(?P<fact_e2e_n>\d.{0,40})",
            ),
        },
        point="one batch",
    ),
    AnswerTool(
        "OpenVINO llm_bench", "2nd tokens throughput:",
        lines(
            rf"\[Average\] (?:P|Prompt)\[(?P<fact_prompt_index>{W})\] Input token size: (?P<prompt_length>{W}), "
            rf"1st token latency: (?P<ttft_ms__mean>{N}) ms(?:/token)?, "
            rf"2nd tokens? latency: (?P<tpot_ms__mean>{N}) ms(?:/token)?, "
            rf"2nd tokens throughput: (?P<batch_decode_tps__mean>{N}) tokens/s",
        ),
        between=re.compile(r"^\[ INFO \] (?:\[(?:warm-up|\d{1,9}|Total)\]|<<<)"),
        note="The lines of single iterations were left out: their average is read.",
    ),
    AnswerTool(
        "OpenVINO benchmark_genai", "TPOT: ",
        lines(
            rf"^Prompt token size: ?(?P<prompt_length>{W})",
            rf"^Output token size: ?(?P<output_length>{W})",
            rf"^Load time: (?P<model_load_ms>{N}) ms",
            rf"^Generate time: (?P<e2e_ms__mean>{N}) (?:±|\+/-) (?P<fact_generate_time_sd>{N}) ms",
            rf"^Tokenization time: (?P<stated_tokenization_ms__mean>{N}) (?:±|\+/-) {N} ms",
            rf"^Detokenization time: (?P<stated_detokenization_ms__mean>{N}) (?:±|\+/-) {N} ms",
            rf"^TTFT: (?P<ttft_ms__mean>{N}) (?:±|\+/-) (?P<fact_ttft_sd>{N}) ms",
            rf"^TPOT: (?P<tpot_ms__mean>{N}) (?:±|\+/-) (?P<fact_tpot_sd>{N}) ms",
            rf"^Throughput ?: (?P<decode_tps__mean>{N}) (?:±|\+/-) (?P<fact_throughput_sd>{N}) tokens/s",
        ),
    ),
    AnswerTool(
        "ExecuTorch", "(tokens/second)",
        lines(
            rf"Prompt Tokens: (?P<prompt_length>{W}) {{1,80}}Generated Tokens: (?P<output_length>{W})",
            rf"Model Load Time:\s{{1,80}}(?P<model_load_s>{N}) \(seconds\)",
            rf"Total inference time:\s{{0,80}}(?P<e2e_s>{N}) \(seconds\)\s{{1,80}}Rate: \s{{0,80}}{RATE_OF_ALL} ",
            rf"Prompt evaluation:\s{{1,80}}(?P<prompt_s>{N}) \(seconds\)\s{{1,80}}"
            rf"Rate: \s{{0,80}}{RATE_OF_PROMPT} ",
            rf"Generated {W} tokens:\s{{1,80}}(?P<decode_s>{N}) \(seconds\)\s{{1,80}}"
            rf"Rate: \s{{0,80}}{RATE_OF_ANSWER} ",
            rf"Time to first generated token:\s{{1,80}}(?P<ttft_s>{N}) \(seconds\)",
            rf"Sampling time over {W} tokens:\s{{1,80}}(?P<stated_sampling_s>{N}) \(seconds\)",
        ),
        between=re.compile(r"^PyTorchObserver \{"),
    ),
    AnswerTool(
        "LiteRT-LM", "Decode Speed: ",
        lines(
            rf"^\s{{0,12}}Total init time: (?P<model_load_ms>{N}) ms",
            rf"^\s{{0,12}}- (?:Executor|Tokenizer) initialization: (?P<fact_initialization>{N} ms)",
            rf"^\s{{0,12}}Time to first token: (?P<ttft_s>{N}) s",
            rf"^\s{{0,12}}Prefill Turn {W}: Processed (?P<prompt_length>{W}) tokens in (?P<prompt_ms>{DURATION}) ",
            rf"^\s{{0,12}}Prefill Turn {W}: Processed (?P<prompt_length>{W}) tokens in (?P<prompt_ms>{N}) ms ",
            rf"^\s{{0,12}}Prefill Speed: (?P<prompt_tps>{N}) tokens/sec",
            rf"^\s{{0,12}}Decode Turn {W}: Processed (?P<output_length>{W}) tokens in (?P<decode_ms>{DURATION}) ",
            rf"^\s{{0,12}}Decode Turn {W}: Processed (?P<output_length>{W}) tokens in (?P<decode_s>{N}) s ",
            rf"^\s{{0,12}}Decode Speed: (?P<decode_tps>{N}) tokens/sec",
        ),
        between=re.compile(r"^(?:BenchmarkInfo:| {1,8}(?:Init Phases|Prefill Turns|Decode Turns) \()"),
    ),
    AnswerTool(
        "RKLLM", "Tokens per Second",
        lines(
            rf"Model init time \(ms\)\s{{1,12}}(?P<model_load_ms>{N})",
            rf"(?:I rkllm:|^)\s{{1,12}}Prefill\s{{1,40}}(?P<prompt_ms>{N})\s{{1,40}}(?P<prompt_length>{W})\s{{1,40}}{N}"
            rf"\s{{1,40}}(?P<prompt_tps>{N})",
            rf"(?:I rkllm:|^)\s{{1,12}}Generate\s{{1,40}}(?P<decode_ms>{N})\s{{1,40}}(?P<output_length>{W})"
            rf"\s{{1,40}}(?P<tpot_ms>{N})\s{{1,40}}(?P<decode_tps>{N})",
            rf"I rkllm:\s{{1,12}}(?P<stated_peak_memory_gb__max>{N})\s*$",
        ),
        between=re.compile(r"I rkllm:\s{1,12}(?:-{9}|Stage|Peak Memory)"),
    ),
    AnswerTool(
        "text-generation-inference", "time_per_token=",
        lines(
            rf'total_time="(?P<e2e_ms>{DURATION})".{{0,40}}? validation_time="{DURATION}" queue_time="{DURATION}" '
            rf'inference_time="{DURATION}" time_per_token="(?P<e2e_per_token_ms>{DURATION})"',
            rf'queue_time="(?P<fact_queue_time>{DURATION})"',
            rf'inference_time="(?P<fact_inference_time>{DURATION})"',
        ),
        concurrency=None,
    ),
    AnswerTool(
        "ollama bench", "BenchmarkModel/name=",
        lines(
            r"^# Model: (?P<model>\S{1,120}) \| Params: (?P<fact_parameters>[^|]{1,30}) \| "
            r"Quant: (?P<fact_quantization>[^|]{1,30}) \| Family: (?P<fact_family>[^|]{1,60})",
            rf"name=(?P<model>\S{{1,120}}?)/step=prefill 1 {N} ns/token (?P<prompt_tps>{N}) token/sec",
            rf"/step=generate 1 (?P<tpot_ns>{N}) ns/token (?P<decode_tps>{N}) token/sec",
            rf"/step=ttft 1 (?P<ttft_ns>{N}) ns/op",
            rf"/step=load 1 (?P<model_load_ns>{N}) ns/op",
            rf"/step=total 1 (?P<e2e_ns>{N}) ns/op",
        ),
        between=re.compile(r"^go(?:os|arch): "),
        opening=re.compile(r"^# Model: "),
    ),
    AnswerTool(
        "llama-parallel", "Total gen tokens:",
        lines(
            rf"n_parallel = (?P<level>{W}), n_sequences = (?P<requests__total>{W})",
            rf"Total prompt tokens: {{1,12}}(?P<prompt_tokens__total>{W}), speed: {{1,12}}(?P<prompt_tps>{N}) t/s",
            rf"Total gen tokens: {{1,12}}(?P<completion_tokens__total>{W}), speed: {{1,12}}(?P<output_tps>{N}) t/s",
            rf"Total speed \(AVG\): {{1,12}}speed: {{1,12}}(?P<total_tps>{N}) t/s",
            rf"Cache misses: {{1,12}}(?P<fact_cache_misses>{W})",
            r"^Model and path used: {1,4}(?P<model>\S{1,300})",
        ),
        between=re.compile(r"^External prompt file:"),
        statistic="mean", concurrency=None, point="all requests",
    ),
    AnswerTool(
        "llama.cpp server-bench.py", "Average generation speed per slot:",
        lines(
            rf"^Benchmark duration: {{1,40}}(?P<duration_s__total>{N}) s",
            rf"^Request throughput: {{1,40}}(?P<request_tps>{N}) requests/s",
            rf"^Total prompt length: {{1,40}}(?P<prompt_tokens__total>{W}) tokens",
            rf"^Average prompt length: {{1,40}}(?P<prompt_tokens>{N}) tokens",
            rf"^Average prompt latency: {{1,40}}(?P<ttft_ms>{N}) ms",
            rf"^Average prompt speed: {{1,40}}(?P<prompt_tps_per_request>{N}) tokens/s",
            rf"^Total generated tokens: {{1,40}}(?P<completion_tokens__total>{W})",
            rf"^Average generation depth: {{1,40}}(?P<stated_generation_depth_tokens>{N}) tokens",
            rf"^Average total generation speed: {{1,40}}(?P<output_tps>{N}) tokens/s",
            rf"^Average generation speed per slot: {{1,40}}(?P<decode_tps>{N}) tokens/s / slot",
        ),
        statistic="mean", concurrency=None, point="all requests",
    ),
    AnswerTool(
        "llama-perplexity", "Final estimate: PPL",
        lines(
            rf"^(?:perplexity: )?Final estimate: PPL = (?P<stated_perplexity_ppl__mean>{N}) \+/- "
            rf"(?P<fact_standard_error>{N})"
        ),
        point="all chunks", states_quality=True,
    ),
)  # fmt: skip

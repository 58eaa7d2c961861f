"""Lines that chat tools and engines print after an answer, as patterns."""

from __future__ import annotations

import re

from collectors.imports.results.tools.answer_tools import COUNT, DURATION, NOT_NOTHING, AnswerTool, N, W, lines

MLX = (
    AnswerTool(
        "mlx_lm", "tokens-per-sec",
        lines(
            rf"^\s{{0,12}}Prompt: (?:(?P<prompt_length>{W}) tokens, )?(?P<prompt_tps>{N}) tokens-per-sec\s*$",
            rf"^\s{{0,12}}Generation: (?:(?P<output_length>{W}) tokens, )?(?P<decode_tps>{N}) tokens-per-sec\s*$",
            rf"^\s{{0,12}}Peak memory: (?P<stated_peak_memory_gb__max>{N}) GB",
            rf"^\s{{0,12}}Cache memory: (?P<stated_cache_memory_gb>{N}) GB",
        ),
        program=re.compile(r"\bmlx_(?:lm|vlm)[. ](?:generate|chat)\b"),
    ),
    AnswerTool(
        "mlx_lm batch_generate", "[batch_generate]",
        lines(
            rf"^\[batch_generate\] Prompt: (?P<prompt_tokens__total>{W}) tokens, (?P<prompt_tps>{N}) tokens-per-sec",
            rf"^\[batch_generate\] Generation: (?P<completion_tokens__total>{W}) tokens, "
            rf"(?P<batch_decode_tps>{N}) tokens-per-sec",
            rf"^\[batch_generate\] Peak memory: (?P<stated_peak_memory_gb__max>{N}) GB",
            rf"^\[batch_generate\] Finished processing (?P<requests__total>{W})/(?P<fact_prompts>{W})\s*$",
        ),
        concurrency=None, point="all requests",
    ),
    AnswerTool(
        "mlx_lm server_benchmark", "Aggregate tokens/sec:",
        lines(
            rf"^Benchmark completed in (?P<duration_s__total>{N}) seconds",
            rf"^Successful requests: (?P<requests__total>{W})/(?P<fact_planned_requests>{W})",
            rf"^Total tokens generated: (?P<completion_tokens__total>{W})",
            rf"^Aggregate tokens/sec: (?P<output_tps__mean>{N})",
            rf"^Starting benchmark with (?P<level>{W}) concurrency",
        ),
        {
            "time to first token (seconds)": lines(
                rf"Min: (?P<ttft_s__min>{N}) \| Max: (?P<ttft_s__max>{N}) \| Avg: (?P<ttft_s__mean>{N}) "
                rf"\| P95: (?P<ttft_s__p95>{N})"
            ),
            "tokens per second (per request)": lines(
                rf"Min: (?P<decode_tps__min>{N}) \| Max: (?P<decode_tps__max>{N}) \| Avg: (?P<decode_tps__mean>{N}) "
                rf"\| P95: (?P<decode_tps__p95>{N})"
            ),
        },
        concurrency=None, point="all requests",
    ),
)  # fmt: skip
CHATS = (
    AnswerTool(
        "lms chat", "Tokens/Second:",
        lines(
            rf"^\s{{0,8}}Tokens/Second: (?P<decode_tps>{N})",
            rf"^\s{{0,8}}Time to First Token: (?P<ttft_ms>{DURATION})",
            rf"^\s{{0,8}}Prompt Tokens: (?P<prompt_length>{W})",
            rf"^\s{{0,8}}Predicted Tokens: (?P<output_length>{W})",
            r"^\s{0,8}Stop Reason: (?P<fact_stop_reason>\w{1,40})",
            rf"^\s{{0,8}}Total Tokens: (?P<fact_total_tokens>{W})",
        ),
        between=re.compile(r"^\s{0,8}Prediction Stats:"),
        program=re.compile(r"\blms chat\b"),
    ),
    AnswerTool(
        "llama-cli", " t/s | Generation: ",
        lines(rf"\[ Prompt: (?P<prompt_tps>{N}) t/s \| Generation: (?P<decode_tps>{N}) t/s \]"),
        program=re.compile(r"\bllama-cli\b"),
    ),
    AnswerTool(
        "text-generation-webui", "Output generated in ",
        lines(
            rf"Output generated in (?P<e2e_s>{N}) seconds \((?P<e2e_tps>{N}) tokens/s, (?P<output_length>{W}) tokens, "
            rf"context (?P<prompt_length>{W}), seed (?P<fact_seed>-?{W})\)",
            r"INFO(?::| {1,9})Loading \"?(?P<model>[^\s\".][^\s\"]{0,200}?)(?:\"|\.\.\.)",
            rf"INFO(?::| {{1,9}})Loaded (?:the model|\"[^\"]{{1,200}}\") in (?P<model_load_s>{N}) seconds",
        ),
        between=re.compile(r"^(?:\d\d:\d\d:\d\d-\d{1,9} {1,4})?INFO(?::| {1,9})\S"),
    ),
    AnswerTool(
        "KoboldCpp", "Process",
        lines(
            # 'Process:0.44s (442.0ms/T = 2.26T/s), Generate:3.62s (17.92T/s), Total:4.06s (16.02T/s)'
            rf"\bProcess(?:ing)?: ?(?P<prompt_s>{NOT_NOTHING})s \((?:{N}ms/T)?(?: = )?(?:(?P<prompt_tps>{N})T/s)?\)",
            rf"\bGenerat(?:e|ion): ?(?P<decode_s>{NOT_NOTHING})s \((?:{N}ms/T)?(?: = )?(?:(?P<decode_tps>{N})T/s)?\)",
            rf"\bTotal: ?(?P<e2e_s>{NOT_NOTHING})s \((?:{N}ms/T)?(?: = )?(?:(?P<e2e_tps>{N})T/s)?\)",
            rf"\bInit: ?{N}s, Process.{{1,200}}, Total: ?(?P<e2e_s>{NOT_NOTHING})s\s*$",
            rf"\bAmt: ?(?P<output_length>{W})/(?P<fact_max_tokens>{W})",
            rf"\b(?:CtxLimit|ContextLimit): ?(?P<fact_context>{W}/{W})",
            rf"^\s{{0,8}}ProcessingTime: ?(?P<prompt_s>{N})s\s*$",
            rf"^\s{{0,8}}ProcessingSpeed: ?(?P<prompt_tps>{N})T/s\s*$",
            rf"^\s{{0,8}}GenerationTime: ?(?P<decode_s>{N})s\s*$",
            rf"^\s{{0,8}}GenerationSpeed: ?(?P<decode_tps>{N})T/s\s*$",
            rf"^\s{{0,8}}TotalTime: ?(?P<e2e_s>{N})s\s*$",
            r"^Model: (?P<model>\S.{0,200})$",
            rf"^GenAmount: (?P<output_length>{W})\s*$",
            rf"^MaxCtx: (?P<fact_max_context>{W})\s*$",
            rf"^Layers: (?P<fact_gpu_layers>-?{W})\s*$",
            r"^Backend: (?P<fact_backend>\S.{0,100})$",
            r"^Flags: (?P<fact_flags>\S.{0,400})$",
        ),
        between=re.compile(r"^(?:Timestamp: |Benchmark Completed - v)"),
    ),
    AnswerTool(
        "ExLlamaV3 chat", " new tokens at ",
        lines(
            rf"^Context: (?P<prompt_length>{COUNT}) new tokens at (?P<prompt_tps>{N}) t/s - "
            rf"(?P<depth_length>{COUNT}) tokens cached - Generate: (?P<output_length>{COUNT}) tokens at "
            rf"(?P<decode_tps>{N}) t/s"
            rf"(?: - Draft: (?P<stated_accepted_draft_tokens__total>{COUNT}) / "
            rf"(?P<stated_draft_tokens__total>{COUNT}) accepted(?: \((?P<acceptance_rate_percent>{N})%\))?)?",
        ),
    ),
    AnswerTool(
        "ExLlamaV3 perf", " tokens/s",
        lines(
            rf"^Length {{1,8}}(?P<prompt_length>{W}): {{1,12}}(?P<prompt_tps>{N}) tokens/s\s*$",
            rf"^Context {{1,8}}(?P<depth_length>{W}): {{1,12}}(?P<decode_tps>{N}) tokens/s\s*$",
        ),
        between=re.compile(r"^(?:Prefill:|Generation)\s*$"),
        has_answer_per_line=True, point="empty context",
    ),
    AnswerTool(
        "ExLlamaV3 dynamic_gen", "Job output",
        lines(
            rf"^New tokens: {{1,20}}(?P<output_length>{W}) t\s*$",
            rf"^Cached tokens: {{1,20}}(?P<depth_length>{W}) t / {{1,12}}(?P<prompt_length>{W}) t\s*$",
            rf"^Prefill: {{1,20}}(?P<prompt_s>{N}) s\s*$",
            rf"^Job input {{1,20}}(?P<prompt_tps>{N}) t/s\s*$",
            rf"^Job output {{1,20}}(?P<decode_tps>{N}) t/s\s*$",
            rf"^Overall output {{1,20}}(?P<output_tps>{N}) t/s\s*$",
            rf"^SD efficiency: {{1,20}}(?P<acceptance_rate_percent>{N})%\s*$",
        ),
        between=re.compile(r"^(?:Enqueued|Generation): {1,20}\d"),
        concurrency=None,
    ),
    AnswerTool(
        "ExLlamaV2 test_inference", " seconds, ",
        lines(
            rf"^\s{{0,8}}-- Prompt processed in (?P<prompt_s>{N}) seconds, (?P<prompt_length>{W}) tokens, "
            rf"(?P<prompt_tps>{N}) tokens/second",
            rf"^\s{{0,8}}-- Response generated in (?P<e2e_s>{N}) seconds, (?P<output_length>{W}) tokens, "
            rf"(?P<e2e_tps>{N}) tokens/second \(includes prompt eval\.\)",
            rf"^\s{{0,8}}-- Response generated in (?P<decode_s>{N}) seconds, (?P<output_length>{W}) tokens, "
            rf"(?P<decode_tps>{N}) tokens/second\s*$",
        ),
    ),
    AnswerTool(
        "ExLlamaV2 test_inference", " ** ",
        lines(
            rf"^\s{{0,8}}Length {{1,12}}(?P<prompt_length>{W}) tokens: {{1,12}}(?P<prompt_tps>{N}) t/s",
            rf"^\s{{0,8}}Position {{1,12}}(?P<depth_length>{W}) \+ (?P<output_length>{W}) tokens: {{1,12}}"
            rf"(?P<decode_tps>{N}) t/s",
        ),
        between=re.compile(r"^\s{0,8}-- Measuring \w{1,12} speed"),
        has_answer_per_line=True,
    ),
    AnswerTool(
        "TabbyAPI", "tokens generated in ",
        lines(
            rf"Metrics(?: \(ID: [\w-]{{1,60}}\))?: (?P<output_length>{W}) tokens generated in (?P<e2e_s>{N}) seconds "
            rf"\(Queue: (?P<stated_queue_s>{N}) s, ",
            rf"Process: (?:(?P<fact_cached_tokens>{W}) cached tokens and )?(?P<fact_new_tokens>{W}) new tokens at "
            rf"(?P<prompt_tps>{N}) T/s",
            rf"Generate: (?P<decode_tps>{N}) T/s, Context: (?P<prompt_length>{W}) tokens",
        ),
        concurrency=None,
    ),
    AnswerTool(
        "candle", " token/s",
        lines(
            rf"^\s{{0,8}}(?P<prompt_length>{W}) prompt tokens processed: (?P<prompt_tps>{N}) token/s",
            rf"^\s{{0,8}}(?P<output_length>{W}) tokens generated: (?P<decode_tps>{N}) token/s",
            rf"^\s{{0,8}}(?P<output_length>{W}) tokens generated \((?P<e2e_tps>{N}) token/s\)",
        ),
    ),
    AnswerTool(
        "MLC LLM /stats", " tok/s, decode: ",
        lines(rf"(?:prefill|encode): (?P<prompt_tps>{N}) tok/s, decode: (?P<decode_tps>{N}) tok/s"),
    ),
    AnswerTool(
        "fastllm", "prefill speed = ",
        lines(
            rf"^batch: (?P<level>{W})\s*$",
            rf"^prompt token number = (?P<prompt_length>{W})",
            rf"^prefill use (?P<prompt_s>{N}) s",
            rf"^prefill speed = (?P<prompt_tps>{N}) tokens / s",
            rf"^output (?P<fact_output_tokens>{W}) tokens",
            rf"^use (?P<decode_s>{N}) s",
            rf"^speed = (?P<batch_decode_tps>{N}) tokens / s",
        ),
    ),
)  # fmt: skip
CHAT_TOOLS: tuple[AnswerTool, ...] = (*MLX, *CHATS)

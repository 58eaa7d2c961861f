"""Maps names in texts to Pitwall's metrics and statistics: 'Peak TG' is the maximum of output tok/s."""

from __future__ import annotations

import re
from typing import NamedTuple

from collectors.imports.results.metrics import STATED


class MetricName(NamedTuple):
    """Pitwall's name of a metric, and the factor that converts the author's unit."""

    metric: str
    factor: float = 1.0


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# (unit, pattern, metric): the first match counts, so specific rules come before general ones.
RULES: tuple[tuple[str, re.Pattern[str], MetricName], ...] = (
    (
        "tok/s",
        _words(r"prefill|\bpp\d*\b|prompt|\binput (?:token )?(?:throughput|tput|rate|speed)"),
        MetricName("prompt_tps"),
    ),
    ("tok/s", _words(r"total (?:token )?(?:throughput|tput|tps|tok(?:ens)?/s)|總吞吐量"), MetricName("total_tps")),
    ("tok/s", _words(r"completion (?:throughput|吞吐量)|end-to-end|\be2e\b"), MetricName("e2e_tps")),
    ("tok/s", _words(r"(?:per[- ]|/ ?)(?:req(?:uest)?|user|stream)\b|tput user"), MetricName("decode_tps")),
    ("tok/s", _words(r"aggregate|\bagg\b|batched|concurrent|聚合"), MetricName("output_tps")),
    ("tok/s", _words(r"single|\btg\d+\b"), MetricName("decode_tps")),
    (
        "tok/s",
        _words(r"\btg\b|generation|\bgen\b|decode|throughput|\boutput\b|\bgenerated\b"),
        MetricName("output_tps"),
    ),
    ("requests/s", _words(r""), MetricName("request_tps")),
    ("requests", _words(r"fail|error"), MetricName("failed_requests")),
    ("requests", _words(r"(?:request|completed|successful)(?! latency)"), MetricName("requests")),
    ("ms", _words(r"first response|ttfr"), MetricName("ttfr_ms")),
    ("ms", _words(r"ttft|first token"), MetricName("ttft_ms")),
    ("ms", _words(r"\bitl\b|inter[- ]token"), MetricName("itl_ms")),
    ("ms", _words(r"\btpot\b|per output token|^(?!.*(?:prefill|prompt)).*\(ms/tok"), MetricName("tpot_ms")),
    ("ms", _words(r"latency|延遲|\be2el?\b|end-to-end"), MetricName("e2e_ms")),
    ("s", _words(r"ttft|first token"), MetricName("ttft_ms", 1e3)),
    ("s", _words(r"\bitl\b|inter[- ]token"), MetricName("itl_ms", 1e3)),
    ("s", _words(r"\btpot\b|per output token"), MetricName("tpot_ms", 1e3)),
    ("s", _words(r"latency|延遲|\be2el?\b|end-to-end"), MetricName("e2e_ms", 1e3)),
    ("s", _words(r"torch\.compile|compil"), MetricName("compile_s")),
    ("s", _words(r"engine init|引擎初始化"), MetricName("engine_init_s")),
    ("s", _words(r"weight loading|權重載入"), MetricName("weights_load_s")),
    ("s", _words(r"model loading|模型載入"), MetricName("model_load_s")),
    ("s", _words(r"ready|就緒"), MetricName("time_to_ready_s")),
    ("s", _words(r"wall|執行時間|duration"), MetricName("duration_s")),
    ("GiB", _words(r"available KV|可用 KV"), MetricName("kv_cache_gib")),
    ("GiB", _words(r"model load|loading memory|GPU memory|載入記憶體"), MetricName("model_load_gib")),
    ("tokens", _words(r"output (?:sequence )?len"), MetricName("completion_tokens")),
    ("tokens", _words(r"input (?:sequence )?len"), MetricName("prompt_tokens")),
    ("tokens", _words(r"KV"), MetricName("kv_cache_tokens")),
    ("1", _words(r"concurrency|平行處理"), MetricName("full_context_concurrency")),
    ("", _words(r"accept(?:ance)? length"), MetricName("acceptance_length")),
    ("%", _words(r"accept"), MetricName("acceptance_rate", 0.01)),
    ("", _words(r"accept(?:ance)?[ _]rate"), MetricName("acceptance_rate")),
    ("", _words(r"^full_layer_tokens|^max_total_num_tokens"), MetricName("kv_cache_tokens")),
    ("", _words(r"^swa_layer_tokens"), MetricName("swa_tokens")),
)
CONCURRENCY_HEAD = _words(
    r"併發數|(?:max(?:imum)? |num(?:ber of)? |# ?)?(?:conc(?:ur(?:rent|rency)?)?\.?|parallel)"
    r"(?: (?:requests?|users?|streams?|clients?|sessions?|level))?|users|streams|clients|c"
)
PROMPT_HEAD = _words(r"isl|(?:input|prompt) (?:len|length|tokens)")
OUTPUT_HEAD = _words(r"osl|output (?:len|length)|(?:avg )?(?:output|completion) tokens|max(?: new)? tokens")
OWN_WORDS = _words(r"aggregate|\bagg\b|(?:per[- ]|/ ?)(?:req(?:uest)?|user|stream)\b|\btotal\b|prefill")
PER_GPU = _words(r"(?:/ ?|\bper[- ])(?:gpu|chip|device|accelerator|node|card)\b")
PER_GPU_RULES = (
    (_words(r"total"), MetricName("total_tps_per_gpu")),
    (_words(r"input|prefill|prompt"), MetricName("prompt_tps_per_gpu")),
    (_words(r"output|decode|generat"), MetricName("output_tps_per_gpu")),
)
MINIMUM = _words(r"(?<![/(])(?<!per )\bmin(?:imum)?\b(?!\))")  # no minutes
MAXIMUM = _words(r"\bpeak\b|\bbest\b|\bmax(?:imum)?\b")
PERCENTILE = _words(r"\bp(?P<percent>\d{1,2}(?:\.\d{1,2})?)\b")
MEDIAN = _words(r"\bmedian\b|\bmdn\b")
MEAN = _words(r"\bavg\b|\baverage\b|\bmean\b|平均")
DERIVED = _words(
    r"speedup|delta|Δ|savings|gain|節省|增加|\bimprovement\b|\bscaling\b(?! factor)"
    r"|\bstd(?:ev|dev|\.)?\b|\bstandard deviation\b|\bvariance\b|\bdiff(?:erence)?\b"
)
TASK = _words(
    r"(?<![a-z0-9])(?:gsm8k|mmlu(?:[_-]pro)?|hellaswag|arc[_-](?:challenge|easy)|winogrande|truthfulqa|gpqa|ifeval"
    r"|humaneval|mbpp|boolq|piqa|openbookqa|bbh|aime\d{0,4}|math_?500|livecodebench|lambada(?:_openai)?)(?![a-z0-9])"
)
ACCURACY = _words(rf"accuracy|mmlu|gpqa|準確率|{TASK.pattern}")


def metric_of(text: str, unit: str | None) -> MetricName | None:
    """Return Pitwall's metric for a text and unit; None if there is none."""
    if unit == "tok/s" and PER_GPU.search(text):
        return next((name for pattern, name in PER_GPU_RULES if pattern.search(text)), None)
    return next(
        (name for rule_unit, pattern, name in RULES if rule_unit == (unit or "") and pattern.search(text)), None
    )


def own_metric_of(text: str, unit: str | None) -> MetricName | None:
    """Return the metric of a text that says whose speed it is, so that no other words change it: 'aggregate tok/s'."""
    return metric_of(text, unit) if unit == "tok/s" and OWN_WORDS.search(text) else None


def statistic_of(text: str, is_maximum: bool, metric: str = STATED) -> str:
    """Return the statistic that a text names; 'maximum concurrency' is the name of a metric."""
    if percentile := PERCENTILE.search(text):
        return percentile_name(percentile["percent"])
    if MEDIAN.search(text):
        return "median"
    if is_maximum or (MAXIMUM.search(text) and metric != "full_context_concurrency"):
        return "max"
    if MINIMUM.search(text):
        return "min"
    return "mean" if MEAN.search(text) else STATED


def percentile_name(percent: str) -> str:
    """Return Pitwall's name of a percentile; the 50th is the median."""
    return "median" if percent == "50" else f"p{percent}"

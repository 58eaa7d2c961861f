"""Maps people's names to our metrics and statistics: 'Peak TG' is the maximum of output tok/s."""

from __future__ import annotations

import re
from typing import NamedTuple

STATED = "stated"  # the statistic of a number whose author does not say; the metric of one that has no name of ours


class Named(NamedTuple):
    """A metric by our name, and what brings a number of its author's unit into ours."""

    metric: str
    factor: float = 1.0


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


# (unit as written, words, our metric): the first that fits counts, from the special to the general.
RULES: tuple[tuple[str, re.Pattern[str], Named], ...] = (
    ("tok/s", _words(r"prefill|\bpp\d*\b|prompt"), Named("prompt_tps")),
    ("tok/s", _words(r"total throughput|總吞吐量"), Named("total_tps")),
    ("tok/s", _words(r"completion (?:throughput|吞吐量)|end-to-end"), Named("e2e_tps")),
    ("tok/s", _words(r"aggregate|batched|concurrent|聚合"), Named("output_tps")),
    ("tok/s", _words(r"single|\btg\d+\b|per request"), Named("decode_tps")),
    ("tok/s", _words(r"\btg\b|generation|decode|throughput"), Named("output_tps")),
    ("requests/s", _words(r""), Named("request_tps")),
    ("ms", _words(r"first response|ttfr"), Named("ttfr_ms")),
    ("ms", _words(r"ttft|first token"), Named("ttft_ms")),
    ("ms", _words(r"latency|延遲"), Named("e2e_ms")),
    ("s", _words(r"latency|延遲"), Named("e2e_ms", 1e3)),
    ("s", _words(r"torch\.compile|compil"), Named("compile_s")),
    ("s", _words(r"engine init|引擎初始化"), Named("engine_init_s")),
    ("s", _words(r"weight loading|權重載入"), Named("weights_load_s")),
    ("s", _words(r"model loading|模型載入"), Named("model_load_s")),
    ("s", _words(r"ready|就緒"), Named("time_to_ready_s")),
    ("s", _words(r"wall|執行時間|duration"), Named("duration_s")),
    ("GiB", _words(r"available KV|可用 KV"), Named("kv_cache_gib")),
    ("GiB", _words(r"model load|loading memory|GPU memory|載入記憶體"), Named("model_load_gib")),
    ("tokens", _words(r"KV"), Named("kv_cache_tokens")),
    ("1", _words(r"concurrency|平行處理"), Named("full_context_concurrency")),
    ("", _words(r"accept(?:ance)? length"), Named("acceptance_length")),
    ("%", _words(r"accept"), Named("acceptance_rate", 0.01)),
    ("", _words(r"^full_layer_tokens|^max_total_num_tokens"), Named("kv_cache_tokens")),
    ("", _words(r"^swa_layer_tokens"), Named("swa_tokens")),
)
MOST = _words(r"\bpeak\b|\bbest\b|\bmax(?:imum)?\b")
MEAN = _words(r"\bavg\b|\baverage\b|\bmean\b|平均")
DERIVED = _words(r"speedup|delta|Δ|savings|gain|節省|增加|\bimprovement\b")
ACCURACY = _words(r"accuracy|mmlu|gpqa|準確率")


def metric_of(words: str, unit: str | None) -> Named | None:
    """Our metric for these words and this unit; None where we have no name for it."""
    for wanted, pattern, named in RULES:
        if wanted == (unit or "") and pattern.search(words):
            return named
    return None


def statistic_of(words: str, is_most: bool, metric: str = STATED) -> str:
    """Which statistic the words name; 'maximum concurrency' is the name of a metric."""
    if is_most or (MOST.search(words) and metric != "full_context_concurrency"):
        return "max"
    return "mean" if MEAN.search(words) else STATED

"""Reads what the name of a value states, as scripts name their measurements: `ttft_p50_s`, `decode_tok_s`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.decoding_speeds import may_be_of_all_streams
from collectors.imports.results.prose.heads import COUNT_HEADS
from collectors.imports.results.prose.metric_names import (
    AIMED_AT,
    LATENCY_NAMES,
    MetricName,
    metric_of,
    words,
)
from collectors.imports.results.prose.number_text import MEMORY
from collectors.imports.results.prose.units import NamedUnit, named_unit

WORD_BOUND = re.compile(r"[_\s.:-]+|(?<=[a-z\d])(?=[A-Z])")
OF_MACHINE = re.compile(
    r"\b(?:system|host|total|installed|machine|hardware|specs?)\b.*\b(?:ram|memory|vram)\b|^ram$"
    r"|\b(?:ram|memory|vram)\b.*\btotal\b|\bweights?$|\bweights? only\b"
    r"|^(?:(?:model|gguf|file|quant|checkpoint|weights?|[fbq]\w{1,6}|int\d) ){0,2}size$"
)
_BYTES_OF_MEMORY = words(  # no rate, and none of a token; vLLM's `--kv-cache-memory-bytes` is a setting
    r"(?!kv cache memory bytes$)(?:\w{1,20} ){0,4}?(?:kv ?cache|kv|v?ram|mem(?:ory)?|rss)(?: \w{1,20}){0,3}? bytes"
    r"(?: (?:peak|max|min|mean|avg|average|median|used|p\d\d))?"
)
_WATTS = words(  # no limit of a card, and no efficiency
    r"(?!.*\b(?:limit|cap|capped|tdp|target|rated|per)\b)(?:\w{1,20} ){0,4}?(?:power(?: \w{1,20}){0,3}? w|watts?)"
    r"(?: (?:peak|max|min|mean|avg|average|median|p\d\d))?"
)
_COUNTED = ("requests", "failed_requests", "peak_concurrency")  # other counts of a script are lengths and settings
_QUALIFIER = words(r"\b(?:mean|avg|average|median|min|max|peak|target|total|actual|effective|achieved)$")
_COMPARED = words(
    r"\b(?:reductions?|increase|decrease|degradation|change|improved?|comparison|vs|relative|faster|slower|overhead|gap"
    r"|sav(?:ed|ings?))\b"
)
_RATIO = words(r"\b(?:score|ratio|multiple|saved|savings?|reduction|gap)\b")
_LOAD = words(r"load(?:ing)?(?: time| duration)?(?: (?:mean|avg|median|min|max|p\d\d))?")
_COUNT = words(r"\b(?:counts?|samples|n)\b|\b(?:tokens|ratio|requests|chars)$")
_PLANNED = words(
    r"\b(?:stagger|interval|ramp(?: up)?|think time|cool ?down|warm ?up|sleep|delay|window"
    r"|offset)$"
)  # of the load
_COUNT_OF_VALUES = words(
    r"counts?|samples|n|num|size|len(?:gth)?"
)  # beside their statistics: {"ttft_s": {"count": 180}}
_SUM_OF_VALUES = words(r"\b(?:m?s|seconds|milliseconds) (?:sum|count|bucket)$")  # as Prometheus names them
_SETTINGS = words(
    r"(?:\w{1,40}_)?(?:config|configuration|args|arguments|params|parameters|settings|options|hardware|environment|env)"
    r"|(?:hardware|system|machine|device|gpu)_info|meta|metadata|workload"
)
_SUMMARY = words(r"metrics?|results?|summary|stat(?:istic)?s|measure(?:d|ments?)|performance")
_RESULTS = words(rf"{_SUMMARY.pattern}|latency|throughput")
_OF_REQUESTS = words(
    r"^(?!.*\b(?:agg|aggregate|total|throughput)\b)(?=.*\bconcurrent\b).*\b(?:mean|avg|average|median|p\d\d)\b"
)
_SPEED = words(r"\b(?:throughput|speed|tput)\b")
_TIME = words(
    r"^(?:(?:total|elapsed|run|generation|inference) )?time$|^(?:elapsed|runtime)$"
    r"|\b(?:step (?:time|duration)|time per step)(?: (?:mean|avg|median|min|max|p\d\d))?$"
)
_ASKED_FOR = words(r"(?:requested|configured|planned|desired)\b")  # of the load, before what was achieved
_PERCENTILE = words(r"\bpercentile (\d\d)\b|\b(\d\d)th(?: percentile)?\b")
_STATISTIC = words(r"mean|avg|average|median|min|max|p\d\d")


class ValueName(NamedTuple):
    """What a name states: its words without the unit, the unit, and the metric, None if Pitwall has none.

    `lacks_unit`: it names a latency or a speed without the unit, as 'latency p50' does. `is_setting`: it names an aim,
    or what stands in an object of settings. `is_comparison`: a difference in per cent, or a ratio of speeds.
    """

    words: str
    unit: str | None
    metric_name: MetricName | None
    factor: float = 1.0  # of the name's unit to Pitwall's
    lacks_unit: bool = False
    is_setting: bool = False
    is_comparison: bool = False

    @property
    def stated(self) -> MetricName:
        """The metric of a figure of its unit that Pitwall has no name for."""
        return MetricName(STATED, self.factor)

    def is_of_result(self, value: Any) -> bool:
        """Return whether a value of this name is a measurement, known or not."""
        is_of_machine = self.unit in MEMORY and OF_MACHINE.search(self.words) is not None
        is_named = self.unit is not None or self.metric_name is not None
        has_metric = is_named and not (is_of_machine or self.is_setting or self.is_comparison)
        return has_metric and (value is None or is_number(value))


@lru_cache(maxsize=4096)  # the records of a file share their names
def value_name_of(name: str) -> ValueName:
    """Return what the name of a value states: 'itl_p99_ms' is `itl_ms` in milliseconds."""
    plain_words = " ".join(word for word in WORD_BOUND.split(name) if word).lower()
    plain_words = _PERCENTILE.sub(lambda match: f"p{match[1] or match[2]}", plain_words)
    is_of_values = _COUNT_OF_VALUES.fullmatch(leaf_words(name)) or _SUM_OF_VALUES.search(plain_words)
    if (name_unit := named_unit(plain_words) or _unit_of_resource(plain_words)) and not is_of_values:
        return _value_name_with(name_unit, name, plain_words)
    metric_name = metric_of(plain_words, None) or _counted(plain_words) or _counted(leaf_words(name))
    is_open = metric_name is None and not _COUNT.search(plain_words)
    lacks_unit = is_open and any(pattern.search(plain_words) for pattern in (LATENCY_NAMES, _SPEED, _TIME))
    return ValueName(plain_words, None, metric_name, lacks_unit=lacks_unit, is_setting=_is_setting(name, plain_words))


def _unit_of_resource(plain_words: str) -> NamedUnit | None:
    """Return the unit of memory counted in bytes, or of power, 'kvcache bytes', 'avg power w'; None for other names."""
    if _BYTES_OF_MEMORY.fullmatch(plain_words) and not OF_MACHINE.search(plain_words):
        return NamedUnit("bytes", 1.0, plain_words.replace(" bytes", "", 1))
    return NamedUnit("W", 1.0, plain_words) if _WATTS.fullmatch(plain_words) else None


def _value_name_with(named: NamedUnit, name: str, plain_words: str) -> ValueName:
    unit, factor, remaining_words = named
    is_comparison = (_COMPARED if unit == "%" else _RATIO).search(plain_words) is not None
    is_of_requests = unit == "tok/s" and _OF_REQUESTS.search(remaining_words) is not None  # not all streams together
    metric_name = None if is_of_requests else _of_model_load(name, unit) or _measured(remaining_words, unit)
    metric_name = metric_name and MetricName(metric_name.metric, metric_name.factor * factor)
    is_planned = unit in ("ms", "s") and _PLANNED.search(remaining_words) is not None
    is_setting = (
        is_planned or _is_setting(name, plain_words) or (unit == "%" and not remaining_words)
    )  # a share of what?
    return ValueName(remaining_words, unit, metric_name, factor, is_setting=is_setting, is_comparison=is_comparison)


def _measured(plain_words: str, unit: str) -> MetricName | None:
    """Return the metric of a name; whose speed of decoding it is, the other speeds of its record say."""
    metric_name = metric_of(plain_words, unit)
    is_open = metric_name == MetricName("decode_tps") and may_be_of_all_streams(plain_words)
    return MetricName("output_tps") if is_open else metric_name


def _of_model_load(name: str, unit: str) -> MetricName | None:
    """Return the metric of `load_time_s`, which in a record of a model's answer is that of the model."""
    factor = {"s": 1.0, "ms": 1e-3}.get(unit)
    around, _, leaf = name.rpartition(" ")
    name_unit = named_unit(leaf_words(around if around and _STATISTIC.fullmatch(leaf) else name))
    is_load = factor is not None and name_unit is not None and _LOAD.fullmatch(name_unit.words) is not None
    return MetricName("model_load_s", factor or 1.0) if is_load else None


def _is_setting(name: str, plain_words: str) -> bool:
    """Return whether a name states an aim, or stands in an object of settings: 'slo ttftMs', 'config qps'."""
    is_aim = AIMED_AT.search(plain_words) is not None and "goodput" not in plain_words  # what met its aim was measured
    is_aim = is_aim or _ASKED_FOR.match(leaf_words(name)) is not None
    around = name.split(" ")[:-1]
    last_settings = max((at for at, part in enumerate(around) if names_settings(part)), default=-1)
    return is_aim or (last_settings >= 0 and not any(map(_RESULTS.fullmatch, around[last_settings:])))


def names_settings(name: str) -> bool:
    """Return whether an object of this name holds settings: 'config', 'server_args'."""
    return _SETTINGS.fullmatch(name) is not None


def _counted(plain_words: str) -> MetricName | None:
    """Return the metric of a count of requests."""
    count = next((metric for pattern, metric in COUNT_HEADS if pattern.fullmatch(plain_words)), None)
    return MetricName(count) if count in _COUNTED else None


@lru_cache(maxsize=4096)
def leaf_words(name: str) -> str:
    """Return the words of a value's own name, without those of the objects around it: 'workload input_length'.

    A word in front that names a statistic or an aim, as in 'mean concurrency', belongs to it.
    """
    around, _, leaf = name.rpartition(" ")
    is_own = "_" in leaf or not _QUALIFIER.search(around)
    return " ".join(word for word in WORD_BOUND.split(leaf if is_own else name) if word).lower()


def names_summary(name: str) -> bool:
    """Return whether an object of this name holds all that was measured: 'metrics', 'results'."""
    return _SUMMARY.fullmatch(name) is not None


def names_figure(name: str) -> bool:
    """Return whether a name states a unit, or a latency or a speed whose unit may stand beside its number."""
    column = value_name_of(name)
    return column.unit is not None or column.lacks_unit


def is_number(value: Any) -> bool:
    """Return whether a value is a number, and no boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def around_of(name: str) -> str:
    """Return the name of the object around a value: 'load' of 'load mean_ms'."""
    return name.rpartition(" ")[0]

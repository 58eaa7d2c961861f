"""Adds stated numbers to a load under the metric and statistic that the words around them name."""

from __future__ import annotations

import re
from functools import lru_cache

from collectors.imports.results.builder import LoadBuilder, MeasurementPoint
from collectors.imports.results.metrics import STATED, UNITS
from collectors.imports.results.prose.decoding_speeds import OWN_STREAM, may_be_of_all_streams, metric_at_level
from collectors.imports.results.prose.heads import names_latency
from collectors.imports.results.prose.metric_names import (
    ACCURACY,
    MAXIMUM,
    MINIMUM,
    PER_GPU,
    MetricName,
    metric_of,
    own_metric_of,
    statistic_of,
    without_both_tests,
    without_workload,
)
from collectors.imports.results.prose.number_text import StatedNumber
from collectors.imports.results.prose.stated_settings import ENGINE_HEAD
from collectors.imports.results.prose.units import RATES, implied_unit, in_words, test_unit, unit_in, unit_of_latencies
from reasons import Code, Reason

LEVEL_HEAD = re.compile(
    r"(?:[A-Za-z]{1,8} )?[A-Za-z@=×-]{0,6}\d[\w.,/@=+×-]{0,30}(?: \([^()]{1,30}\))?"
)  # 'p512', 'c=8', '1k/1k', 'Full p131071'
COMPARED_HEAD = re.compile(
    r"(?:before|after|base(?:line)?|main|master|(?:this |the )?pr|old|new|patched|default|off|on|stock|upstream|vanilla"
    r"|(?:with|without|w/o?) .{1,40})(?: \([^()]{1,30}\))?",
    re.IGNORECASE,
)
_NAME_OF_TITLE = re.compile(r"[\W\d]{0,12}(?P<name>.*?)(?:[,;:。，；：]|\.(?:\s|$)|\s[-–—]+\s|$)")
_BEST_ARM = re.compile(r"(?<=\w) best$|\s*\(best\)$", re.IGNORECASE)
_PARTS_OF_TITLE = re.compile(r"[,;，；] ?")
MOST_WORDS_OF_NAME = 10
TIMES = ("ms", "s")
NEVER_ZERO = ("ttft_ms", "e2e_ms", "tpot_ms")
ZERO_SPEED_NOTE = "Speeds and loading times of 0 were left out: nothing was generated or loaded."
ZERO_NOTE = "Latencies of 0 were left out: nothing answers in no time, so nothing was measured."
MAX_NAME_CHARS = 200
RATIO = "1"  # '1.5x' compares two figures


def add_number(
    load: LoadBuilder, value: StatedNumber, point: MeasurementPoint, label: str, column_name: str, title: str = "",
    cell_statistic: str | None = None,
) -> None:  # fmt: skip
    """Add a number, identified by its row, its column or the title of its table, in this order.

    `cell_statistic`: the statistic that its cell names.
    """
    unit = value.unit or unit_of_names(column_name, label, title)
    if unit == "%" and ACCURACY.search(f"{column_name} {label}"):
        add_share(load, value, label, column_name)
        return
    if value.unit == "%" and _names_measurement(f"{column_name} {label}", column_name, label):
        return  # an error, a spread or a share of a speed or a latency, which is no measurement of it
    title = _name_of_title(title)
    column_name, label = without_both_tests(column_name, label)
    column_name, label = without_workload(in_words(column_name), in_words(label), unit_in(label) is None)
    description = f"{column_name} {label} {value.words}"
    if metric_name := (
        own_metric_of(value.words, unit)
        or own_metric_of(column_name, unit)
        or metric_of_number(description, value, unit)
        or _metric_of_title(title, description, unit, point.concurrency)
    ):
        is_of_title = metric_of_number(description, value, unit) is None
        words = f"{description} {title}" if is_of_title else description
        statistic = cell_statistic or _statistic_of(words, label, value, metric_name.metric)
        add_stated(load, point, value, metric_name.metric, metric_name.factor, None, statistic)
    elif unit not in (None, RATIO):  # else a setting or an unknown count
        statistic = cell_statistic or _statistic_of(description, label, value)
        add_stated(load, point, value, STATED, 1.0, unit, statistic)


def _names_measurement(names: str, column_name: str, label: str) -> bool:
    """Return whether the names of a cell are those of a speed or a latency."""
    has_unit = any(unit_in(name) in (*TIMES, *RATES) for name in (column_name, label))
    return has_unit or metric_of(in_words(names), "ms") is not None


def _statistic_of(words: str, label: str, value: StatedNumber, metric: str = STATED) -> str:
    """Return the statistic that words name; a description such as 'B, max throughput, fixed model' names none."""
    if _BEST_ARM.search(label) and not any(metric_of(label, unit) for unit in ("tok/s", "ms")):
        words = words.replace(label, _BEST_ARM.sub("", label))  # 'tuned best' beside 'default' is no statistic
    is_described = "," in label and (MAXIMUM.search(label) or MINIMUM.search(label)) is not None
    return statistic_of(words.replace(label, "") if is_described else words, value.bound, metric)


def metric_of_number(description: str, value: StatedNumber, unit: str | None) -> MetricName | None:
    """Return the metric of a number; a rate above 1 is in per cent, with or without its sign."""
    metric_name = metric_of(description, unit)
    is_percent = metric_name is not None and metric_name.metric == "acceptance_rate" and not unit and value.low > 1
    return metric_of(description, "%") if is_percent else metric_name


@lru_cache(maxsize=1024)  # the names of a table are asked for at every cell
def unit_of_names(column_name: str, label: str, title: str) -> str | None:
    """Return the unit that a column or row states; of levels and engines that of the line above their table.

    'Decode (tok/s)' above the columns 'p512' and 'vLLM' is the unit of their numbers, but not of a column 'Requests'.
    """
    head = column_name.strip("*` ")
    is_of_title = any(pattern.fullmatch(head) for pattern in (LEVEL_HEAD, ENGINE_HEAD, COMPARED_HEAD))
    is_latency = names_latency(column_name) or names_latency(label)
    unit_of_title = (unit_in(title) or test_unit(title)) if is_of_title else None
    if is_latency:
        unit_of_title = unit_of_title if unit_of_title in TIMES else unit_of_latencies(title)
    own_unit = unit_in(column_name) or unit_in(label)
    return own_unit or implied_unit(column_name) or implied_unit(label) or unit_of_title


def _metric_of_title(title: str, description: str, unit: str | None, concurrency: int | None) -> MetricName | None:
    """Return the metric that the line above a table names.

    A number of one GPU is none of the whole server; at a concurrency a decode speed is that of all streams,
    and one of 'tg128' may be of one or of all.
    """
    is_excluded = unit in (None, RATIO) or PER_GPU.search(description)
    metric_name = None if is_excluded else metric_of(title, unit)
    is_at_level = metric_name is not None and metric_name.metric == "decode_tps" and (concurrency or 1) > 1
    if not is_at_level or OWN_STREAM.search(title):
        return metric_name
    return MetricName("output_tps") if may_be_of_all_streams(title) else None


def _name_of_title(title: str) -> str:
    """Return the first words of a title, which name what was measured; those behind them describe how, as sentences do.

    'Decode speed (tg128) — higher is better' names a speed, 'Same box, one prompt, 800 max tokens' nothing.
    """
    match = _NAME_OF_TITLE.match(title)
    is_better = title.endswith("is better.")
    is_sentence = title.endswith(".") and not is_better and (unit_in(title) is None or ". " in title)
    name = match["name"] if match and not is_sentence else ""
    unit = None if is_sentence else unit_in(title)
    if unit and metric_of(name, unit) is None:  # 'After a warm-up, the mean TTFT in ms:'
        name = next((part for part in _PARTS_OF_TITLE.split(title) if unit_in(part) == unit), name)
    if title.startswith("<!--"):
        return ""
    if title[:1].islower() and not (unit_in(title) or test_unit(title)):
        return ""  # the end of a sentence: 'per prompt, five of each'
    return name if len(name.split()) <= MOST_WORDS_OF_NAME else ""


def add_failure(load: LoadBuilder, cell: str, point: MeasurementPoint, label: str, column_name: str) -> None:
    """Add a metric without a value, since its measurement failed: 'OOM', 'FAIL'."""
    description, unit = f"{column_name} {label}", unit_in(column_name) or unit_in(label)
    if unit and (metric_name := metric_of(description, unit)):
        load.result(point, metric_name.metric, statistic_of(description, None, metric_name.metric), cell)


def zero_note(metric: str, unit: str | None) -> str | None:
    """Return why a value of 0 is left out; None for what may be 0."""
    if unit == "tok/s" or metric == "model_load_s":
        return ZERO_SPEED_NOTE
    return ZERO_NOTE if metric in NEVER_ZERO else None


def add_stated(
    load: LoadBuilder,
    point: MeasurementPoint,
    value: StatedNumber,
    metric: str,
    factor: float,
    unit: str | None,
    statistic: str,
) -> None:
    """Add a number or the two ends of a range; a latency or a speed of 0 is that of a measurement that failed.

    A speed of decoding at several requests is that of all streams, unless its words say that it is one's.
    """
    metric = metric_at_level(metric, point.name, point.concurrency)
    if value.low == 0 and not value.high and (note := zero_note(metric, unit or UNITS[metric])):
        load.notes += [note] if note not in load.notes else []
        return
    reasons = [Reason(Code.STATED_AS_ABOUT)] if value.is_approximate else []
    if value.spread is not None:
        reasons.append(Reason(Code.SPREAD_COUNT_NOT_TOLD, values={"spread": f"{value.spread:g}"}))
    ends = {"mean" if value.spread is not None else statistic: value.low}
    if value.high is not None:
        low, high = sorted((value.low, value.high))  # 'from 45 to 30 tok/s'
        ends, reasons = {"min": low, "max": high}, [Reason(Code.STATED_AS_RANGE), *reasons]
    for end_statistic, end in ends.items():
        load.result(point, metric, end_statistic, end, factor=factor, unit=unit, reasons=reasons)


def add_share(load: LoadBuilder, value: StatedNumber, label: str, column_name: str = "") -> None:
    """Add the share of right answers to a task that the label or the column names."""
    task, subject = (column_name, label) if ACCURACY.search(column_name) else (label, column_name)
    share = round(value.low / 100, 9) if value.low <= 100 else None
    load.accuracy(
        task=f"{task}: {subject}".strip(": ")[:MAX_NAME_CHARS], filter="none", metric="accuracy", value=share,
        reason=Reason(Code.SHARE_ABOVE_ONE if share is None else Code.ITEM_COUNT_NOT_TOLD),
    )  # fmt: skip

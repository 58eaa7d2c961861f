"""Says which values of a record are measurements, and of which metric, as far as its other values decide it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isclose
from typing import Any, NamedTuple

from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.decoding_speeds import names_answer, names_decoding
from collectors.imports.results.prose.metric_names import (
    DERIVED,
    LATENCIES_OF_TOKENS,
    MetricName,
    metric_of_test,
    names_side_alone,
    statistic_of,
    words,
)
from collectors.imports.results.prose.record_files import COLUMN, GROUP, LIST, Record
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.value_names import ValueName, around_of, is_number, leaf_words, value_name_of
from collectors.imports.results.values import count

SENT_RATE = words(
    r"(?:\S{1,40} ){0,5}(?:(?:target|offered|configured|requested|request|planned|sent)_)?"
    r"(?:qps|rps|rate(?:_(?:qps|rps|req_s))?)"
)
_QUANTITY, _COUNTED = r"(?:num |n |number of |total )?", r"(?: (?:req(?:uest)?s?|count))?"
COUNTS_OF_LOAD = (  # in the record of a load
    (words(rf"{_QUANTITY}(?:completed|success(?:ful|es)?|succeeded|ok){_COUNTED}"), "requests"),
    (words(rf"{_QUANTITY}(?:fail(?:ed|ures?)?|errors?){_COUNTED}"), "failed_requests"),
)
TIMED_OUT = (  # counted where no other failures are; 'timeout' alone is a setting
    (words(rf"{_QUANTITY}(?:timeouts|timed out(?: requests)?|timeout count)"), "failed_requests"),
)
ALL_REQUESTS = ((words(r"(?:total |n |num )?(?:req(?:uest)?s|queries)|req(?:uest)? count|n req"), "requests"),)
TOKENS_OF_LOAD = (
    (words(r"total (?:input|prompt) tokens|(?:in(?:put)?|prompt) tokens total"), "prompt_tokens"),
    (words(r"total (?:output|generated|completion|new) tokens|total tokens generated"), "completion_tokens"),
    (words(r"out(?:put)? tokens total"), "completion_tokens"),
)
_OF_ALL = words(r"\b(?:agg|aggregated?)\b")
TOKENS = (
    (words(r"(?:input|prompt) tokens"), "prompt_tokens"),
    (words(r"(?:output|completion|generated|gen) tokens|gen"), "completion_tokens"),
)
SEQUENCES = words(r"(?:batch(?: size)?|bs|(?:n |num )?(?:seqs|sequences))")  # of a batch, which decodes all at once
TEST = words(r"metric|(?:test|bench(?:mark)?|run)?(?: ?(?:name|type|mode|kind|phase))?|workload|stage|op(?:eration)?")
OF_REQUESTS = words(r"mean|median|min|max|p\d\d(?:\.\d)?")  # statistics of their times
_DEVIATION = words(
    r"\b(?:sample (?:std(?:ev|dev)?|sd|standard deviation)|std ?dev|stdev|sd"
    r"|(?P<population>pstdev|population (?:std(?:ev|dev)?|sd))|(?P<open>std|standard deviation))\b"
)
_MEAN = words(r"\b(?:mean|avg|average)\b")
_NUMBER_OF_VALUES = words(r"n|n runs|n samples|num samples|samples")
_END_TO_END = words(r"\be(?:nd)?[ _-]?(?:2|to)[ _-]?e(?:nd)?\b")
TOTAL_TIME = words(r"\btotal (?:\w{1,20} )?time")
DURATION_FACTORS = {"ms": 1e-3, "s": 1.0}
MOST_DIFFERENCE = 0.02  # between two clocks of the same load
MOST_DIFFERENCE_OF_REQUEST = 0.005  # between a speed and the division that it is
OPEN_METRICS = ("output_tps", "e2e_ms", STATED)  # of a test, which says what was measured


def measurements_in(record: Record, level: int | None, most_streams: int = 1) -> dict[str, MetricName]:
    """Return the metrics of a record's measurements by their names.

    `level`: its concurrency; `most_streams`: the largest that the record, its parts or all records state.
    """
    counts = _counts_of_load(record.values) | tokens_of_whole_load(record.values)
    rates = rates_of_load(record, level)
    outputs = _outputs_in(record.values)
    test = tested_side_of(record)
    metrics: dict[str, MetricName] = {}
    is_of_stream = max(most_streams, level or 1) == 1 and not _states_batch(record)
    decoded_names = _speeds_of_decoding(record) if is_of_stream else []
    for name, value in record.values.items():
        column = value_name_of(name)
        is_derived = DERIVED.search(column.words) or _DEVIATION.search(column.words)
        is_result = column.is_of_result(value) and not is_derived and name not in rates
        if name in counts:
            metrics[name] = counts[name]
        elif is_result and name in decoded_names:
            metrics[name] = MetricName("decode_tps")
        elif is_result:
            metric_name = _metric_name_in(column, value, level, outputs, test)
            is_decoding = metric_name.metric == "output_tps" and not outputs and names_decoding(column.words)
            metrics[name] = metric_name._replace(metric="decode_tps") if is_decoding and is_of_stream else metric_name
    metrics = _with_total_of_load(metrics) if counts else metrics
    metrics = _with_speeds_of_requests(metrics, record.values)
    return _with_single_duration(_with_times_of_requests(_without_coarse_units(metrics)), record.values)


def _with_total_of_load(metrics: Mapping[str, MetricName]) -> dict[str, MetricName]:
    """Return the metrics of a load with `total_seconds` as its duration, if it states a rate and no other duration."""
    measured = {metric_name.metric for metric_name in metrics.values()}
    if "duration_s" in measured or not measured & {"request_tps", "output_tps"}:
        return dict(metrics)
    return {
        name: MetricName("duration_s", DURATION_FACTORS[column.unit])
        if (column := value_name_of(name)).words == "total" and column.unit in DURATION_FACTORS
        else metric_name
        for name, metric_name in metrics.items()
    }


def _with_speeds_of_requests(metrics: Mapping[str, MetricName], values: Mapping[str, Any]) -> dict[str, MetricName]:
    """Return the metrics with a speed as `e2e_tps` if it is the tokens of its object over the whole latency there.

    Who names it as that of decoding has measured it so.
    """
    return {
        name: MetricName("e2e_tps", metric_name.factor)
        if metric_name.metric == "decode_tps" and not names_decoding(value_name_of(name).words)
        and _is_of_whole_request(name, metrics, values) else metric_name
        for name, metric_name in metrics.items()
    }  # fmt: skip


def _is_of_whole_request(name: str, metrics: Mapping[str, MetricName], values: Mapping[str, Any]) -> bool:
    around = around_of(name)
    beside = {other: value for other, value in values.items() if around_of(other) == around and is_number(value)}
    tokens = [
        beside[other] for other, counted in _counts_in(beside, TOKENS).items() if counted.metric == "completion_tokens"
    ]
    seconds = [
        beside[other] * metrics[other].factor / 1e3 for other in beside if other in metrics
        and metrics[other].metric == "e2e_ms"
    ]  # fmt: skip
    speed = beside.get(name, 0.0) * metrics[name].factor
    return any(
        isclose(speed * duration, number, rel_tol=MOST_DIFFERENCE_OF_REQUEST)
        for number in tokens for duration in seconds if number and duration
    )  # fmt: skip


class Deviation(NamedTuple):
    """A standard deviation; its divisor is n of a population, n - 1 of a sample, and not told by 'std'."""

    value: float
    is_of_population: bool
    is_open: bool


def deviation_of(name: str, values: Mapping[str, Any]) -> Deviation | None:
    """Return the standard deviation beside a mean, in the unit of its name; None without any."""
    names = [other for other, value in values.items() if is_number(value) and mean_of_deviation(other, values) == name]
    deviations = [_deviation(float(values[other]), leaf_words(other)) for other in names]
    return min(deviations, key=lambda deviation: deviation.is_open, default=None)


def _deviation(value: float, plain_words: str) -> Deviation:
    match = _DEVIATION.search(plain_words)
    assert match
    return Deviation(value, match["population"] is not None, match["open"] is not None)


def mean_of_deviation(name: str, values: Mapping[str, Any]) -> str | None:
    """Return the name of the mean that a standard deviation belongs to; None for any other name.

    A bare 'std' is that of the only mean beside it.
    """
    if not _DEVIATION.search(leaf_words(name)):
        return None
    column, around = value_name_of(name), around_of(name)
    beside = [other for other, value in values.items() if around_of(other) == around and is_number(value)]
    means = [other for other in beside if _MEAN.search(leaf_words(other)) or _MEAN.search(value_name_of(other).words)]
    rest = _without(_DEVIATION, column.words)
    if not rest and column.unit is None and len(means) == 1:
        return means[0]
    return next(
        (mean for mean in means if _is_of_unit(mean, column) and _without(_MEAN, value_name_of(mean).words) == rest),
        None,
    )


def _is_of_unit(name: str, column: ValueName) -> bool:
    other = value_name_of(name)
    return other.unit == column.unit and other.factor == column.factor


def count_beside(name: str, values: Mapping[str, Any]) -> int | None:
    """Return the number of values that an object of statistics states: {"n": 5, "mean_s": 2.5}."""
    around = around_of(name)
    names = [other for other in values if around_of(other) == around and _NUMBER_OF_VALUES.fullmatch(leaf_words(other))]
    return count(values[names[0]]) if around and len(names) == 1 else None


def _without(pattern: re.Pattern[str], plain_words: str) -> str:
    return " ".join(pattern.sub(" ", plain_words).split())


def rates_of_load(record: Record, level: int | None) -> list[str]:
    """Return the names of rates at which the load sent its requests: 'qps' without a level, or beside another rate."""
    rates = [
        name for name, value in record.values.items() if value_name_of(name).unit == "requests/s" and is_number(value)
    ]
    sent_rates = [name for name in rates if SENT_RATE.fullmatch(name)]
    return sent_rates if level is None or len(rates) > len(sent_rates) else []


def _counts_of_load(values: Mapping[str, Any]) -> dict[str, MetricName]:
    """Return the counts in the record of a load.

    That has a rate of requests, or the duration and the speed of their output, or counts what failed and what not.
    """
    counts = _counts_in(values, COUNTS_OF_LOAD)
    if "failed_requests" not in {name.metric for name in counts.values()}:
        counts |= _counts_in(values, TIMED_OUT)
    metrics = {column.metric_name.metric for column in map(value_name_of, values) if column.metric_name}
    counted = {name.metric for name in counts.values()} | (metrics & {"requests", "failed_requests"})
    is_of_all = "failed_requests" in counted and bool(_counts_in(values, ALL_REQUESTS))
    is_of_load = is_of_all or len(counted) > 1 or "request_tps" in metrics or metrics >= {"duration_s", "output_tps"}
    if not counted or (counted == {"failed_requests"} and _has_no_failure(values)):
        counts |= _counts_in(values, ALL_REQUESTS)
    return counts | _counts_in(values, TOKENS_OF_LOAD) if is_of_load else {}


def tokens_of_whole_load(values: Mapping[str, Any]) -> dict[str, MetricName]:
    """Return the counts of tokens that are those of the whole load: its output is the speed of the output for its time.

    'output_tokens' alone may be the length of an answer, too.
    """
    tokens = _counts_in(values, TOKENS)
    figures: dict[str, float] = {}
    for name, value in values.items():
        column = value_name_of(name)
        is_total = column.words == "total" and column.unit in DURATION_FACTORS
        metric = "duration_s" if is_total else column.metric_name.metric if column.metric_name else ""
        if is_number(value) and metric in ("duration_s", "output_tps"):
            factor = DURATION_FACTORS[column.unit or "s"] if is_total else (column.metric_name or column.stated).factor
            figures.setdefault(metric, value * factor)
    output = figures.get("duration_s", 0.0) * figures.get("output_tps", 0.0)
    outputs = [values[name] for name, metric_name in tokens.items() if metric_name.metric == "completion_tokens"]
    is_whole = any(output and abs(count - output) <= MOST_DIFFERENCE * output for count in outputs)
    is_of_all = any(
        _OF_ALL.search(value_name_of(name).words) and value_name_of(name).unit == "tok/s" for name in values
    )
    is_of_load = is_of_all or bool(_counts_in(values, ALL_REQUESTS) | _counts_in(values, COUNTS_OF_LOAD))
    return tokens if is_whole and is_of_load else {}


def counts_failures(name: str) -> bool:
    """Return whether a name is that of a count of failed requests, which is no setting: 'failed', 'timeouts'."""
    patterns = [pattern for pattern, metric in (*COUNTS_OF_LOAD, *TIMED_OUT) if metric == "failed_requests"]
    return any(
        pattern.fullmatch(plain) for pattern in patterns for plain in (value_name_of(name).words, leaf_words(name))
    )


def _has_no_failure(values: Mapping[str, Any]) -> bool:
    """Return whether the only counts of failed requests are 0, so that all requests have succeeded."""
    failures = [
        value for name, value in values.items()
        if (metric_name := value_name_of(name).metric_name) and metric_name.metric == "failed_requests"
    ] + [values[name] for name in _counts_in(values, COUNTS_OF_LOAD)]  # fmt: skip
    return all(value == 0 for value in failures)


def _counts_in(values: Mapping[str, Any], patterns: tuple[tuple[Any, str], ...]) -> dict[str, MetricName]:
    return {
        name: MetricName(metric) for name, value in values.items() for pattern, metric in patterns
        if count(value) is not None and not value_name_of(name).is_setting
        and any(map(pattern.fullmatch, (value_name_of(name).words, leaf_words(name))))
    }  # fmt: skip


def tested_side_of(record: Record) -> str | None:
    """Return the side of a request that was tested, as a mode or the object around it says: 'pp512', 'decode'."""
    values = (*record.values.items(), *record.settings.items())
    named_tests = [(name, value) for name, value in values if _names_test(name) and isinstance(value, str)]
    tests = [value for _, value in named_tests] + [
        value.rpartition(" ")[2] for name, value in named_tests if name in (LIST, GROUP)
    ]
    return next((test for value in tests if names_side_alone(test := value.replace("_", " "))), None)


def _names_test(name: str) -> bool:
    return name in (LIST, GROUP, COLUMN) or TEST.fullmatch(leaf_words(name)) is not None


def _metric_name_in(
    column: ValueName, value: float | None, level: int | None, outputs: Mapping[str, float], test: str | None
) -> MetricName:
    """Return the metric of a column; 'decode' beside another speed of the output is that of a stream after its prompt.

    `outputs`: the largest speed of the output for each statistic. All streams of a load decode faster together than it
    puts out tokens, so what is faster may be either. `test`: the side of a request that was measured alone.
    """
    metric_name = column.metric_name or column.stated
    is_open = test is not None and metric_name.metric in OPEN_METRICS and column.unit in ("tok/s", "ms", "s")
    if test and is_open and (name_of_test := metric_of_test(test, column.words, column.unit)):
        return MetricName(name_of_test.metric, name_of_test.factor * column.factor)
    output = outputs.get(statistic_of(column.words, None))
    if metric_name.metric != "output_tps" or output is None or not names_decoding(column.words):
        return metric_name
    is_slower = value is None or value < output
    return MetricName("decode_tps") if level == 1 or is_slower else MetricName(STATED)


def _speeds_of_decoding(record: Record) -> list[str]:
    """Return the names of speeds of the answer in a record of one stream that states that of prompt or request, too.

    Who times the prompt or the whole request apart, does not count it in 'gen_tps'. Nothing for a record with speeds
    of several kinds.
    """
    columns = {
        name: column for name, value in record.values.items()
        if is_number(value) and (column := value_name_of(name)).metric_name is not None
    }  # fmt: skip
    outputs, prompts = (
        {name: column.words for name, column in columns.items() if column.metric_name == MetricName(metric)}
        for metric in ("output_tps", "prompt_tps")
    )
    whole_requests = [name for name, value in record.values.items() if is_number(value) and _is_end_to_end(name)]
    parts = set(map(_part_of_both_sides, (*prompts, *whole_requests)))
    is_of_one_kind = len({names_decoding(plain_words) for plain_words in outputs.values()}) == 1
    is_of_decoding = is_of_one_kind and all(map(names_answer, outputs.values()))
    is_of_stream = not any(map(_states_streams, outputs.values()))
    return [name for name in outputs if is_of_decoding and is_of_stream and _part_of_both_sides(name) in parts]


def _is_end_to_end(name: str) -> bool:
    """Return whether a name states a speed over whole requests: 'end_to_end_tok_s'."""
    column = value_name_of(name)
    return column.unit == "tok/s" and _END_TO_END.search(column.words) is not None


def _part_of_both_sides(name: str) -> str:
    """Return the inner object of a value, outside of one that names a side: 'run a' for 'run a prefill tok_s'."""
    around = name.split(" ")[:-1]
    return " ".join(around[:-1] if around and names_side_alone(around[-1]) else around)


def _states_streams(plain_words: str) -> bool:
    """Return whether the words of a name state a level above 1: 'c8 gen'."""
    return (point_of_words("", plain_words).concurrency or 1) > 1


def _states_batch(record: Record) -> bool:
    """Return whether a record is that of a batch of several sequences."""
    values = (*record.values.items(), *record.settings.items())
    return any((count(value) or 1) > 1 for name, value in values if SEQUENCES.fullmatch(leaf_words(name)))


def _outputs_in(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the largest speed of the output, that of decoding aside, for each statistic of a record."""
    outputs: dict[str, float] = {}
    for name, value in values.items():
        column = value_name_of(name)
        is_output = column.metric_name is not None and column.metric_name.metric == "output_tps"
        if is_output and not names_decoding(column.words):
            statistic = statistic_of(column.words, None)
            outputs[statistic] = max(outputs.get(statistic, 0.0), value if is_number(value) else 0.0)
    return outputs


def _without_coarse_units(metrics: Mapping[str, MetricName]) -> dict[str, MetricName]:
    """Return the metrics without what stands there in a finer unit too: 'ttft_minutes' beside 'ttft_seconds'."""
    finest: dict[tuple[str, str], float] = {}
    for name, metric_name in metrics.items():
        key = (metric_name.metric, value_name_of(name).words)
        finest[key] = min(metric_name.factor, finest.get(key, metric_name.factor))
    return {
        name: metric_name for name, metric_name in metrics.items()
        if metric_name.metric == STATED or metric_name.factor == finest[metric_name.metric, value_name_of(name).words]
    }  # fmt: skip


def _with_times_of_requests(metrics: Mapping[str, MetricName]) -> dict[str, MetricName]:
    """Return the metrics with statistics of times beside the duration of the load as those of its requests.

    Without that duration, beside a time to the first token, they may be of the load or of its requests.
    """
    durations = [name for name, metric_name in metrics.items() if metric_name.metric == "duration_s"]
    of_requests = [name for name in durations if OF_REQUESTS.fullmatch(statistic_of(value_name_of(name).words, None))]
    if len(of_requests) == len(durations):
        is_of_answers = any(metric_name.metric in LATENCIES_OF_TOKENS for metric_name in metrics.values())
        return {
            name: value_name_of(name).stated if is_of_answers and _is_total_of_requests(name) else metric_name
            for name, metric_name in metrics.items()
        }
    return {
        name: MetricName("e2e_ms", metric_name.factor * 1e3) if name in of_requests else metric_name
        for name, metric_name in metrics.items()
    }


def _is_total_of_requests(name: str) -> bool:
    """Return whether a name is that of a statistic of total times."""
    plain_words = value_name_of(name).words
    return (
        TOTAL_TIME.search(plain_words) is not None
        and OF_REQUESTS.fullmatch(statistic_of(plain_words, None)) is not None
    )


def _with_single_duration(metrics: Mapping[str, MetricName], values: Mapping[str, Any]) -> dict[str, MetricName]:
    """Return the metrics with one duration of the load: another one, of what stands around it, is stated only."""
    durations = {
        name: values[name] * metric_name.factor for name, metric_name in metrics.items()
        if metric_name.metric == "duration_s" and is_number(values[name])
    }  # fmt: skip
    first = next((name for name in durations if leaf_words(name).startswith("duration")), next(iter(durations), None))
    other_durations = {
        name for name, duration in durations.items()
        if first and statistic_of(value_name_of(name).words, None) == statistic_of(value_name_of(first).words, None)
        and abs(duration - durations[first]) > MOST_DIFFERENCE * durations[first]
    }  # fmt: skip
    return {
        name: value_name_of(name).stated if name in other_durations else metric_name
        for name, metric_name in metrics.items()
    }

"""Reads JSON and CSV that scripts write of their own measurements, as far as the names state metric and unit.

`ttft_p50_s` is a time to the first token in seconds, `decode_tok_s` a speed; a value without a unit is a parameter, or
names its point where it varies.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, MeasurementPoint, Ticket
from collectors.imports.results.metrics import STATED
from collectors.imports.results.prose.arm_names import point_of_name
from collectors.imports.results.prose.decoding_speeds import names_decoding
from collectors.imports.results.prose.draft_positions import add_positions, lists_positions
from collectors.imports.results.prose.heads import CONCURRENCY_HEAD, OUTPUT_HEAD, PROMPT_HEAD
from collectors.imports.results.prose.metric_names import statistic_of, words
from collectors.imports.results.prose.number_text import MEMORY, has_no_value, states_failure
from collectors.imports.results.prose.record_accuracies import add_accuracies, names_of_accuracies
from collectors.imports.results.prose.record_files import (
    COLUMN,
    GROUP,
    JSON_START,
    LENGTHS_OF_ROW,
    LIST,
    NAMED_SPEED,
    SPEED_OF_ROW,
    Record,
    csv_names,
    is_of_part,
    names_in_json,
    records_of,
)
from collectors.imports.results.prose.record_metrics import (
    TOKENS,
    Deviation,
    count_beside,
    counts_failures,
    deviation_of,
    mean_of_deviation,
    measurements_in,
    rates_of_load,
    tested_side_of,
    tokens_of_whole_load,
)
from collectors.imports.results.prose.record_units import with_proven_units, with_units_of_serving
from collectors.imports.results.prose.stated_figures import zero_note
from collectors.imports.results.prose.stated_points import point_of_words
from collectors.imports.results.prose.value_names import (
    ValueName,
    around_of,
    is_number,
    leaf_words,
    names_summary,
    value_name_of,
)
from collectors.imports.results.source import ResultFile
from collectors.imports.results.values import converted, count, cut, text
from reasons import Code, Reason

TOOL = "records"
KEY = re.compile(r'"([A-Za-z][\w .%/()-]{1,60})"\s{0,9}:')
NUMBERED_KEY = re.compile(  # of a number, or of its statistics
    r'"([A-Za-z][\w .%/()-]{1,60})"\s{0,9}:\s{0,99}'
    r'(?:\{\s{0,99}"(?:mean|avg|average|median|min|max|std|p\d\d)"\s{0,9}:\s{0,9})?-?\d'
)
METRIC_OF_CELL = re.compile(r'"(?:metric|measure|kpi)"\s{0,9}:\s{0,9}"([A-Za-z][\w .%/()-]{1,60})"', re.IGNORECASE)
WARM_UP = re.compile(r"(?:is )?warm[-_ ]?up", re.IGNORECASE)
TIMED_STATISTICS = re.compile(  # {"cold_ms": {"p50": 236.5}}
    r'"[A-Za-z][\w .-]{0,60}_(?:ms|s|sec|seconds)"\s{0,9}:\s{0,9}\{\s{0,99}"(?:mean|avg|median|min|p\d\d)"\s{0,9}:'
)
INNER_STATISTIC = re.compile(r"mean|avg|median|min|max|p\d{2}")
LEVEL_WORDS = {  # beside the heads of tables
    CONCURRENCY_HEAD: re.compile(r"np|n parallel|c"),
    PROMPT_HEAD: re.compile(
        r"n prompt|prompt n|tokens evaluated(?: mean)?|(?:prompt|input) token(?:s per req(?:uest)?| count)"
        r"|prompt eval (?:count|tokens)|(?:mean|avg|average) (?:prompt|input) tokens"
        r"|(?:prompt|input) (?:tokens|len(?:gth)?) (?:mean|avg)"
    ),
    OUTPUT_HEAD: re.compile(
        r"n gen|n predict|predicted n|tokens predicted(?: mean)?|eval (?:count|tokens)"
        r"|(?:(?:avg|mean) )?(?:tokens generated|(?:new|generated) tokens)"
        r"|(?:output|completion|generated) token(?:s per req(?:uest)?| count)"
        r"|(?:mean|avg|average) (?:output|completion) tokens|(?:output|completion) (?:tokens|len(?:gth)?) (?:mean|avg)"
    ),
}
MODELS = (
    "model", "model id", "model name", "model path", "model tag", "base model", "model filename", "model file",
    "model hf id", "hf model", "hf model id", "model repo", "model name or path", "served model", "served model name",
)  # fmt: skip
TIMES = (
    "ts", "timestamp", "date", "datetime", "started at", "started", "started utc", "start time", "start time utc",
    "timestamp utc", "generated at", "created at", "run at",
)  # fmt: skip
TIMES_OF_END = ("end time", "ended at", "end time utc", "finished at", "completed at")
EVIDENCE = words(r"evidence(?: type)?|provenance|data (?:source|type|kind)|label")
SIMULATED = words(r"(?:is )?(?:simulat(?:ed|ion)|synthetic|mock(?:ed)?|fake)(?: data)?")
ANSWER = words(r"(?:\w{1,20} )?(?:completion|output|answer|response|reply|reference|content|text|preview|sample)")
ERRORS = ("error", "error message")
PARTS_OF_ERROR = ("type", "kind", "message", "name", "reason")  # {"error": {"type": "Timeout"}}
OF_TOKENS = words(
    r"(?:^|[^a-z])(?:tok(?:en)?s?|output[ _]chars|ttft|tpot|itl|llm|n[ _](?:prompt|gen)|[io]sl)(?:[^a-z]|$)"
)
OF_KERNEL = words(
    r"(?:^|[^a-z])(?:[gt]flops|gbps|gb[_/]s|kernel|gemm|matmul|bytes[_ ]per(?![_ ]token)|bandwidth)(?:[^a-z]|$)"
)
OF_LOAD = words(r"conc|users|vus?|clients|streams|flight")  # 'parallel' beside them are the server's slots
OF_PERPLEXITY = words(r"\b(?:perplexity|ppl)\b")
CONVERSATIONS = words(r"\b(?:n|num|number of|total) sessions$")  # of a workload, one after the other or at once
MOST_TOKENS = words(r"\bmax (?:(?:new|output|completion) )?tokens$")  # a limit: an answer may end before it
SINGLE = words(r"\bsingle (?:stream|user|request|client)\b")
MARKED_NOTE = "The file is marked as synthetic or simulated; whether its prompts or its numbers are, it does not say."
SINGLE_TOKEN_NOTE = "Speeds of decoding were left out where the answer is a single token: nothing was decoded after it."
_MEMORY = words(r"mem(?:ory)?")
_OF_MACHINE = words(r"host ?name|cpu(?: count| cores| model)?|chip|device model|os(?: version)?|platform")
LEAST_RECORDS = 2  # of one machine
MAX_NAME_CHARS = 200
MOST_NAME_CHARS = 100  # of one value
LEAST_METRICS = 2


def recognise(head: str) -> bool:
    """Return whether JSON or CSV begins so and names two metrics with their units, or one beside a model's output."""
    names = _names_in(head)
    columns = [column for name in names if (column := value_name_of(name)).unit is not None]
    has_inner_statistic = any(INNER_STATISTIC.fullmatch(column.words) for column in columns)  # {"ttft": {"p99_ms": 81}}
    has_inner_statistic = has_inner_statistic or TIMED_STATISTICS.search(head) is not None
    metrics = [column for column in columns if column.metric_name is not None or column.unit == "tok/s"]
    has_speed = has_inner_statistic or _metrics_of(columns) - {"duration_s"}  # what only took its time is no benchmark
    has_model = any(map(_names_model, names)) and any(column.unit == "tok/s" for column in columns)
    is_of_tokens = has_model or any(map(OF_TOKENS.search, names))
    is_of_answers = bool(has_speed) or _times_answers(names)
    is_enough = len(metrics) + has_inner_statistic >= (1 if is_of_tokens else LEAST_METRICS)
    return is_of_answers and is_enough and not times_kernels(head)


def _times_answers(names: Iterable[str]) -> bool:
    """Return whether names are those of a model, of its tokens on both sides, and of the time that they took."""
    names = list(names)
    counted = {metric for name in names for pattern, metric in TOKENS if pattern.fullmatch(leaf_words(name))}
    has_time = "duration_s" in _metrics_of(map(value_name_of, names))
    return has_time and len(counted) == len(TOKENS) and any(map(_names_model, names))


def times_kernels(head: str) -> bool:
    """Return whether JSON or CSV begins so and times copies of memory or kernels, which are no requests."""
    names = _names_in(head)
    is_of_kernels = any(map(OF_KERNEL.search, names))
    return is_of_kernels and _metrics_of(map(value_name_of, names)) <= {"e2e_ms", "duration_s"}


def _names_in(head: str) -> list[str]:
    is_json = JSON_START.match(head) is not None
    names = [*KEY.findall(head), *METRIC_OF_CELL.findall(head), *names_in_json(head)] if is_json else csv_names(head)
    names += [NAMED_SPEED] if {SPEED_OF_ROW, *LENGTHS_OF_ROW} <= set(names) else []
    return list(dict.fromkeys(names))


def _metrics_of(columns: Iterable[ValueName]) -> set[str]:
    """Return the metrics of names with a unit; STATED for a speed that Pitwall has no metric for."""
    return {
        column.metric_name.metric if column.metric_name else STATED for column in columns
        if column.unit is not None and (column.metric_name is not None or column.unit == "tok/s")
    }  # fmt: skip


def names_without_unit(head: str) -> list[str]:
    """Return the names of JSON or CSV that begins so which name a latency or a speed, but no unit."""
    names = NUMBERED_KEY.findall(head) if JSON_START.match(head) else csv_names(head)
    return [name for name in dict.fromkeys(names) if value_name_of(name).lacks_unit]


def names_with_unit(head: str) -> list[str]:
    """Return the names of numbers in JSON that begins so which state a unit of a measurement."""
    names = dict.fromkeys(NUMBERED_KEY.findall(head))
    return [name for name in names if value_name_of(name).unit and not value_name_of(name).is_setting]


def read(source: ResultFile, ticket: Ticket) -> list[LoadBuilder]:
    """Return the load of such a file; raises ImportRefusedError if it has no result."""
    records = records_of(source)
    if any(map(_is_simulated, records)):
        raise ImportRefusedError(f"{source.name} says that its values are simulated: nothing was measured.")
    load = LoadBuilder(ticket, TOOL, None, TOOL, ticket.file_date)
    load.notes += [MARKED_NOTE] if any(map(_is_marked, records)) else []
    warm_ups = [record for record in records if _is_warm_up(record)]
    if warm_ups:
        records = [record for record in records if not _is_warm_up(record)]
        load.notes.append(f"The warm-up was left out: {len(warm_ups)} of its records.")
    failures = [record for record in records if _is_failed(record)]
    if failures:
        records = [record for record in records if not _is_failed(record)]
        load.notes.append(f"Failed requests were left out: {len(failures)} of its records.")
    records, memory_of_machine = _without_memory_of_machine(records)
    records, note_of_serving = with_units_of_serving(records)
    records, note_of_proofs = with_proven_units(records)
    load.notes += [note for note in (note_of_serving, note_of_proofs) if note]
    constants = _constants(records)
    failed = {name: value for name, value in constants.items() if is_number(value) and counts_failures(name)}
    settings = {**memory_of_machine, **constants}
    load.params |= {name: cut(value) for name, value in settings.items() if name not in failed}
    load.model = _model_of(constants)
    times = [time for record in records if (time := _time_of(record))]
    load.ts = min(times, default=load.ts)
    accuracies = names_of_accuracies(records)
    most_streams = max(map(_most_streams, records), default=1)
    for record in records:
        _add_record(load, record, constants, accuracies, most_streams)
    if failed and not any(row.metric == "failed_requests" for row in load.result_rows):
        load.notes.append(f"Left out, since the number of all requests is not known: {_listed(failed)}.")
    open_names = dict.fromkeys(name for record in records for name in _names_without_unit(record))
    if not load.result_rows:
        lacking = f" No unit is stated by {', '.join(open_names)[:MAX_NAME_CHARS]}." if open_names else ""
        raise ImportRefusedError(
            f"{source.name} has no measured value whose name states its metric and unit; limits, aims and settings are "
            f"none.{lacking}"
        )
    if open_names:
        load.notes.append(
            f"Left out, since no unit that Pitwall knows is stated: {', '.join(open_names)[:MAX_NAME_CHARS]}."
        )
    return [load]


def _listed(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in values.items())[:MAX_NAME_CHARS]


def _names_without_unit(record: Record) -> list[str]:
    return [name for name, value in record.values.items() if value_name_of(name).lacks_unit and is_number(value)]


def _without_memory_of_machine(records: Sequence[Record]) -> tuple[list[Record], dict[str, Any]]:
    """Return records without `memory_gb`, where all have one whole number beside the names of their machine, and it."""
    names = {
        name for record in records for name, value in record.values.items()
        if is_number(value) and value % 1 == 0 and _names_memory(name)
    }  # fmt: skip
    is_of_machine = any(_OF_MACHINE.fullmatch(leaf_words(name)) for record in records for name in record.values)
    first = records[0].values if records else {}
    shared = {name for name in names if all(record.values.get(name) == first.get(name) for record in records)}
    if not is_of_machine or len(records) < LEAST_RECORDS or not shared:
        return list(records), {}
    others = [
        record._replace(values={name: value for name, value in record.values.items() if name not in shared})
        for record in records
    ]
    return others, {name: first[name] for name in shared}


def _names_memory(name: str) -> bool:
    column = value_name_of(name)
    return column.unit in MEMORY and _MEMORY.fullmatch(column.words) is not None


# --- values -----------------------------------------------------------------------------------------------------------
def _is_warm_up(record: Record) -> bool:
    return any(
        WARM_UP.fullmatch(value) is not None if isinstance(value, str)
        else value is True and WARM_UP.fullmatch(value_name_of(name).words) is not None
        for name, value in record.values.items()
    )  # fmt: skip


def _is_simulated(record: Record) -> bool:
    """Return whether a record says that nobody measured it: {"evidence_type": "simulated"}."""
    values = (*record.values.items(), *record.settings.items())
    return any(
        isinstance(value, str) and SIMULATED.fullmatch(value) and EVIDENCE.fullmatch(leaf_words(name))
        for name, value in values
    )


def _is_marked(record: Record) -> bool:
    """Return whether a record is marked as synthetic, as its prompts or its numbers may be."""
    values = (*record.values.items(), *record.settings.items())
    return any(value is True and SIMULATED.fullmatch(leaf_words(name)) for name, value in values)


def _is_failed(record: Record) -> bool:
    """Return whether a record is that of a request that failed, whose times are those of the failure."""
    values = {value_name_of(name).words: value for name, value in record.values.items()}
    is_denied = any(values.get(name) is False for name in ("ok", "success", "succeeded"))
    status = values.get("status")
    has_failed = isinstance(status, str) and states_failure(status)
    errors = [value for name, value in record.values.items() if _names_error(name)]
    return (
        is_denied or has_failed or any(value is True or (isinstance(value, str) and value.strip()) for value in errors)
    )


def _names_error(name: str) -> bool:
    """Return whether a name is that of an error, or of its kind or its words in an object of it."""
    around, _, leaf = name.rpartition(" ")
    return value_name_of(name).words in ERRORS or (around.rpartition(" ")[2] == ERRORS[0] and leaf in PARTS_OF_ERROR)


def _model_of(values: Mapping[str, Any]) -> str | None:
    """Return the model that a name such as 'model', 'modelID' or 'model_path' states."""
    return next((name for key, value in values.items() if _names_model(key) and (name := text(value))), None)


def _names_model(name: str) -> bool:
    return value_name_of(name).words in MODELS or leaf_words(name) in MODELS


def _time_of(record: Record) -> datetime | None:
    """Return when a record was measured, where it states the zone."""
    values = (*record.values.items(), *record.settings.items())
    time_text = next((value for name, value in values if value_name_of(name).words in TIMES), None)
    try:
        time = datetime.fromisoformat(time_text) if isinstance(time_text, str) else None
    except ValueError:
        return None
    return time if time and time.tzinfo else None


def _constants(records: Sequence[Record]) -> dict[str, Any]:
    """Return the values other than results that all records share, summaries aside; all those of a single record."""
    records = [record for record in records if not record.is_summary] or records
    first = {**records[0].settings, **records[0].values} if records else {}
    return {
        name: value for name, value in first.items()
        if not value_name_of(name).is_of_result(value) and not _is_empty(value) and not lists_positions(name, value)
        and all(record.stated(name) == value for record in records)
        and not all(mean_of_deviation(name, record.values) for record in records)
    }  # fmt: skip


def _most_streams(record: Record) -> int:
    """Return the largest concurrency that a record states, 1 without any."""
    values = (*record.values.items(), *record.settings.items())
    return max((count(value) or 1 for name, value in values if _states_level(name, CONCURRENCY_HEAD)), default=1)


def _add_record(
    load: LoadBuilder, record: Record, constants: Mapping[str, Any], accuracies: Collection[str], most_streams: int
) -> None:
    """Add a record's results. most_streams: the largest concurrency of all records."""
    patterns = (CONCURRENCY_HEAD, PROMPT_HEAD, OUTPUT_HEAD)
    totals = tokens_of_whole_load(record.values)
    values, shared = (
        {name: value for name, value in source.items() if name not in totals} for source in (record.values, constants)
    )
    arm = _point_of_arm(record)
    shared_levels = [
        of_arm if own_level is None else own_level for own_level, of_arm in zip(
            (_level((values, record.settings, shared), pattern, record.objects) for pattern in patterns),
            (arm.concurrency, arm.prompt_tokens, arm.output_tokens), strict=True,
        )
    ]  # fmt: skip
    levels_of_parts = [_levels_of_parts(values, pattern, record.objects) for pattern in patterns]
    metrics = measurements_in(record, shared_levels[0], max((most_streams, *levels_of_parts[0].values())))
    tested = point_of_words("", tested_side_of(record) or "")  # 'pp512'
    point_name = _point_name(record, {*metrics, *accuracies}, rates_of_load(record, shared_levels[0]), constants)
    add_accuracies(load, record, accuracies, point_name)
    add_positions(load, record.values, MeasurementPoint(f"{point_name} (record {record.number})", *shared_levels))
    for name, metric_name in metrics.items():
        column, value, metric = value_name_of(name), record.values[name], metric_name.metric
        part = around_of(name)
        levels = [of_parts.get(part, shared) for of_parts, shared in zip(levels_of_parts, shared_levels, strict=True)]
        if value == 0 and (note := zero_note(metric, column.unit)):
            load.notes += [note] if note not in load.notes else []
            continue
        if metric in ("output_tps", "decode_tps") and levels[2] == 1 and names_decoding(column.words):
            load.notes += [SINGLE_TOKEN_NOTE] if SINGLE_TOKEN_NOTE not in load.notes else []
            continue
        of_name = point_of_words("", column.words)
        level = 1 if SINGLE.search(column.words) else None
        lengths = (
            of_name.prompt_tokens or tested.prompt_tokens,
            of_name.output_tokens or tested.output_tokens,
        )
        own_levels = (level, *lengths)
        levels = [
            shared if own_level is None else own_level for own_level, shared in zip(own_levels, levels, strict=True)
        ]
        point = MeasurementPoint(f"{point_name}: {name} (record {record.number})", *levels)
        statistic = _statistic_of(name, metric)
        n = count_beside(name, record.values) if statistic != STATED else None
        deviation = deviation_of(name, record.values) if statistic == "mean" else None
        load.result(
            point, metric, statistic, value, factor=metric_name.factor, n=n,
            unit=column.unit if metric == STATED else None, **_options_of(deviation, metric_name.factor),
        )  # fmt: skip


def _options_of(deviation: Deviation | None, factor: float) -> dict[str, Any]:
    """Return what a result has of the deviation beside its mean; one whose divisor is not told is a reason alone."""
    if deviation is None:
        return {}
    if deviation.is_of_population:
        return {"population_sd": deviation.value}
    value = converted(deviation.value, factor)
    if deviation.is_open:
        return {"reasons": [Reason(Code.SD_DIVISOR_NOT_TOLD, values={"spread": f"{value:g}"})]}
    return {"sd": value}


def _point_of_arm(record: Record) -> MeasurementPoint:
    """Return the level and the lengths that the name of a record's arm states: {"concurrency_8": {...}}."""
    names = [str(record.stated(kind)) for kind in (COLUMN, GROUP, LIST) if record.stated(kind)]
    points = [point for name in names for point in (point_of_name(name), point_of_words("", name))]
    levels = [(point.concurrency, point.prompt_tokens, point.output_tokens) for point in points]
    first_levels = [
        next((level for level in of_points if level is not None), None) for of_points in zip(*levels, strict=True)
    ]
    return MeasurementPoint("", *first_levels)


def _statistic_of(name: str, metric: str) -> str:
    """Return the statistic that a value's own name states, or else the objects around it: 'gpu_avg peak_memory_mb'."""
    column = value_name_of(name)
    kind = "stated_ms" if metric == STATED and column.unit in ("ms", "s") else metric  # the best time is the shortest
    statistics = (statistic_of(part, None, kind) for part in (leaf_words(name), column.words))
    return next((statistic for statistic in statistics if statistic != STATED), STATED)


def _point_name(record: Record, left_out: Collection[str], rates: Sequence[str], constants: Mapping[str, Any]) -> str:
    """Return what tells a record apart from the others; the rates of its load come first."""
    own_values = {
        name: value for name, value in record.values.items()
        if name not in left_out and name not in rates and not mean_of_deviation(name, record.values)
    }  # fmt: skip
    names = [f"{name}={record.values[name]:g}" for name in rates]
    parts = _names_of_point(own_values, constants) | _names_of_point(record.settings, constants)
    if sum(map(len, parts.values())) > MAX_NAME_CHARS:  # words tell more than numbers, whole numbers more than others
        kinds = {name: is_number(record.stated(name)) + (count(record.stated(name)) is None) for name in parts}
        parts = dict(sorted(parts.items(), key=lambda part: kinds[part[0]]))
    return ", ".join([*names, *parts.values()])[:MAX_NAME_CHARS] or "all requests"


def _names_of_point(values: Mapping[str, Any], constants: Mapping[str, Any]) -> dict[str, str]:
    """Return what tells a record apart, its model first: 'np=4'; latencies and speeds without a unit are no names."""
    return {
        name: f"{name}={value if not isinstance(value, float) else f'{value:g}'}"[:60]
        for name, value in sorted(values.items(), key=lambda item: not _names_model(item[0]))
        if name not in constants and not _is_empty(value) and not isinstance(value, list) and not _is_text(name, value)
        and not (column := value_name_of(name)).is_of_result(value)
        and not (column.lacks_unit and is_number(value)) and not column.is_comparison
        and column.words not in (*TIMES, *TIMES_OF_END)
    }  # fmt: skip


def _is_empty(value: Any) -> bool:
    """Return whether a value says that there is none: None, '-', 'n/a'; 'none' may be a setting."""
    return value is None or (isinstance(value, str) and value.lower() != "none" and has_no_value(value))


def _is_text(name: str, value: Any) -> bool:
    """Return whether a value is a text, as an answer or code are, and no name."""
    is_answer = ANSWER.fullmatch(leaf_words(name)) is not None and " " in str(value)
    return isinstance(value, str) and (is_answer or len(value) > MOST_NAME_CHARS or "\n" in value)


def _levels_of_parts(values: Mapping[str, Any], pattern: re.Pattern[str], objects: Collection[str]) -> dict[str, int]:
    """Return the level or length of each inner object that states one."""
    parts = [(around_of(name), name) for name in values if " " in name and _states_level(name, pattern)]
    parts = [(part, name) for part, name in parts if part in objects]
    return {
        part: level for part, name in parts
        if not names_summary(part.rpartition(" ")[2]) and (level := count(values[name])) is not None
    }  # fmt: skip


def _level(sources: Sequence[Mapping[str, Any]], pattern: re.Pattern[str], objects: Collection[str]) -> int | None:
    """Return the level or length that a record states, or the objects around it, or all records together.

    Where only parts of the record state theirs, those around it are of no use for the others.
    """
    own_names = [name for name in sources[0] if _states_level(name, pattern)]
    if own_names and all(is_of_part(name, sources[0], objects) for name in own_names):
        return None
    names = [
        (values, name) for values in sources for name in values
        if _states_level(name, pattern) and not is_of_part(name, values, objects)
    ]  # fmt: skip
    names.sort(key=lambda item: pattern is CONCURRENCY_HEAD and not OF_LOAD.search(item[1]))
    return next((value for values, name in names if (value := count(values[name])) is not None), None)


@lru_cache(maxsize=4096)
def _states_level(name: str, pattern: re.Pattern[str]) -> bool:
    column = value_name_of(name)
    is_other = CONVERSATIONS if pattern is CONCURRENCY_HEAD else OF_PERPLEXITY
    if column.unit is not None or is_other.search(column.words) or MOST_TOKENS.search(column.words):
        return False  # 'output_tok_s' is a speed
    patterns = (pattern, LEVEL_WORDS[pattern])
    return any(head.fullmatch(plain) for head in patterns for plain in (column.words, leaf_words(name)) if plain)

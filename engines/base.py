"""Interface between Pitwall and an engine: the parts that a package under engines/ provides, and their types.

A new engine is one package that provides an `Engine`, one entry in `engines.ENGINES`, and its fixtures.
Engine packages import domain, samples, reasons and modules of engines/, nothing else of Pitwall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, NamedTuple, Protocol

from domain import Config, JsonValue
from engines.flag_table import FlagTable
from engines.forced_acceptance import ForcedAcceptance
from engines.next_token import NextTokenApi
from engines.node_commands import NodeCommand
from reasons import Code
from samples import CounterSample, LatencySample, LogSample, SlotSample


# --- logs -----------------------------------------------------------------------------------------------------------
class ParsedLine(NamedTuple):
    """One log line, split on LF only, with everything around the message removed.

    `number` is 1-based, `offset` the byte at which the line starts. `text` is the message without ANSI codes and
    without process, container or logger prefixes; `raw` is the decoded line (invalid UTF-8 replaced, length limited).
    """

    number: int
    offset: int
    text: str
    raw: str
    stamp: datetime | None = None  # aware if the line states its zone, else the server's local time; see place_year
    elapsed_s: float | None = None  # llama.cpp's clock: since process start
    process: str | None = None  # 'EngineCore_DP0', 'Worker_TP1', ...
    level: str | None = None


class ParsedSample(NamedTuple):
    """One stats line in the key names of the parser's JSON (`./pitwall parse`); absent means not printed."""

    line: int
    offset: int
    fields: Mapping[str, JsonValue]
    stamp: datetime | None = None
    elapsed_s: float | None = None


class StartupFact(NamedTuple):
    """One start-up fact in the key names of the parser's JSON; of several ranks the usable value wins."""

    line: int
    offset: int
    key: str
    value: JsonValue
    stamp: datetime | None = None


class LogMark(NamedTuple):
    """A line that matters to a reader, and why; sample lines need no mark."""

    line: int
    offset: int
    kind: Literal["throughput", "acceptance", "startup", "phase", "ready", "warning", "failure"]
    text: str  # one sentence for warnings and failures, the phase for phases, else the line's message
    stamp: datetime | None = None
    evidence: str | None = None  # the line itself, for failures and warnings


LogEvent = ParsedSample | StartupFact | LogMark


class LogReading(NamedTuple):
    """Content of a complete log, except its samples."""

    engine: str
    version: str | None
    startup: dict[str, JsonValue]
    errors: list[str]  # failure causes, the true cause before its echoes
    has_died: bool = False  # reported by the engine itself; final, whatever the exit code
    repeated_warnings: Mapping[str, int] = {}  # how often the log repeats a warning whose repeats have no mark


class LogParser(Protocol):
    """Streaming parser of one log: bytes in as they come, events out; never raises on any input.

    The events do not depend on the chunk boundaries. An event that a later line may still change (a vLLM Engine line
    that waits for its SpecDecoding line) is held until it is final.
    """

    def feed(self, data: bytes) -> list[LogEvent]:
        """Take the next bytes of the log, cut anywhere, and return the events that became final."""
        ...

    def close(self) -> list[LogEvent]:
        """Return the events of a last line without LF, and those still held."""
        ...

    def release_held(self) -> list[LogEvent]:
        """Return the events still held, for a silent log (one second without bytes is enough)."""
        ...

    def settled_offset(self) -> int:
        """Return the offset before which all lines' events have been returned."""
        ...

    def reading(self) -> LogReading:
        """Return the reading so far."""
        ...


# --- counters -------------------------------------------------------------------------------------------------------
class MetricPoint(NamedTuple):
    """One exposed sample: 'vllm:generation_tokens_total', {'engine': '0'}, 123.0."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Scrape:
    """One poll of a server's endpoints, with the clock readings at the time of the answer."""

    run_id: str
    ts: datetime
    mono_s: float
    points: Sequence[MetricPoint] = ()
    slots: JsonValue = None  # the parsed /slots, llama.cpp only


class MetricDefinition(NamedTuple):
    """Meaning of a derived quantity under a definition id, or the reason why it is unknown there."""

    definition: str  # 'vllm.counter'
    metric: str  # 'steps_per_s'
    formula: str | None
    null_reason: Code | None


# --- tokenizers -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TokenizerApi:
    """Fields of a server's /tokenize and /detokenize; answers hold 'tokens', or the text."""

    text_field: str
    special_field: str  # flag that adds the special tokens at the beginning of a prompt
    template_path: str | None = None  # turns messages into a prompt; None: /tokenize accepts messages
    answer_field: str | None = None  # of the answer of /detokenize; None: `text_field`


# --- command lines --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class CommandReading:
    """Reading of the engine's part of a command line: stated Config fields, and the unplaced remainder."""

    fields: dict[str, JsonValue] = field(default_factory=dict)  # Config keys, 'speculative' as a dict
    unknown_flags: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # typos with the nearest flag, leftover words


@dataclass(frozen=True)
class HostedModule:
    """A Python module with which another product runs the engine as its worker."""

    host: str  # 'Dynamo'
    flags: Mapping[str, str] = field(default_factory=dict)  # its own names of the engine's flags
    flag_prefix: str | None = None  # of the flags that only the product has


@dataclass(frozen=True)
class Invocation:
    """engines/<name>/invocation.py: recognises commands, texts and images that start the engine's server."""

    is_server: Callable[[str, Sequence[str], int], bool]  # program name, all words, index after the program
    first_words: tuple[str, ...]  # mark a line of text as a command, not prose
    text_pattern: str  # regular expression for the beginning of such a command in a text
    image_name: re.Pattern[str]  # searched in image names
    modules: tuple[str, ...] = ()  # for python -m
    hosted_modules: Mapping[str, HostedModule] = field(default_factory=dict)  # likewise
    files: tuple[str, ...] = ()  # the same as path endings
    scripts: tuple[str, ...] = ()  # launch scripts
    image_command: tuple[str, ...] | None = None  # entry point of its images; empty: none, None: unknown
    image_words: tuple[str, ...] = ()  # tell a multi-purpose image to serve
    reads_env: bool = False  # environment variables can state its flags
    nixos_service: str | None = None  # name of its module under `services`, with `model`, `host`, `port`, `extraFlags`
    chart_section: str | None = None  # of Helm values and custom resources, with its flags in camel case
    rewrite_file: Callable[[str], str] | None = None  # turns its own configuration file into its commands


def serves(name: str) -> Callable[[str, Sequence[str], int], bool]:
    """Return the `is_server` of an engine whose server is `name serve ...`."""
    return lambda program, words, after: program == name and words[after : after + 1] == ["serve"]


# --- the engine -----------------------------------------------------------------------------------------------------
class LogGrammar(Protocol):
    """engines/<name>/log.py, a module as implementation."""

    RECORD: re.Pattern[str]  # the beginning of a record in a format that no other engine has

    def recognises(self, text: str) -> bool:
        """Whether this log text is this engine's."""
        ...

    def log_parser(self) -> LogParser:
        """Return a parser for one log, to be fed from its first byte."""
        ...

    def log_sample(self, run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
        """Return a parsed line as the store's sample, with its numbers in the common units."""
        ...


class ArgumentLines(Protocol):
    """engines/<name>/arguments.py: reads the server's start arguments from its log."""

    NEEDLES: re.Pattern[bytes]  # other lines state no arguments; RE2 syntax

    def read_arguments(self, texts: Sequence[str]) -> list[str]:
        """Return the words of a command (for `read_command`) that these lines state; empty if none."""
        ...


class CounterMap(Protocol):
    """engines/<name>/counters.py: maps the exported metrics to samples."""

    METRIC_PREFIXES: tuple[str, ...]  # of its exposed names: ('vllm:',)
    METRIC_NAMES: frozenset[str]  # the only /metrics names worth parsing

    def counter_samples(self, scrape: Scrape) -> list[CounterSample]:
        """Return one raw cumulative sample per engine or DP rank."""
        ...

    def slot_samples(self, scrape: Scrape) -> list[SlotSample]:
        """Return one sample per slot of the server; empty for an engine without slots."""
        ...

    HISTOGRAM_NAMES: frozenset[str]  # of its latency histograms, which are read less often

    def latency_samples(self, scrape: Scrape) -> list[LatencySample]:
        """Return the available latency histograms, one sample per rank."""
        ...


class CommandLine(Protocol):
    """engines/<name>/flags.py: reads and writes the engine's flags."""

    TABLE: FlagTable

    def read_command(self, argv: Sequence[str], env: Mapping[str, str]) -> CommandReading:
        """Read the words after the executable (including the model) as Config fields."""
        ...

    def write_command(self, config: Config) -> list[str]:
        """Return the argv (executable first) for this config, including unknown flags."""
        ...


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The file in which a command's flag names further settings."""

    flag: str  # '--config'
    read: Callable[[Mapping[str, Any]], CommandReading]  # parsed settings, every scalar as written
    overrides: bool = False  # its settings win over flags
    is_made_of_flags: bool = False  # its keys are flags, so that the flags alone state the same


@dataclass(frozen=True)
class Engine:
    """Everything that Pitwall knows about one engine; a missing part is None."""

    name: str  # 'vllm'
    title: str  # 'vLLM'
    default_port: int | None
    ready_path: str  # answers 200 when requests can be served
    metrics_path: str | None
    slots_path: str | None = None
    switches: Mapping[str, str] = field(default_factory=dict)  # endpoint path -> flag that enables it
    is_router_without_model: bool = False  # a command without a model starts a router, which starts servers of models
    sleeping_path: tuple[str, str] | None = None  # (path, key) that is true while it sleeps, and does not wake it
    sleep_settings: tuple[str, ...] = ()  # flag and variable with which it sleeps when idle; a read of slots wakes it
    counters_off_flag: str | None = None  # with it, metrics_path answers without counters
    owned_by: str | None = None  # owner of the models in its /v1/models
    version_paths: tuple[tuple[str, str], ...] = ()  # (path, key) of its version
    is_known_by_version: bool = False  # no other engine answers there
    packages: tuple[str, ...] = ()  # Python packages that may contain it
    own_benchmarks: tuple[str, ...] = ()  # tools that measure no other engine, as `loads.tool` names them
    sampling_flags: tuple[str, ...] = ()  # set default sampling for requests
    rare_sampling_flags: tuple[str, ...] = ()  # likewise, without a field in forms
    # Decide what it logs, how it presents itself and whom it admits, not how it computes.
    neutral_flags: tuple[str, ...] = ()
    neutral_variables: tuple[str, ...] = ()
    tokenizer: TokenizerApi | None = None  # None: its server offers no tokenization
    next_token: NextTokenApi | None = None  # None: its server returns no log-probabilities after given token ids
    next_token_obstacle: str | None = None  # what its API lacks for it, after the engine's name: 'cannot ...'
    takes_ignore_eos: bool = False  # non-standard request field
    request_extras: Mapping[str, JsonValue] = field(default_factory=dict)  # make a stream report token counts
    stream_options: Mapping[str, JsonValue] = field(default_factory=dict)  # likewise, inside stream_options
    effective_names: Mapping[str, str] = field(default_factory=dict)  # start-up fact -> Config field
    memory_fraction_holds_weights: bool = False  # gpu_memory_fraction is the share of weights and KV cache together
    claims_memory_share: bool = False  # refuses to start unless gpu_memory_fraction of all memory is free
    draft_tokens_include_bonus: bool = False  # the setting of draft tokens counts the target model's own token too
    forced_acceptance: ForcedAcceptance | None = None  # the switch by which a configuration forces acceptance
    definitions: tuple[MetricDefinition, ...] = ()  # of its counters and its log
    log: LogGrammar | None = None
    import_record: re.Pattern[str] | None = None  # in the log of any program that imports its package
    counters: CounterMap | None = None
    commands: CommandLine | None = None
    arguments: ArgumentLines | None = None
    invocation: Invocation | None = None
    settings_file: SettingsFile | None = None
    node_commands: Callable[[Sequence[str]], list[NodeCommand]] | None = None  # for its other machines

    def sampling_flag(self, name: str) -> str | None:
        """Return the sampling flag that a word of its command means, under any name; None if it is no such flag."""
        table_flag = self.commands.TABLE.find(name)[0] if self.commands else None
        names = {name, *(table_flag.names if table_flag else ())}
        return next((flag for flag in (*self.sampling_flags, *self.rare_sampling_flags) if flag in names), None)

    def is_neutral_flag(self, name: str) -> bool:
        """Whether a word of its command is one of `neutral_flags`, under any name."""
        table_flag = self.commands.TABLE.find(name)[0] if self.commands else None
        return not {name, *(table_flag.names if table_flag else ())}.isdisjoint(self.neutral_flags)

    def is_neutral_variable(self, name: str) -> bool:
        """Whether an environment variable is neutral, or stands for a neutral flag."""
        flags = self.commands.TABLE.by_name.values() if self.commands else ()
        flag = next((flag for flag in flags if flag.env == name), None)
        return name in self.neutral_variables or (flag is not None and self.is_neutral_flag(flag.names[0]))

    def sampling_variable(self, name: str) -> str | None:
        """Return the sampling flag that an environment variable stands for; None if it is none."""
        flags = self.commands.TABLE.by_name.values() if self.commands else ()
        return next((self.sampling_flag(flag.names[0]) for flag in flags if flag.env == name), None)


def first_match(engines: Iterable[Engine], text: str) -> Engine | None:
    """Return the first engine whose log grammar recognises the text."""
    return next((engine for engine in engines if engine.log and engine.log.recognises(text)), None)

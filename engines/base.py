"""The interface between Pitwall and an engine: what a package under engines/ must provide, and its types.

A fourth engine is one package that provides an `Engine`, one entry in `engines.ENGINES`, and its fixtures.
Engine packages import domain, samples, the codes of analysis and this module, nothing else of Pitwall.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from domain import Config, JsonValue
from engines.flag_table import FlagTable
from reasons import Code
from samples import CounterSample, LatencySample, LogSample, SlotSample


# --- logs -----------------------------------------------------------------------------------------------------------
class Line(NamedTuple):
    """One log line, split on LF only, with everything around the message taken off.

    `number` is 1-based, `offset` the byte where the line starts. `text` is the message without ANSI codes,
    process, container or logger prefixes; `raw` the decoded line (invalid UTF-8 replaced, cut at a sane length).
    """

    number: int
    offset: int
    text: str
    raw: str
    stamp: datetime | None = None  # aware if the line says its zone, else the server's local time; see place_year
    elapsed_s: float | None = None  # llama.cpp's clock: since the process started
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
    """One fact the log states once, in the key names of the parser's JSON; for ranks the usable value wins."""

    line: int
    offset: int
    key: str
    value: JsonValue
    stamp: datetime | None = None


class Mark(NamedTuple):
    """A line that matters to a reader, and why; that of a sample does without one."""

    line: int
    offset: int
    kind: Literal["throughput", "acceptance", "startup", "phase", "ready", "warning", "failure"]
    text: str  # one sentence for warnings and failures, the phase for phases, else the line's message
    stamp: datetime | None = None
    evidence: str | None = None  # the line itself, for failures and warnings


LogEvent = ParsedSample | StartupFact | Mark


class LogReading(NamedTuple):
    """Everything a whole log says, beside its samples."""

    engine: str
    version: str | None
    startup: dict[str, JsonValue]
    errors: list[str]  # causes a person should be shown first, the true cause before its echoes
    has_died: bool = False  # the engine itself says so: no server goes on after that, whatever it exits with


class LogParser(Protocol):
    """A streaming reading of one log: bytes in as they come, events out; never raises on any input.

    The events do not depend on how the bytes were cut. An event whose line may still change
    (a vLLM Engine line that waits for its SpecDecoding line) is held until it cannot.
    """

    def feed(self, data: bytes) -> list[LogEvent]:
        """Take the next bytes of the log, cut anywhere; the events that can change no more."""
        ...

    def close(self) -> list[LogEvent]:
        """The events of a last line without LF, and those still held."""
        ...

    def release_held(self) -> list[LogEvent]:
        """The events still held, for a log that has fallen silent (a second without bytes is enough)."""
        ...

    def settled_offset(self) -> int:
        """All events of lines that start before this byte have been given out."""
        ...

    def reading(self) -> LogReading:
        """What is known so far."""
        ...


# --- counters -------------------------------------------------------------------------------------------------------
class MetricPoint(NamedTuple):
    """One exposed sample: 'vllm:generation_tokens_total', {'engine': '0'}, 123.0."""

    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class Scrape:
    """One tick at a server's endpoints, with the clock readings taken when the answer came."""

    run_id: str
    ts: datetime
    mono_s: float
    points: Sequence[MetricPoint] = ()
    slots: JsonValue = None  # the parsed /slots, llama.cpp only


class MetricDefinition(NamedTuple):
    """What a derived quantity means under a definition id, or why it is unknown there."""

    definition: str  # 'vllm.counter'
    metric: str  # 'steps_per_s'
    formula: str | None
    null_reason: Code | None


# --- tokenizers -----------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class TokenizerApi:
    """How a server's /tokenize and /detokenize speak; answers hold 'tokens', or the text."""

    text_field: str
    special_field: str  # whether the tokens that a prompt begins with are added
    template_path: str | None = None  # makes a prompt of messages; None: /tokenize takes messages itself
    answer_field: str | None = None  # that /detokenize answers with; None: `text_field`


# --- command lines --------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Reading:
    """The engine's part of a command line, read: Config fields it states, and what could not be placed."""

    fields: dict[str, JsonValue] = field(default_factory=dict)  # Config keys, 'speculative' as a dict
    unknown_flags: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # typos with the nearest flag, leftovers


@dataclass(frozen=True)
class Invocation:
    """engines/<name>/invocation.py: how its server is started, and what a command, text or image that does so holds."""

    is_server: Callable[[str, Sequence[str], int], bool]  # a program's name, all words, and where those after it begin
    first_words: tuple[str, ...]  # with which a line of text is a command of it, and no prose
    in_text: str  # such a command's start anywhere in a text, as a regular expression
    image_name: re.Pattern[str]  # found in the names of its images
    modules: tuple[str, ...] = ()  # of python -m
    files: tuple[str, ...] = ()  # the same as the ends of paths
    scripts: tuple[str, ...] = ()  # that start it their own way
    image_command: tuple[str, ...] | None = None  # what its images start by themselves; empty: nothing, None: unknown
    image_words: tuple[str, ...] = ()  # by which an image that holds more is told to serve
    reads_env: bool = False  # variables can state what its flags state


def serves(name: str) -> Callable[[str, Sequence[str], int], bool]:
    """The `is_server` of an engine whose server is `name serve ...`."""
    return lambda program, words, after: program == name and words[after : after + 1] == ["serve"]


# --- the engine -----------------------------------------------------------------------------------------------------
class LogGrammar(Protocol):
    """engines/<name>/log.py: a module is such a part."""

    def recognises(self, text: str) -> bool:
        """Whether this log text is this engine's."""
        ...

    def log_parser(self) -> LogParser:
        """A parser for one log, to be fed from its first byte."""
        ...

    def log_sample(self, run_id: str, sample: ParsedSample, ts: datetime, ts_source: str) -> LogSample:
        """A parsed line in the store's terms, its numbers converted to the common units."""
        ...


class ArgumentLines(Protocol):
    """engines/<name>/arguments.py: where its log says how it was started."""

    NEEDLES: re.Pattern[bytes]  # lines without it state nothing; re2's syntax

    def read_arguments(self, texts: Sequence[str]) -> list[str]:
        """The words of a command (for `read_command`) that would say what these lines state; empty for nothing."""
        ...


class CounterMap(Protocol):
    """engines/<name>/counters.py: what its endpoints export and what that means."""

    METRIC_PREFIXES: tuple[str, ...]  # how its exposed names start: ('vllm:',)
    METRIC_NAMES: frozenset[str]  # the only /metrics names worth parsing

    def counter_samples(self, scrape: Scrape) -> list[CounterSample]:
        """One raw cumulative sample per engine or DP rank."""
        ...

    def slot_samples(self, scrape: Scrape) -> list[SlotSample]:
        """One sample per slot of the server; empty for an engine that does not report slots."""
        ...

    HISTOGRAM_NAMES: frozenset[str]  # of its latency histograms; looked at more seldom

    def latency_samples(self, scrape: Scrape) -> list[LatencySample]:
        """The latency histograms, as far as it has them, one a rank."""
        ...


class CommandLine(Protocol):
    """engines/<name>/flags.py: its flags, read and written."""

    TABLE: FlagTable

    def read_command(self, argv: Sequence[str], env: Mapping[str, str]) -> Reading:
        """The words after the executable (the model among them), as Config fields."""
        ...

    def write_command(self, config: Config) -> list[str]:
        """The argv (executable first) that says this config, unknown flags kept."""
        ...


@dataclass(frozen=True)
class Engine:
    """Everything Pitwall knows of one engine; a part it lacks is None."""

    name: str  # 'vllm'
    title: str  # 'vLLM'
    default_port: int | None
    ready_path: str  # answers 200 when requests can be served
    metrics_path: str | None
    slots_path: str | None = None
    switches: Mapping[str, str] = field(default_factory=dict)  # a path above -> the flag without which it is off
    counters_off_flag: str | None = None  # with it, metrics_path answers and exports no counters
    owned_by: str | None = None  # the owner of the models that its /v1/models lists
    version_paths: tuple[tuple[str, str], ...] = ()  # where it states its version, and under which key
    is_known_by_version: bool = False  # nobody else answers there
    packages: tuple[str, ...] = ()  # the Python packages that it may have come in
    sampling_flags: tuple[str, ...] = ()  # how its command sets sampling for requests that say nothing of it
    rare_sampling_flags: tuple[str, ...] = ()  # likewise; no form has a field for them
    tokenizer: TokenizerApi | None = None  # None: its server cuts no text for us
    takes_ignore_eos: bool = False  # in a request, beyond the standard
    request_extras: Mapping[str, JsonValue] = field(default_factory=dict)  # what makes a stream report its token counts
    stream_options: Mapping[str, JsonValue] = field(default_factory=dict)  # the same, said among these
    effective_names: Mapping[str, str] = field(default_factory=dict)  # start-up fact -> the Config field it is here
    claims_memory_share: bool = False  # it refuses to start where gpu_memory_fraction of all memory is not free
    definitions: tuple[MetricDefinition, ...] = ()  # of its counters and its log
    log: LogGrammar | None = None
    counters: CounterMap | None = None
    commands: CommandLine | None = None
    arguments: ArgumentLines | None = None
    invocation: Invocation | None = None

    def sampling_flag(self, name: str) -> str | None:
        """Which of its sampling flags a word of its command is, under any of their names; None: none of them."""
        known = self.commands.TABLE.find(name)[0] if self.commands else None
        names = {name, *(known.names if known else ())}
        return next((flag for flag in (*self.sampling_flags, *self.rare_sampling_flags) if flag in names), None)

    def sampling_variable(self, name: str) -> str | None:
        """Which of these an environment variable stands for."""
        flags = self.commands.TABLE.by_name.values() if self.commands else ()
        return next((self.sampling_flag(flag.names[0]) for flag in flags if flag.env == name), None)


def first_match(engines: Iterable[Engine], text: str) -> Engine | None:
    """The first engine whose log grammar recognises the text."""
    return next((engine for engine in engines if engine.log and engine.log.recognises(text)), None)

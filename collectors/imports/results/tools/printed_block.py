"""Reads what stands around a printed block of results: its heading, and the command that printed it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.tools.printed import number_or_text
from domain import JsonValue
from engines import ENGINES

FENCE = re.compile(r"\s{0,12}`{3,4}\w{0,20}\s{0,12}")
PROGRESS_BAR = "%|"
COMMAND_LINE = re.compile(r"\s{0,40}--?\w|.{0,4000} --\w|.{0,4000}\\\s{0,8}$")
COMMENT = re.compile(  # a prompt of root has a command behind it
    r"\s{0,8}#{1,6} (?!(?:[\w./~-]{0,80}/)?"
    rf"(?:\w+=|python|(?:{'|'.join(engine.name for engine in ENGINES)})\b|genai-perf|aiperf|guidellm"
    r"|\S{1,80}\.(?:py|sh)\b))"
)
NO_HEADING = re.compile(
    r"[|{}]|\d%|https?://|: +[-+\d.]|^\w+=|\w\((?:\w+=[^,()]+, ){3}|^(?:INFO|WARNING|ERROR|DEBUG|\[|\$|>)"
)
VERSION = re.compile(r"\d{1,4}(?:\.\d{1,6}){1,3}")
TAG = re.compile(r"</?[a-z][^<>]{0,60}>")
PREAMBLE = re.compile(
    r"\s{0,8}(?:(?:Traffic request rate|Burstiness factor|Max(?:imum)? request concurrency): |(?:tip|hint): )",
    re.IGNORECASE,
)
ADVICE = re.compile(  # of a program: 'WARNING: for the old behaviour, include --temperature=0'
    r"\s{0,8}(?:\(\w{1,40} pid=\d{1,9}\) )?\[?(?:WARN(?:ING)?|INFO|ERROR|DEBUG|DEPRECAT\w+|NOTE|TIP|HINT)\b",
    re.IGNORECASE,
)
PROSE = re.compile(r"(?<!\S)(?:no|the|is|are|was|with|and|of|that|which|has|does|sets|by|in)(?!\S)")
BARRED = re.compile(r"\s{0,8}[=─-]{3,60} {1,4}(?P<words>\w[^=─]{0,20}.{0,140}?) {1,4}[=─-]{3,60}\s{0,8}")
TITLE = re.compile(
    r"^[ \t]{0,8}(?:#{1,6} (?P<words>[^\n]{1,200})|(?P<bold>\*\*[^\n]{1,200}\*\*:?)"
    r"|(?P<label>[^\n]{1,200}:))[ \t]{0,8}$",
    re.MULTILINE,
)
LABEL = re.compile(
    r"(?:\A|\n[ \t]{0,8}\n)(?P<words>\S[^\n]{0,199})(?=\n *[A-Za-z])"
)  # right above, a blank line before
BULLET = re.compile(r"^[-*•] {1,4}")
BOX = re.compile(r"\s{0,12}(?:\?{3}\+?|!{3}) {1,4}\w{1,20}(?: {1,4}\"(?P<title>[^\"]{0,120})\")?\s{0,8}")  # of MkDocs
TITLE_OF_ANY_BOX = re.compile(
    r"\b(?:results?|outputs?|logs?|scripts?|commands?|details?|summary|benchmarks?|click|expand|show)\b", re.IGNORECASE
)
MAX_LINES_ABOVE = 24
MAX_HEADING_CHARS = 80
FLAG = re.compile(r"(?<!\S)-{1,2}(?P<name>[A-Za-z][\w-]{0,40})(?:(?:=| {1,8})(?P<value>[^\s\\-][^\s\\]{0,300}))?")
PLACEHOLDER = re.compile(r"[A-Z]|\$\{?\w{1,60}\}?|<[\w -]{1,60}>|\{\w{1,60}\}")  # of a command's template
MAX_COMMAND_LINES = 60
MAX_LINE_CHARS = 4_000
STAMP = re.compile(r"\s{0,12}\[?(?P<date>20\d\d-\d\d-\d\d)[ T:](?P<time>\d\d:\d\d:\d\d)\b(?!\.?\d{0,9}(?:Z|[+-]\d))")
MAX_LINES_TO_TIME = 200
MODEL_LINE = re.compile(r"\s{0,8}model(?:[ _]?(?:name|id))? ?[:=] {0,12}(?P<model>[\w./:@+-]{2,80})\s*", re.IGNORECASE)
MODEL_FLAGS = ("model", "model_path", "m")
SERVER = re.compile(
    r"\bsglang\.launch_server\b|\bsglang serve\b|\bvllm serve\b|\bvllm\.entrypoints\.openai\.api_server\b"
    r"|\bllama-server\b|\btrtllm-serve\b"
)
POSITIONAL_MODEL = re.compile(r"\s{1,8}(?:serve\s{1,8})?(?P<model>[\w./][^\s\\]{0,300})")


class BenchmarkCommand(NamedTuple):
    """A benchmark's command: the words that call it, the words behind them, and its flags with underscores."""

    program: str
    words: str
    flags: Mapping[str, str]

    def values(self, names: Iterable[str]) -> dict[str, JsonValue]:
        """Return these flags, numbers as numbers."""
        return {name: number_or_text(self.flags[name]) for name in names if name in self.flags}


class PrintedBlock(NamedTuple):
    """Lines that a tool printed, the command above them, and their heading."""

    lines: Sequence[str]
    command: BenchmarkCommand
    heading: str | None


NO_COMMAND = BenchmarkCommand("", "", {})


def heading_above(lines: Sequence[str], start: int, end_above: int = 0) -> str | None:
    """Return the short line of words above the block that begins at `start`, below the block that ends above it.

    The command that printed the block may stand between, and titles of boxes ('??? info "Benchmark result"').
    """
    for line in reversed(lines[max(end_above, start - MAX_LINES_ABOVE) : start]):
        if barred := BARRED.fullmatch(line[:MAX_LINE_CHARS]):
            return barred["words"].strip()[:MAX_HEADING_CHARS]
        box = BOX.fullmatch(line[:MAX_LINE_CHARS])
        if box and box["title"] and not TITLE_OF_ANY_BOX.search(box["title"]):
            return box["title"][:MAX_HEADING_CHARS]
        is_skipped = not TAG.sub("", line).strip(" \t=") or FENCE.fullmatch(line[:40]) or PROGRESS_BAR in line
        starts_server = SERVER.search(line[:MAX_LINE_CHARS]) and FLAG.search(line[:MAX_LINE_CHARS])  # '-tp 2'
        is_command = (starts_server or COMMAND_LINE.match(line[:MAX_LINE_CHARS])) and not COMMENT.match(line)
        if box or is_skipped or is_command or PREAMBLE.match(line):
            continue
        heading = TAG.sub("", BULLET.sub("", line.strip())).strip("#*:`\"' ")
        is_name = any(map(str.isalpha, heading)) or VERSION.fullmatch(heading) is not None
        is_heading = 0 < len(heading) <= MAX_HEADING_CHARS and is_name
        is_heading &= not heading.endswith("?")  # of the person who asks about the block
        return heading if is_heading and not NO_HEADING.search(heading) else None
    return None


def drop_words_of_answers(loads: Sequence[LoadBuilder], content: str) -> None:
    """Take away the headings that are no titles: the line above the timings of an answer is the answer's last."""
    titles = {
        TAG.sub("", BULLET.sub("", (title["words"] or title["bold"] or title["label"]).strip())).strip("#*:`\"' ")
        for title in TITLE.finditer(content)
    }
    titles |= {label["words"].strip("#*:`\"' ") for label in LABEL.finditer(content)}
    for load in loads:
        if load.params.get("heading") not in titles:
            load.params.pop("heading", None)


def heading_params(lines: Sequence[str], start: int, end_above: int = 0) -> dict[str, JsonValue]:
    """Return the heading above a block as a parameter of its load."""
    heading = heading_above(lines, start, end_above)
    return {"heading": heading} if heading else {}


def command_among(lines: Sequence[str], program: re.Pattern[str]) -> BenchmarkCommand | None:
    """Return the last command among the lines that calls the program, with the lines that continue it."""
    start = next((i for i in range(len(lines) - 1, -1, -1) if _calls(lines[i][:MAX_LINE_CHARS], program)), None)
    if start is None:
        return None
    parts = [lines[start][:MAX_LINE_CHARS]]
    for line in lines[start + 1 : start + MAX_COMMAND_LINES]:
        if not (parts[-1].rstrip().endswith("\\") or line.lstrip().startswith("--")):
            break
        parts.append(line[:MAX_LINE_CHARS])
    command_line = " ".join(part.rstrip().rstrip("\\") for part in parts)
    match = program.search(command_line)
    words = command_line[match.end() :] if match else ""  # before them stands what starts it: 'python -m'
    values = {
        flag["name"].replace("-", "_"): flag["value"].strip("\"'`,)") for flag in FLAG.finditer(words) if flag["value"]
    }
    flags = {name: value for name, value in values.items() if not PLACEHOLDER.fullmatch(value)}
    return BenchmarkCommand(match[0] if match else "", words, flags)


def _calls(line: str, program: re.Pattern[str]) -> bool:
    """Return whether a line calls a program; advice and sentences name it with flags, too."""
    match = program.search(line)
    if match is None or ADVICE.match(line):
        return False
    words = line[match.end() :]
    flag = FLAG.search(words)
    return PROSE.search(words[: flag.start()] if flag else words) is None


def read_blocks(
    content: str,
    find_blocks: Callable[[Sequence[str]], Iterable[tuple[int, int]]],
    program: re.Pattern[str],
    build: Callable[[PrintedBlock, Ticket, int], LoadBuilder],
    ticket: Ticket,
    first_number: int,
) -> tuple[list[LoadBuilder], str]:
    """Return a load for each block of a text, and the text with their lines left empty.

    A command counts for all blocks below it, up to the next command. `build` makes a load of its block and number.
    """
    lines = content.splitlines()
    limits = list(find_blocks(lines))
    loads: list[LoadBuilder] = []
    command, heading, model, end_above = NO_COMMAND, None, None, 0
    for number, (start, end) in enumerate(limits, first_number):
        command = command_among(lines[end_above:start], program) or command
        is_next = 0 < end_above == start  # right below another block: both have its heading
        heading = heading if is_next else heading_above(lines, start, end_above)
        block = PrintedBlock(lines[start:end], command, heading)
        load = build(block, ticket, number)
        load.params |= {"heading": block.heading} if block.heading and "heading" not in load.params else {}
        model = _model_among(lines[end_above:start]) or model
        load.model = load.model or model
        load.ts = _time_above(lines[end_above:start]) or load.ts
        load.line = start + 1
        loads.append(load)
        end_above = end
    return loads, without_blocks(lines, limits)


def _model_among(lines: Sequence[str]) -> str | None:
    """Return the model that the last of the lines which names one alone names: 'model_name = acme:7b'."""
    matches = (MODEL_LINE.fullmatch(line) for line in reversed(lines) if len(line) <= MAX_HEADING_CHARS)
    return next((match["model"] for match in matches if match), None)


def _time_above(lines: Sequence[str]) -> datetime | None:
    """Return the time of the last message of a log above a block; it has no time zone: this machine's is assumed."""
    match = next((match for line in reversed(lines[-MAX_LINES_TO_TIME:]) if (match := STAMP.match(line))), None)
    try:
        return datetime.fromisoformat(f"{match['date']}T{match['time']}").astimezone(UTC) if match else None
    except ValueError:
        return None


def blocks_among(
    lines: Sequence[str], is_opening: Callable[[str], bool], is_following: Callable[[str], bool]
) -> Iterator[tuple[int, int]]:
    """Yield the blocks that begin with an opening line and go on while lines follow."""
    index = 0
    while index < len(lines):
        end = index + 1
        if is_opening(lines[index]):
            while end < len(lines) and is_following(lines[end]):
                end += 1
            yield index, end
        index = end


def without_blocks(lines: Sequence[str], blocks: Iterable[tuple[int, int]]) -> str:
    """Return the text with the lines of blocks left empty; a block is its first line and the line behind its last."""
    remaining_lines = list(lines)
    for start, end in blocks:
        remaining_lines[start:end] = [""] * (end - start)
    return "\n".join(remaining_lines)


def model_of(command: BenchmarkCommand) -> str | None:
    """Return the model that a benchmark's command names."""
    return next((command.flags[name] for name in MODEL_FLAGS if name in command.flags), None)


def served_model(lines: Sequence[str]) -> str | None:
    """Return the model of the last command among the lines that starts a server."""
    command = command_among(lines, SERVER)
    if command is None or model_of(command):
        return model_of(command) if command else None
    match = POSITIONAL_MODEL.match(command.words)
    model = match["model"].strip("\"'") if match else ""
    return model if model and not PLACEHOLDER.fullmatch(model) else None


def shape_of(prompt_tokens: int | None, output_tokens: int | None) -> str:
    """Return the beginning of a point's name: 'pp512 tg128 ', or nothing if a length is unknown."""
    return f"pp{prompt_tokens} tg{output_tokens} " if prompt_tokens and output_tokens else ""

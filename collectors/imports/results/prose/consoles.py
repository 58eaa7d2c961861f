"""Finds what a pasted console says of the lines below: the command that printed them, and the level of their load."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from engines import ENGINES

FENCE = "```"
MAX_COMMANDS = 40
MAX_COMMAND_CHARS = 4_000  # with the lines that continue it
MAX_COMMAND_LINES = 60
MAX_LABEL_CHARS = 80
WORDS_OF_PROSE, WIDTH_OF_PROSE = 4, 60
END_OF_PROSE = tuple(".!?:,;")
_PROMPT = re.compile(
    r"\s{0,4}(?:\([\w.-]{1,30}\) )?(?:[\w.-]{1,40}@[\w.-]{1,60}[: ][^\s$#]{0,80}[$#]"
    r"|\[[\w.-]{1,40}@[^\]]{1,80}\][$#]|\$|PS [^>]{1,80}>) "
)
_WEAK_PROMPT = re.compile(  # only before a known program
    r"\s{0,8}(?:[+%!❯➜] ?|[\w.-]{1,40}@[\w.-]{1,60} [^\s%]{1,80} % |[A-Z]:\\[^>\s]{0,80}> ?)?`?"
)
_PROGRAM = re.compile(
    r"(?:[A-Z_][A-Z\d_]{0,40}=\S{1,80} )*(?:(?:sudo|time|nohup|uv run) )?(?:\.{1,2}/|~/|/)?(?:[\w.-]{1,40}/){0,9}"
    rf"(?P<name>python[\d.]{{0,4}}|(?:{'|'.join(engine.name for engine in ENGINES)})(?:-\w{{1,20}})?"
    r"|llama-[\w-]{1,40}(?:\.exe)?|mlx_lm[\w.]{0,20}|aiperf|genai-perf"
    r"|guidellm|evalscope|lm_eval|ollama|lms|lmdeploy|torchrun|docker|k6|wrk|oha|hey|ab|autocannon|vegeta|locust)"
    r"(?= .{0,4000}(?:(?<=\s)--?[A-Za-z]|\\$))"
)
_MODULE = re.compile(r"\s-m (?P<module>[\w.]{1,80})|(?P<script>[\w./-]{1,120}\.py)\b")
_SUBCOMMANDS = re.compile(r"[ \w.-]{0,60}?(?= \S{0,99}[\d/:.]| -)")
_OPTION = re.compile(r"--?[A-Za-z][\w.-]{0,60}(?:[= ] {0,4}[^\s-]\S{0,200})?|\S{1,300}")
FLAGS = re.compile(
    r"\s{0,8}[`*]{0,4}(?P<flags>--?[A-Za-z][\w-]{0,60}(?:[= ][^\s`*:-][^\s`*:]{0,80})?"
    r"(?: {1,4}--?[A-Za-z][\w-]{0,60}(?:[= ][^\s`*:-][^\s`*:]{0,80})?){0,12})[`*]{0,4}:?[`*]{0,4}\s{0,8}"
)
_REMARK = re.compile(  # of a script between the outputs of what it runs
    r"\s{0,8}(?:#{1,20} {1,4}(?![!#])|// {1,4}|>{2,4} {1,4}|\*{3,20} {1,4}|(?=(?:Running|Testing|Benchmarking) ))"
    r"(?P<words>[A-Za-z\d~+-][^#*{};|\\]{0,79}?) {0,4}[#*.<]{0,20}\s{0,8}"
    r"|\s{0,8}\[(?P<bracketed>[A-Za-z][^\[\]|:]{0,60})\]\s{0,8}"
)
_UNDERLINE = re.compile(r"\s{0,8}(?:-{3,200}|={3,200})\s*")
_COLUMNS = re.compile(r"\S {2,}\S|[|=┃│:] {0,9}\d|[|=]{2}|^\w+_\w+: ")
_ITEM = re.compile(r"\s{0,8}(?:[-*+•]|\d{1,2}[.)]) ")
_FIGURE = re.compile(r"\d ?(?:ms|s|tok|t/s|%|it/s)")
_LEVEL = re.compile(
    r"\W{0,4}(?:max(?:imum)?[ _]|request[ _]){0,2}(?:concurrency|concurrent[ _](?:requests|users))\W{1,4}"
    r"(?P<level>\d{1,5})\b(?![.,]\d)[^.|]{0,80}",
    re.IGNORECASE,
)
LEVELS_OF_LOGS = {"info", "warning", "error", "debug"}
_FLAG_LINES, _REMARKS = "flags", "remarks"


class ConsoleContext(NamedTuple):
    """What stands above a line: the words of its command that others have not, and the level of its load."""

    command: str = ""
    level: str = ""


class _Words(NamedTuple):
    """What a line says of the lines below it: a call of a program, flags alone, or a remark; and its last line."""

    kind: str
    words: Sequence[str]
    end: int


def contexts_of(lines: Sequence[str]) -> Iterator[ConsoleContext]:
    """Yield the context of each line; a heading ends one, and a fence does unless only commands stood above it."""
    labels = _labels_of(lines)
    current: dict[str, str] = {}
    level, end, has_output, is_code = "", 0, False, False
    for index, line in enumerate(lines):
        is_fence = line.lstrip()[:3] == FENCE
        is_code ^= is_fence
        if is_fence or (line.startswith("#") and not is_code):
            level = ""
            current.pop(_REMARKS, None)
            current = {} if has_output or not is_fence else current
        if index in labels:
            kind, label, end = labels[index]
            current |= {kind: label}
            level, has_output = "" if kind != _REMARKS else level, False
        elif index >= end and line.strip() and not is_fence:
            has_output |= is_code
        if (match := _LEVEL.fullmatch(line.strip())) and "|" not in line:
            level = f"concurrency {match['level']}"
        yield ConsoleContext(", ".join(filter(None, current.values()))[:MAX_LABEL_CHARS], level)


def _labels_of(lines: Sequence[str]) -> dict[int, tuple[str, str, int]]:
    """Return kind, label and end of the lines that tell apart what is below them.

    A kind counts only if something stands between any two of them: the commands of a list are not those of outputs.
    """
    by_kind: dict[str, dict[int, _Words]] = defaultdict(dict)
    for index, words in _words_of(lines).items():
        by_kind[words.kind][index] = words
    labels: dict[int, tuple[str, str, int]] = {}
    for kind, words_by_line in by_kind.items():
        if not 1 < len(words_by_line) <= MAX_COMMANDS or not _has_outputs_between(lines, words_by_line):
            continue
        shared = set.intersection(*(set(words.words) for words in words_by_line.values()))
        for index, words in words_by_line.items():
            label = " ".join(word for word in words.words if word not in shared)
            labels[index] = (kind, label[:MAX_LABEL_CHARS], words.end)
    return labels


def _has_outputs_between(lines: Sequence[str], words_by_line: Mapping[int, _Words]) -> bool:
    """Return whether lines that are neither empty nor a fence stand between any two."""
    starts = sorted(words_by_line)
    return all(
        any(line.strip(" \t`") for line in lines[words_by_line[start].end : following])
        for start, following in pairwise(starts)
    )


def _words_of(lines: Sequence[str]) -> dict[int, _Words]:
    """Return the lines that call a program, that have flags alone, or that are remarks within code."""
    words_by_line: dict[int, _Words] = {}
    is_code, end = False, 0
    for index, line in enumerate(lines):
        is_code ^= line.lstrip()[:3] == FENCE
        if index < end or len(line) > MAX_COMMAND_CHARS or not line.strip():
            continue
        words = _command_at(lines, index, is_code) or _flags_at(line, index)
        words = words or (_remark_at(lines, index) if is_code else None)
        if words:
            words_by_line[index], end = words, words.end
    return words_by_line


def _command_at(lines: Sequence[str], index: int, is_code: bool) -> _Words | None:
    """Return the command that begins on a line, with the lines that continue it."""
    line = lines[index]
    prompt = _PROMPT.match(line) or _WEAK_PROMPT.match(line)
    call = line[prompt.end() :] if prompt else line
    program = _PROGRAM.match(call)
    is_quoted = line.strip()[:1] == line.strip()[-1:] == "`"
    is_called = program is not None and (is_code or is_quoted or line.rstrip()[-1:] not in ".:?!,")
    if not is_called and not _PROMPT.match(line):
        return None
    end = index + 1
    while end < len(lines) and end - index < MAX_COMMAND_LINES and lines[end - 1].rstrip()[-1:] in ("\\", "^"):
        end += 1
    words = " ".join([call.strip(" `\\^"), *(line.strip(" `\\^") for line in lines[index + 1 : end])])[
        :MAX_COMMAND_CHARS
    ]
    module = _MODULE.search(words[:MAX_LABEL_CHARS]) if program and program["name"].startswith("python") else None
    subcommands = _SUBCOMMANDS.match(words[program.end() :]) if program else None
    kind = f"{program['name']}{subcommands[0] if subcommands else ''}" if program else words.partition(" ")[0]
    kind = (module["module"] or module["script"]) if module else kind
    return _Words(kind, _OPTION.findall(words), end)


def _flags_at(line: str, index: int) -> _Words | None:
    match = FLAGS.fullmatch(line) if line.lstrip(" `*")[:1] == "-" else None
    return _Words(_FLAG_LINES, [match["flags"]], index + 1) if match else None


def _remark_at(lines: Sequence[str], index: int) -> _Words | None:
    """Return the remark that a line is, or that it is by the line below it."""
    line = lines[index]
    below = lines[index + 1] if index + 1 < len(lines) else ""
    match = _REMARK.fullmatch(line[:200]) if len(line) < 200 else None
    words = (match["words"] or match["bracketed"]).strip() if match else ""
    if not words and 0 < len(line) <= MAX_LABEL_CHARS and line[0].isalnum() and _UNDERLINE.fullmatch(below[:210]):
        words = line.strip()
    is_remark = words and not _FIGURE.search(words) and words.lower() not in LEVELS_OF_LOGS and ": " not in words
    is_remark = is_remark and words[-1:] != ":" and "warm" not in words.lower() and _is_above_output(lines, index + 1)
    return _Words(_REMARKS, [words], index + 1) if is_remark else None


def _is_above_output(lines: Sequence[str], index: int) -> bool:
    """Return whether the next line may be a command or what a tool printed: prose below a remark is of an answer."""
    following = range(index, min(index + 4, len(lines)))
    index_below = next((i for i in following if lines[i].strip() and not _UNDERLINE.fullmatch(lines[i][:210])), None)
    below = "" if index_below is None else lines[index_below].rstrip()
    is_ended = below[-1:] in END_OF_PROSE or len(below) > WIDTH_OF_PROSE
    is_ended &= below[:1].isascii() and (below[:1].isalnum() or _ITEM.match(below) is not None)
    is_ended &= not (_COLUMNS.search(below[:MAX_COMMAND_CHARS]) or _FIGURE.search(below[:MAX_COMMAND_CHARS]))
    is_prose = is_ended and len(below.split()) >= WORDS_OF_PROSE
    return not is_prose or (index_below is not None and _command_at(lines, index_below, is_code=True) is not None)

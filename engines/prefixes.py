"""Strips everything that precedes a log message, one prefix after another, in any order and depth.

Known: quotation marks, docker compose and pod names, RFC 3339, syslog and journald heads, Kubernetes CRI streams, Ray
and vLLM process names, ranks and stages, JSON records, and the record heads of the engines and of Python's logging.
"""

from __future__ import annotations

import json
import re
from calendar import isleap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import MAXYEAR, MINYEAR, UTC, datetime, timedelta, timezone
from functools import lru_cache

from domain import JsonValue

YEARLESS = 1904  # year of a stamp without one (vLLM's), a leap year so that every date exists
_MAX_PREFIXES = 12  # prefixes on one line
_GAP = " {1,8}"  # loggers align their levels

_STAMP = r"(?P<stamp>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)"
# Ray gives all workers one name: only the process id tells their ranks apart.
_PID = (
    r"\((?P<process>RayWorker\w{0,40} pid=\d+(?:, ip=[\w.:]+)?|[A-Za-z][^\r\n]{0,200}?(?=,? pid=\d))"
    r"(?:,? pid=\d+(?:, ip=[\w.:]+)?)?\)"
)
_LEVEL = r"(?P<level>DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL|FATAL|TRACE)"
_FILE = r"(?:\[[\w./<>-]+:\d+\]|\[\[[\w./<>-]+:\d+\]\([^()\s]{1,200}\)\]|[\w./<>-]+\.py:\d+\])"
_LOGGERS = r"(?:[a-z_][\w-]*(?:\.[\w-]+)+(?::\d+)?(?: - |: ))*"
_TRTLLM_HEAD = (
    r"(?:\[TRT-LLM\]~)?(?:\[(?P<rank>RANK \d+)\]~)?\[(?P<level>[A-Z])\](?:~\[\w{1,20}\]\[(?P<process>RANK \d+)\])?"
).replace("~", _GAP)
_VLLM_HEAD = rf"{_LEVEL}{_GAP}(?P<stamp>\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?){_GAP}{_FILE}"
# llama.cpp writes clock, level and message one after another: a logger that stamps each write parts them.
_LLAMACPP_LEVEL = r"(?P<level>[DIWE]) +(?=(?:slot|srv|que|cmn|init|main) |[a-z]\w*(?:::\w+)? *: )"

# Python draws the members of an exception group behind a margin.
_MARGIN = r"\| {1,8}(?=Traceback |File \"|assert |(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)\b)"

# Prefixes by the kind of character they start with; a record head (marked True) ends the search for glued records.
_BY_START: dict[str, tuple[tuple[re.Pattern[str], bool], ...]] = {
    "(": ((re.compile(rf"{_PID}:? ?"), False),),
    "[": (
        (re.compile(rf"\[{_STAMP}(?P<process>(?:{_GAP}[A-Z]+\d+)*)\] {{0,8}}"), True),
        (re.compile(r"\[(?P<clock>\d\d:\d\d:\d\d)(?P<process>(?: {1,8}[A-Z]+\d+)*)\] {0,8}"), True),
        (re.compile(rf"\[(?P<us_stamp>\d\d/\d\d/\d{{4}}-\d\d:\d\d:\d\d)\]{_GAP}{_TRTLLM_HEAD} {{0,8}}"), True),
        (re.compile(rf"(?=\[TRT-LLM\]){_TRTLLM_HEAD} {{0,8}}"), True),
        (re.compile(r"\[TensorRT-LLM\] *\[(?P<level>[A-Z]+)\] {0,8}"), True),
        (re.compile(r"\[(?P<rank>Stage-\d+|rank\d+|RANK \d+)\]:? ?"), False),
        (re.compile(rf"\[{_LEVEL}\] {{1,8}}"), True),
        (re.compile(r"\[[\w./<>-]{1,100}\.py:\d{1,6}\] (?=\S)"), False),  # the end of a record head that was cut
        # A task of a node; Open MPI names a process in the same way, in messages that it needs.
        (re.compile(r"\[[A-Za-z][\w-]{0,100}:\d{1,5}\]:? (?=\s*\S)(?!Signal|Failing|Assoc|\*|\[ ?\d|Caught)"), False),
        (re.compile(r"\[\d+,\d+\]<std(?:out|err|diag)>: ?"), False),
        (re.compile(r"\[pod/[\w./-]+\] |\[\d+\] (?=\S)"), False),
    ),
    "0": (
        (re.compile(r"\d{1,5}: (?=\s*\S)"), False),  # of srun and grep
        # A program that passes on what its server prints.
        (re.compile(r"\d{1,2}:\d\d[AP]M [A-Z]{3} (?:[^\r\n]{0,200}?: )?std(?:err|out) "), False),
        (re.compile(rf"{_STAMP} (?:stdout|stderr) [FP] "), False),
        (re.compile(rf"{_STAMP} \d{{1,9}} (?:kserve|uvicorn\.\w+) {_LEVEL}:? +(?:\[[^\]\r\n]{{1,200}}\] )?"), True),
        (re.compile(rf"{_STAMP}{_GAP}-{_GAP}[\w.<>-]+{_GAP}-{_GAP}{_LEVEL}{_GAP}-{_GAP}"), True),
        (re.compile(rf"{_STAMP}{_GAP}\|{_GAP}{_LEVEL} *\|{_GAP}[\w.:<>]+:\d+{_GAP}-{_GAP}"), True),
        (re.compile(rf"{_STAMP}(?:{_GAP}-)?{_GAP}\[?{_LEVEL}(?=[\]\s])(?! \d\d-\d\d )\]?(?: -)?\s*{_LOGGERS}"), True),
        (re.compile(rf"{_STAMP} (?:[\w.-]+ )?[\w./@-]+\[\d+\]: "), False),
        (re.compile(rf"{_STAMP}(?::| \|)? +"), False),
        (re.compile(r"(?P<go_stamp>\d{4}/\d\d/\d\d \d\d:\d\d:\d\d(?:\.\d{1,6})?) "), False),
        (re.compile(r"(?P<elapsed>\d{1,9}\.\d\d\.\d{3}\.\d{3}) +(?P<level>[A-Z]) "), True),
    ),
    ">": ((re.compile(r"(?:> ?){1,8}(?=\S)"), False),),  # a quotation of Markdown
    "▎": ((re.compile(r"▎ ?(?=\S)"), False),),
    "|": ((re.compile(_MARGIN), False),),
    "<": ((re.compile(rf"<\d+>1? ?(?:{_STAMP} \S+ \S+ \S+ \S+ (?:-|\[[^\]]*\]) )?"), False),),
    "A": (
        (re.compile(rf"{_VLLM_HEAD} {{0,8}}"), True),
        (re.compile(rf"{_LEVEL}:(?: {{2,}}| (?=\d|[A-Z]))"), True),
        (re.compile(r"(?P<syslog>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) [\w.-]+ [\w./@-]+(?:\[\d+\])?: "), False),
        (re.compile(rf"{_LEVEL}:[\w.-]+:"), True),
        (re.compile(_LLAMACPP_LEVEL), True),
        (re.compile(r"(?P<level>[IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ \S+?\] "), True),
        (re.compile(r"[\w.@-]+\s*\| ?"), False),
    ),
}
_HEADS = (
    rf"{_PID} (?:{_LEVEL}\b|\[)|{_VLLM_HEAD}|\[{_STAMP}(?: [A-Z]+\d+)*\] |(?<!\d)\d+\.\d\d(?:\.\d{{3}}){{2}} [A-Z] "
)
_GLUED = re.compile(re.sub(r"\?P<\w+>", "?:", _HEADS))
_ESCAPED = re.compile(r"\\.")
_QUOTES = ("'", '"')
_CLOCK = re.compile(r"[:.]\d\d[:.]\d\d")  # or a process, in every record's head: a cheaper search
# Terminals, pagers, syslog and pastes show an escape character in other ways, or lose it.
_SHOWN_ESCAPE = r"(?:\ufffd|\u241b|\^\[|#033|\\x1b|\\033|\\u001b)"
_ANSI = re.compile(
    rf"(?:\x1b|{_SHOWN_ESCAPE})\[[0-9;?]*[ -/]*[@-~]|"
    + r"\x1b[()][0-9A-B]|\x1b\][^\x07]*\x07|(?<!\w)\[(?:\d{1,3};)*\d{1,3}m"
)
_HAS_ANSI = re.compile(rf"\x1b|{_SHOWN_ESCAPE}\[|\[(?:\d;)?0m")
_MESSAGE_KEYS = ("message", "msg", "log", "MESSAGE", "textPayload", "text", "event")
_STAMP_KEYS = ("asctime", "timestamp", "@timestamp", "time", "ts")
_LEVEL_KEYS = ("levelname", "level", "severity")
_TRACE_KEYS = ("exc_info", "exc_text", "exception", "stack_info")


@dataclass(frozen=True, slots=True)
class StrippedText:
    """A message and the content of its prefixes; `is_record` if one was an engine's or logger's record head."""

    text: str
    stamp: datetime | None = None
    elapsed_s: float | None = None
    process: str | None = None
    level: str | None = None
    is_record: bool = False

    @property
    def is_multiline(self) -> bool:
        """Whether the message has several lines, which a JSON record allows."""
        return "\n" in self.text or "\r" in self.text


_EMPTY = StrippedText("")


def strip_prefixes(text: str, enclosing: StrippedText | None = None) -> StrippedText:
    """Strip every known prefix; of several stamps one with a zone counts, else the innermost.

    After a record head only another head, a process name or a margin is a prefix: the rest is the message.

    `enclosing`, the record that contains the text, provides what the prefixes do not state.
    """
    state = _PrefixStripper(text, enclosing)
    for _ in range(_MAX_PREFIXES):
        if not state.strip_one():
            break
    return state.result()


def strip_ansi(text: str) -> str:
    """Return the text without colours and cursor movements."""
    return _ANSI.sub("", text) if _HAS_ANSI.search(text) else text


def without_frame(text: str) -> str:
    """Return the text without the vertical lines and blanks of the window from which it was copied, as k9s draws it."""
    bare = text.lstrip(" ")
    return bare.strip("│┃").strip(" ") if bare[:1] in ("│", "┃") else text


def find_glued_records(text: str) -> list[int]:
    """Return where further records begin in a message: behind a print without an end of line, or in a bare paste.

    What stands in quotes is no record: an engine that logs its requests repeats what a client sent, quoted as Python
    and JSON do it.
    """
    if " pid=" not in text and not _CLOCK.search(text):
        return []
    starts, quotes, read_until = [], [0, 0], 0
    for match in _GLUED.finditer(text, 1):
        unescaped = _ESCAPED.sub("", text[read_until : match.start()])
        quotes = [count + unescaped.count(quote) for count, quote in zip(quotes, _QUOTES, strict=True)]
        read_until = match.start()
        if not any(count % 2 for count in quotes):  # none is open
            starts.append(match.start())
    return starts


class _PrefixStripper:
    def __init__(self, text: str, enclosing: StrippedText | None) -> None:
        self.text = text
        self.enclosing = enclosing or _EMPTY
        self.groups: dict[str, str] = {}
        self.stamp: datetime | None = self.enclosing.stamp
        self.elapsed_s: float | None = self.enclosing.elapsed_s
        self.is_record = False

    def strip_one(self) -> bool:
        first = self.text[:1]
        if first.isspace() or first in "\"'`":
            bare = self.text.lstrip(" \t\"'`")
            return self._cut(len(self.text) - len(bare)) if bare[:1] and self._matches(bare) else False
        if first == "{":
            return not self.is_record and self._strip_json()
        for pattern, is_record in _patterns_for(first):
            may_follow = is_record or first in "(|" or not self.is_record
            match = pattern.match(self.text) if may_follow else None
            if match and match.end():
                self._note(match.groupdict())
                self.is_record = self.is_record or is_record
                return self._cut(match.end())
        return False

    def _matches(self, text: str) -> bool:
        return any(p.match(text) for p, _ in _patterns_for(text[0]))

    def _cut(self, count: int) -> bool:
        self.text = self.text[count:]
        return count > 0

    def _note(self, groups: Mapping[str, str | None]) -> None:
        for key, value in groups.items():
            if value and value.strip():
                self.groups[key] = value.strip()
                if key in _STAMP_READERS:
                    self._set_stamp(_STAMP_READERS[key](value))

    def _set_stamp(self, stamp: datetime | None) -> None:
        outer = self.stamp
        if stamp is None or (outer is not None and outer.tzinfo is not None and stamp.tzinfo is None):
            return
        self.stamp = place_year(stamp, outer) if outer is not None and outer.year != YEARLESS else stamp

    def _strip_json(self) -> bool:
        record = _json_object(self.text)
        message = _first_text(record, _MESSAGE_KEYS)
        if message is None:
            return False
        groups = {"level": _first_text(record, _LEVEL_KEYS), "process": _first_text(record, ("processName",))}
        self._note(groups)
        self._set_stamp(read_stamp(_first_text(record, _STAMP_KEYS) or ""))
        ticks = record.get("time")
        if record.get("type") == "log" and isinstance(ticks, int):  # llama.cpp: microseconds since its start
            self.elapsed_s = ticks / 1e6
        trace = _first_text(record, _TRACE_KEYS)
        self.text = strip_ansi(message).strip("\r\n") + (f"\n{trace}" if trace else "")
        return True

    def result(self) -> StrippedText:
        elapsed = self.groups.get("elapsed")
        level = self.groups.get("level")
        return StrippedText(
            text=self.text,
            stamp=self.stamp,
            elapsed_s=_read_elapsed(elapsed) if elapsed else self.elapsed_s,
            process=self.groups.get("process") or self.groups.get("rank") or self.enclosing.process,
            level=level.upper() if level else self.enclosing.level,
            is_record=self.is_record,
        )


def _patterns_for(first: str) -> tuple[tuple[re.Pattern[str], bool], ...]:
    if first.isdigit():
        return _BY_START["0"]
    return _BY_START.get(first) or (_BY_START["A"] if first.isalpha() else ())


def _json_object(text: str) -> dict[str, JsonValue]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _first_text(record: Mapping[str, JsonValue], keys: tuple[str, ...]) -> str | None:
    return next((v for k in keys if isinstance(v := record.get(k), str) and v), None)


@lru_cache(maxsize=256)
def read_stamp(text: str) -> datetime | None:
    """Parse an ISO-like or vLLM ('MM-DD HH:MM:SS') stamp; aware if it states its zone; None if it is invalid."""
    match = _PARTS.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    micro = int((fraction or "0")[:6].ljust(6, "0"))
    try:
        naive = datetime(int(year or YEARLESS), int(month), int(day), int(hour), int(minute), int(second), micro)
    except ValueError:
        return None
    return naive.replace(tzinfo=_read_zone(zone)) if zone else naive


def read_yearless_stamp(text: str) -> datetime | None:
    """Parse 'MM-DD HH:MM:SS' like `read_stamp`, five times as fast."""
    try:
        return datetime.fromisoformat(f"{YEARLESS}-{text}")
    except ValueError:
        return None


_PARTS = re.compile(
    r"(?:(\d{4})-)?(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?$", re.ASCII
)


def _read_zone(zone: str) -> timezone:
    if zone in ("Z", "UTC"):
        return UTC
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return timezone((-1 if zone[0] == "-" else 1) * timedelta(minutes=min(minutes, 1439)))


def _read_us_stamp(text: str) -> datetime | None:
    return read_stamp(f"{text[6:10]}-{text[:2]}-{text[3:5]} {text[11:]}")


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _read_syslog(text: str) -> datetime | None:
    month = _MONTHS.index(text[:3]) + 1 if text[:3] in _MONTHS else 0
    return read_stamp(f"{month:02d}-{text[4:6].replace(' ', '0')} {text[7:]}")


_STAMP_READERS: dict[str, Callable[[str], datetime | None]] = {
    "stamp": read_stamp,
    "us_stamp": _read_us_stamp,
    "go_stamp": lambda text: read_stamp(text.replace("/", "-")),
    "syslog": _read_syslog,
}


def _read_elapsed(text: str) -> float:
    minutes, seconds, millis, micros = (int(part) for part in text.split("."))
    return minutes * 60 + seconds + millis / 1e3 + micros / 1e6


def place_year(stamp: datetime, near: datetime) -> datetime:
    """Return a stamp without a year in the year closest to `near`, in `near`'s zone; other stamps unchanged."""
    if stamp.year != YEARLESS:
        return stamp
    local = near.replace(tzinfo=None)
    years = (year for year in (local.year, local.year - 1, local.year + 1) if MINYEAR <= year <= MAXYEAR)
    return min((_in_year(stamp, year) for year in years), key=lambda c: abs(c - local)).replace(tzinfo=near.tzinfo)


def _in_year(stamp: datetime, year: int) -> datetime:
    day = 28 if (stamp.month, stamp.day) == (2, 29) and not isleap(year) else stamp.day
    return stamp.replace(year=year, day=day, tzinfo=None)

"""The frame: what is a line, what stands before its message, and that neither depends on how the bytes came."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engines.base import ParsedLine
from engines.line_filter import LineFilter, Routine
from engines.lines import KEPT_BYTES, LineSplitter, _read_with_prefixes, read_plain
from engines.prefixes import YEARLESS, place_year, read_stamp, strip_prefixes

MESSAGE = "Engine 000: Avg prompt throughput: 1.0 tokens/s"
HEAD = "(APIServer pid=7) INFO 05-20 01:43:25 [loggers.py:259] "
RECORD = HEAD + MESSAGE
INNER = datetime(YEARLESS, 5, 20, 1, 43, 25)
OUTER = datetime(2026, 5, 20, 1, 43, 25, 123456, tzinfo=UTC)

PREFIXED = {
    "nothing": (RECORD, INNER, "APIServer"),
    "ANSI": ("\x1b[1;36m(APIServer pid=7)\x1b[0;0m " + RECORD.split(") ", 1)[1], INNER, "APIServer"),
    "ANSI that lost its ESC": ("[1;36m(APIServer pid=7)[0;0m " + RECORD.split(") ", 1)[1], INNER, "APIServer"),
    **{
        f"ANSI shown as {text}": (
            f"{text}[1;36m(APIServer pid=7){text}[0;0m " + RECORD.split(") ", 1)[1],
            INNER,
            "APIServer",
        )
        for text in ("\ufffd", "\u241b", "^[", "#033", "\\x1b", "\\033", "\\u001b")
    },
    "no process": (RECORD.split(") ", 1)[1], INNER, None),
    "0.6, no bracket": (f"INFO 05-20 01:43:25 metrics.py:449] {MESSAGE}", INNER, None),
    "DEBUG prints a path": (f"DEBUG 05-20 01:43:25 [v1/metrics/loggers.py:271] {MESSAGE}", INNER, None),
    "0.9, worker with rank": (
        f"(VllmWorker rank=1 pid=7) INFO 05-20 01:43:25 [a.py:1] {MESSAGE}",
        INNER,
        "VllmWorker rank=1",
    ),
    "cut in its head": ("[loggers.py:259] " + MESSAGE, None, None),
    "quoted": (f"> {RECORD}", INNER, "APIServer"),
    "quoted twice": (f">> {RECORD}", INNER, "APIServer"),
    "quoted in a chat": (f"▎ {RECORD}", INNER, "APIServer"),
    "logging prefix": (f"node-3: {RECORD}", INNER, "APIServer"),
    "window": (f"│ {RECORD}        │", INNER, "APIServer"),
    "srun": (f"3: {MESSAGE}", None, None),
    "a task of a node": (f"[gpu-01:3] {MESSAGE}", None, None),
    "stage": (f"(EngineCore_DP0 pid=7) [Stage-0] INFO 05-20 01:43:25 [a.py:1] {MESSAGE}", INNER, "EngineCore_DP0"),
    "Ray": (f"(RayWorkerWrapper pid=99, ip=10.0.0.2) {RECORD}", INNER, "APIServer"),
    "Ray, nested name": (
        f"(Map(Batch(Stage)) pid=20) INFO 05-20 01:43:25 [a.py:1] {MESSAGE}",
        INNER,
        "Map(Batch(Stage))",
    ),
    "compose": (f"vllm-gemma4-1  | {RECORD}", INNER, "APIServer"),
    "docker -t": (f"2026-05-20T01:43:25.123456789Z {RECORD}", OUTER, "APIServer"),
    "compose over docker -t": (f"vllm-1  | 2026-05-20T01:43:25.123456789Z {RECORD}", OUTER, "APIServer"),
    "Kubernetes CRI": (f"2026-05-20T01:43:25.123456789Z stderr F {RECORD}", OUTER, "APIServer"),
    "journald short": (f"May 20 01:43:25 gpu1 vllm[812]: {RECORD}", INNER, "APIServer"),
    "journald short-iso": (
        f"2026-05-20T03:43:25+0200 gpu1 vllm[812]: {RECORD}",
        datetime(2026, 5, 20, 3, 43, 25, tzinfo=timezone(timedelta(hours=2))),
        "APIServer",
    ),
    "syslog RFC 5424": (f"<34>1 2026-05-20T01:43:25.123456Z gpu1 vllm 812 - - {RECORD}", OUTER, "APIServer"),
    "an outer stamp lends its year": (f"2026-05-20 01:43:25 {RECORD}", datetime(2026, 5, 20, 1, 43, 25), "APIServer"),
    "docker json-file": (
        json.dumps({"log": RECORD + "\n", "stream": "stderr", "time": "2026-05-20T01:43:25.123456Z"}),
        OUTER,
        "APIServer",
    ),
    "vLLM's JSON formatter": (
        json.dumps(
            {"asctime": "2026-05-20 01:43:25", "levelname": "INFO", "processName": "APIServer", "message": MESSAGE}
        ),
        datetime(2026, 5, 20, 1, 43, 25),
        "APIServer",
    ),
    "any JSON": (json.dumps({"level": "info", "ts": "2026-05-20T01:43:25.123456Z", "msg": MESSAGE}), OUTER, None),
    "python logging": (
        f"2026-05-20 01:43:25,500 - INFO - loggers.py:457 - vllm.metrics: {MESSAGE}",
        datetime(2026, 5, 20, 1, 43, 25, 500000),
        None,
    ),
    "aligned levels": (f"INFO     05-20 01:43:25  [loggers.py:259]  {MESSAGE}", INNER, None),
    "aligned levels of Rust": (
        f"2026-05-20T01:43:25.123456Z  INFO {MESSAGE}",
        OUTER,
        None,
    ),
    "aligned levels of Rust, no zone": (f"2026-05-20 01:43:25  WARN {MESSAGE}", datetime(2026, 5, 20, 1, 43, 25), None),
    "aligned logging": (
        f"2026-05-20 01:43:25,500  -  vllm.metrics  -  INFO   -  {MESSAGE}",
        datetime(2026, 5, 20, 1, 43, 25, 500000),
        None,
    ),
    "aligned ranks": (f"[2026-05-20 01:43:25  TP0]  {MESSAGE}", datetime(2026, 5, 20, 1, 43, 25), "TP0"),
    "aligned TensorRT-LLM": (
        f"[05/20/2026-01:43:25]  [TRT-LLM]  [I]  {MESSAGE}",
        datetime(2026, 5, 20, 1, 43, 25),
        None,
    ),
    "TensorRT-LLM, rank behind a module": (f"[TRT-LLM] [I] [batchmgr][RANK 2] {MESSAGE}", None, "RANK 2"),
    "TensorRT-LLM without a stamp": (f"[TRT-LLM] [RANK 1] [E] {MESSAGE}", None, "RANK 1"),
    "srun --label": (f"3: [2026-05-20 01:43:25 TP0] {MESSAGE}", datetime(2026, 5, 20, 1, 43, 25), "TP0"),
    "mpirun --tag-output": (f"[1,3]<stderr>: {RECORD}", INNER, "APIServer"),
    "CRLF": (RECORD + "\r", INNER, "APIServer"),
    "no stamp at all": (MESSAGE, None, None),
}


def split(data: bytes, chunk: int | None = None, line_filter: LineFilter | None = None) -> list[ParsedLine]:
    splitter = LineSplitter(line_filter)
    size = chunk or max(len(data), 1)
    lines = [line for start in range(0, len(data), size) for line in splitter.feed(data[start : start + size])]
    return [*lines, *splitter.close()]


@pytest.mark.parametrize("name", PREFIXED)
def test_every_prefix_is_peeled(name: str) -> None:
    text, stamp, process = PREFIXED[name]
    line = split(text.encode() + b"\n")[-1]
    assert (line.text, line.stamp, line.process) == (MESSAGE, stamp, process)


def test_only_lf_ends_a_line() -> None:
    lines = split("one\rtwo\x0bthree\u2028four\x85\nnext".encode())
    assert [(line.number, line.offset) for line in lines[-1:]] == [
        (2, len("one\rtwo\x0bthree\u2028four\x85\n".encode()))
    ]
    assert {line.number for line in lines} == {1, 2}


def test_last_drawing_of_a_progress_bar_counts() -> None:
    shards = "Loading safetensors checkpoint shards:"
    lines = split(f"(EngineCore pid=3) \r{shards}  50% Completed | 1/2\r{shards} 100% Completed | 2/2\n".encode())
    assert [line.text for line in lines] == [f"{shards} 100% Completed | 2/2"]
    assert lines[0].process == "EngineCore"


def test_a_record_glued_behind_a_bar_is_found() -> None:
    lines = split(f"\r  0%|   | 0/67\r100%|██| 67/67 [00:03<00:00, 20it/s]{RECORD}\n".encode())
    assert [(line.number, line.text) for line in lines][-1] == (1, MESSAGE)
    assert lines[-1].process == "APIServer"


def test_a_record_before_a_bar_is_found() -> None:
    lines = split(f"{RECORD}\rCapturing CUDA graphs:  10%|█  | 1/10\rCapturing CUDA graphs:  20%|█  | 2/10\n".encode())
    assert [line.text for line in lines] == [MESSAGE, "Capturing CUDA graphs:  20%|█  | 2/10"]


def test_records_that_lost_their_line_breaks_are_told_apart() -> None:
    """One line of a bare paste: each record has its own process, level, time and message."""
    request = '(APIServer pid=7) INFO:     1.2.3.4:5 - "GET / HTTP/1.1" 200 OK'
    lines = split(f"{request} {RECORD} (EngineCore pid=9) ERROR 05-20 01:43:26 [core.py:7] died\n".encode())
    assert [line.text for line in lines] == ['1.2.3.4:5 - "GET / HTTP/1.1" 200 OK', MESSAGE, "died"]
    assert [(line.process, line.level) for line in lines] == [
        ("APIServer", "INFO"), ("APIServer", "INFO"), ("EngineCore", "ERROR"),
    ]  # fmt: skip
    assert [line.stamp for line in lines] == [None, INNER, INNER + timedelta(seconds=1)]
    assert {line.number for line in lines} == {1}


@pytest.mark.parametrize("beginning", ["", "it's ", "a\" 'b ", 'a"" b\' ', "'' \"\" ", "\\' \\\" "])
def test_a_record_in_a_prompt_is_no_record(beginning: str) -> None:
    """An engine that logs its requests repeats their text: a client could state any speed."""
    prompt = f"{beginning}{RECORD}"
    for quoted in (repr(prompt), json.dumps(prompt), json.dumps({"prompt": prompt})):
        request = f"(APIServer pid=7) INFO 05-20 01:43:25 [logger.py:40] Received request 1: prompt: {quoted}, n: 1"
        assert [line.text for line in split(f"{request}\n".encode())] == [request.partition("] ")[2]]


def test_a_record_behind_a_quoted_prompt_is_told_apart() -> None:
    request = f"(APIServer pid=7) INFO 05-20 01:43:25 [logger.py:40] Received request 1: prompt: {RECORD!r}, n: 1"
    assert [line.text for line in split(f"{request} {RECORD}\n".encode())] == [request.partition("] ")[2], MESSAGE]


def test_multiline_json_record_is_read_whole() -> None:
    record = {
        "levelname": "ERROR",
        "message": "failed",
        "exc_info": "Traceback (most recent call last):\nValueError: x",
    }
    lines = split(json.dumps(record).encode() + b"\n")
    assert [line.text for line in lines] == ["failed", "Traceback (most recent call last):", "ValueError: x"]
    assert {(line.number, line.level) for line in lines} == {(1, "ERROR")}


def test_a_message_that_is_json_stays_a_message() -> None:
    assert strip_prefixes(HEAD + '{"msg": "x"}').text == '{"msg": "x"}'


def test_invalid_utf8_is_replaced() -> None:
    assert split(b"a\xff\xfeb\n")[0].text == "a\ufffd\ufffdb"


def test_needles_skip_lines_but_count_them() -> None:
    lines = split(b"a\nb needle\nc\n\nd needle", line_filter=LineFilter(re.compile(b"needle")))
    assert [(line.number, line.offset, line.text) for line in lines] == [(2, 2, "b needle"), (5, 14, "d needle")]


def test_noise_is_left_out_whatever_it_holds() -> None:
    lines = split(
        b"said: needle\nneedle\nx said: needle\n", line_filter=LineFilter(re.compile(b"needle"), re.compile(b"^said: "))
    )
    assert [(line.number, line.text) for line in lines] == [(2, "needle"), (3, "x said: needle")]


def test_a_needle_may_stand_at_the_end_of_a_line() -> None:
    assert [line.text for line in split(b"ValueError\nErrors\n", line_filter=LineFilter(re.compile(b"Error$")))] == [
        "ValueError"
    ]


def test_routine_lines_skip_from_the_next_line() -> None:
    splitter = LineSplitter(LineFilter(routine=Routine(re.compile(b"^request"), re.compile(b"lost$"))))
    read = []
    for line in splitter.feed(b"request 1\nserving\nrequest 2\nrequest lost\na request\nend\nrequest 3\n"):
        read.append((line.number, line.text))
        splitter.skips_routine = line.text == "serving" or (splitter.skips_routine and line.text != "end")
    assert read == [
        (1, "request 1"),
        (2, "serving"),
        (4, "request lost"),
        (5, "a request"),
        (6, "end"),
        (7, "request 3"),
    ]


def test_of_a_huge_line_its_ends_are_kept() -> None:
    data = b"start" + b"x" * 10_000_000 + b"end\nnext\n"
    for chunk in (None, 65_537, 1_000_000):
        lines = split(data, chunk)
        assert [line.number for line in lines] == [1, 2]
        assert lines[0].raw.startswith("start") and lines[0].raw.endswith("end")
        assert len(lines[0].raw) < KEPT_BYTES + 10
        assert (lines[1].text, lines[1].offset) == ("next", len(data) - 5)


@pytest.mark.parametrize("chunk", [None, 1_000, 70_000])
def test_the_first_line_that_is_cut_is_known(chunk: int | None) -> None:
    longest = b"x" * KEPT_BYTES
    splitter = LineSplitter(LineFilter(re.compile(b"needle")))
    data = b"short\n" + longest + b"\ny" + longest + b"\nz" + longest + b"\n"
    for start in range(0, len(data), chunk or len(data)):
        list(splitter.feed(data[start : start + (chunk or len(data))]))
    assert splitter.first_truncated == (3, 7 + KEPT_BYTES)


PARTS = st.one_of(
    st.sampled_from([text.encode() for text, _, _ in PREFIXED.values()]),
    st.sampled_from([b"\n", b"\r", b"\r\n", b"{", b"}", b"(", b"\x1b[0m", b"[0;0m", b"INFO 05-20 01:43:25 [a.py:1] "]),
    st.binary(max_size=20),
)


@given(st.lists(PARTS, max_size=12).map(b"".join), st.integers(1, 40))
def test_cut_anywhere_gives_the_same_lines(data: bytes, chunk: int) -> None:
    assert split(data, chunk) == split(data)


@given(st.lists(PARTS, max_size=4).map(lambda parts: b"".join(parts).replace(b"\n", b"")))
@example(b"INFO 05-20 01:43:25 [a.py:1] a | b")
@example(b"INFO 05-20 01:43:25 [a.py:1] WARNING:vllm:x")
@example(b"INFO 05-20 01:43:25 [a.py:1] aINFO 05-20 01:43:25 b.py:1] c")
def test_short_cut_reads_like_the_full_path(raw: bytes) -> None:
    text = raw.decode("utf-8", "replace").rstrip("\r")
    plain = read_plain(text, 1, 0)
    if plain is not None:
        assert [plain] == list(_read_with_prefixes(text, 1, 0))


@pytest.mark.parametrize(
    ("stamp", "near", "year"),
    [
        ("12-31 23:59:59", datetime(2027, 1, 1, tzinfo=UTC), 2026),
        ("01-01 00:00:10", datetime(2026, 12, 31, 23, tzinfo=UTC), 2027),
    ],
)
def test_a_stamp_without_a_year_gets_the_nearest(stamp: str, near: datetime, year: int) -> None:
    placed = place_year(read_stamp(stamp), near)
    assert (placed.year, placed.tzinfo) == (year, UTC)


def test_the_leap_day_has_a_place_in_every_year() -> None:
    assert place_year(read_stamp("02-29 10:00:00"), datetime(2027, 3, 1)).date().isoformat() == "2027-02-28"

"""Streams that loop are told while they do, with the word since which."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.runs.collapse import find_collapse
from tests.workloads.servers import DONE, HEAD, Script, chunk, read_request, serving, text_event
from web.loads.panels.workload_panel import looping
from workloads.job import LoadJob, LoadProgress
from workloads.process.loop_watch import CHECK_EVERY_PIECES, MAX_PER_TICK, TAIL_CHARS, LoopWatch, WatchedStream
from workloads.process.start import run_job
from workloads.requests.answer_stream import StreamReading

pytestmark = pytest.mark.wide

LOOP = "the driver takes the last lap "


def prose(words: int, seed: int = 1) -> str:
    rng = random.Random(seed)
    return " ".join(f"{rng.choice(('lap', 'pit', 'gap', 'box'))}{rng.randrange(10_000)}" for _ in range(words)) + " "


def watched(text: str, piece: int = 40) -> WatchedStream:
    """Looked at each time that a piece had come."""
    watched_stream = WatchedStream(StreamReading(), 0.0)
    for at in range(0, len(text), piece):
        watched_stream.reading.text.append(text[at : at + piece])
        watched_stream.check(float(at))
    return watched_stream


@pytest.mark.parametrize("before", [0, 10, 400, 3000])
@pytest.mark.parametrize("piece", [7, 400])
def test_loop_start_matches_the_record(before: int, piece: int) -> None:
    text = prose(before) + LOOP * 60
    onset = watched(text, piece).onset_word
    collapse = find_collapse(text)
    assert collapse.verdict == "collapsed" and onset is not None and collapse.onset_word is not None
    assert abs(onset - collapse.onset_word) <= 6, "a period at most, by where a look fell"


def test_prose_and_code_do_not_loop() -> None:
    assert watched(prose(3000)).onset_word is None
    code = "```json\n" + '{"lap": 1}, {"lap": 2}, {"gap": 3}\n' * 3 + prose(2000) + "\n```\n"
    assert watched(code).onset_word is None
    assert watched(LOOP * 60 + prose(800)).onset_word is None


def test_what_is_kept_of_a_text_is_bounded() -> None:
    one = watched("x" * 200_000, 1000)
    assert len(one.tail) <= TAIL_CHARS
    fenced = watched("```\n" + prose(3000), 1000)
    assert fenced.is_fenced and not watched("```\n" + prose(30) + "\n```\n" + prose(3000), 1000).is_fenced


def test_tick_checks_few_longest_unseen_first() -> None:
    numbers: list[list[int]] = []

    async def run() -> list[int]:
        watch = LoopWatch(lambda onsets: numbers.append(list(onsets)))
        readings = [StreamReading() for _ in range(2 * MAX_PER_TICK)]
        opened = [watch.watching(reading) for reading in readings]
        for context in opened:
            context.__enter__()
        for reading in readings:
            reading.text += [LOOP] * CHECK_EVERY_PIECES
        counts = []
        for _ in range(3):
            await watch.check_due()
            counts.append(len(numbers[-1]))
        for context in opened:
            context.__exit__(None, None, None)
        await watch.check_due()
        return counts

    assert asyncio.run(run()) == [MAX_PER_TICK, 2 * MAX_PER_TICK, 2 * MAX_PER_TICK]
    assert numbers[-1] == [], "those that have ended loop no more"
    assert len(numbers) == 3, "told when it has changed, not at every look"


def test_progress_file_reports_during_stream(tmp_path: Path) -> None:
    job = LoadJob(
        run_id="r", base_url="http://x", model="m", workload="demo-stream", params={"requests": 1, "warmup_tokens": 1},
        out=tmp_path / "requests.jsonl", progress=tmp_path / "progress.json",
    )  # fmt: skip

    def read() -> LoadProgress:
        return LoadProgress.model_validate_json(job.progress.read_bytes())

    async def run() -> LoadProgress:
        async with serving(loops_until(lambda: read().looping == 1)) as base_url:
            await run_job(job.model_copy(update={"base_url": base_url}), None)
        return read()

    ended = asyncio.run(run())
    assert (ended.state, ended.looping, ended.looping_since_word) == ("done", 0, None)
    rows = [json.loads(line) for line in job.out.read_text().splitlines()]
    assert [row["extra"]["collapse"]["verdict"] for row in rows if "record" not in row] == ["none", "collapsed"]


def loops_until(is_seen: Callable[[], bool]) -> Script:
    """A fake that answers the warm-up at once, and repeats itself from then on until the loop has been told."""
    numbers = iter(range(100))

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(HEAD)
        if next(numbers):
            writer.write(b"".join(text_event(LOOP) for _ in range(100)))
            while not is_seen():
                writer.write(chunk(b": still here\n"))
                await writer.drain()
                await asyncio.sleep(0.05)
        writer.write(text_event(LOOP, "stop") + DONE)
        await writer.drain()

    return script


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (1, "**1 stream loops, since word 34**: fast, but repeated text"),
        (3, "**3 streams loop, the first since word 34**: fast, but repeated text"),
    ],
)
def test_the_bar_says_how_many_and_since_when(count: int, words: str) -> None:
    progress = LoadProgress(
        run_id="r", workload="ladder", state="running", total=9, looping=count, looping_since_word=34, updated_at=""
    )
    assert looping(progress) == words

"""Each workload against a real llama.cpp server, as small as can be."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from load_records import LoadPhase, SuiteCheck
from tests.demo_engine import DemoServer
from tests.workloads.test_runner import Job
from workloads.requests.records import parse_line

pytestmark = pytest.mark.engine
SMALL_GRID = {
    "prompt_tokens": [40, 90],
    "output_tokens": [8],
    "depth_tokens": [0, 60],
    "concurrency": [1],
    "repeats": 2,
}


def run(server: DemoServer, folder: Path, workload: str, **params: object) -> Job:
    job = Job(folder, server.base_url, workload=workload, params=params)
    assert job.run() == (0, "")
    assert [row.error_text for row in job.rows if row.error_kind] == []
    return job


def phases_of(job: Job) -> list[LoadPhase]:
    lines = map(parse_line, job.out.read_text().splitlines())
    return [line for line in lines if isinstance(line, LoadPhase)]


@pytest.mark.parametrize("endpoint", ["completions", "chat"])
def test_grid_prompts_have_the_requested_length(demo_server: DemoServer, tmp_path: Path, endpoint: str) -> None:
    job = run(demo_server, tmp_path, "grid", endpoint=endpoint, **SMALL_GRID)
    measured = [row for row in job.rows if row.phase == "measure"]
    assert {row.prompt_class for row in measured} == {
        f"pp{pp} tg8 d{depth}" for pp in (40, 90) for depth in (0, 60)
    }  # fmt: skip
    for row in measured:
        prompt_tokens = row.extra["prompt_tokens"] + row.extra["depth_tokens"]
        # With a context the two texts are joined by blank lines, and their seam may be cut otherwise.
        assert row.prompt_tokens == pytest.approx(prompt_tokens, abs=0 if not row.extra["depth_tokens"] else 8)
        assert row.completion_tokens == 8


def test_arriving_requests_are_sent_on_time(demo_server: DemoServer, tmp_path: Path) -> None:
    job = run(
        demo_server, tmp_path, "traffic", arrival="constant rate", rate_rps=20.0, requests=10,
        prompt_tokens=10, output_tokens=4, warmup_requests=0,
    )  # fmt: skip
    rows = sorted(job.rows, key=lambda row: row.sequence)
    assert [row.concurrency for row in rows] == [0] * 10
    for row in rows:  # never early; late by as much as a busy machine is
        assert row.since_phase_s >= row.sequence / 20 - 0.001
    (phase,) = phases_of(job)
    assert phase.client_cpu_s is not None
    assert 0 < phase.client_cpu_s < 60


@pytest.mark.long
def test_a_closed_loop_ends_after_its_time(demo_server: DemoServer, tmp_path: Path) -> None:
    job = run(
        demo_server, tmp_path, "traffic", concurrency=2, requests=20_000, duration_s=1.0,
        prompt_tokens=10, output_tokens=4, warmup_requests=0,
    )  # fmt: skip
    assert 2 <= len(job.rows) < 20_000
    assert max(row.since_phase_s for row in job.rows) < 1.0
    assert phases_of(job)[0].is_complete


@pytest.mark.wide
def test_the_knee_is_sought_until_a_limit_breaks(demo_server: DemoServer, tmp_path: Path) -> None:
    job = run(
        demo_server, tmp_path, "knee", ttft_p95_ms=0.001, lowest=2, requests_per_user=1,
        prompt_tokens=10, output_tokens=4,
    )  # fmt: skip
    assert [phase.concurrency for phase in phases_of(job)] == [1, 2, 1]  # warm-up, then 2 and below it 1
    job = run(
        demo_server, tmp_path, "knee", ttft_p95_ms=1e9, tpot_p95_ms=1e9, most=4, requests_per_user=1,
        prompt_tokens=10, output_tokens=4,
    )  # fmt: skip
    assert [phase.concurrency for phase in phases_of(job)][-3:] == [1, 2, 4]


def test_session_turns_reuse_their_prefix_cache(demo_server: DemoServer, tmp_path: Path) -> None:
    job = run(
        demo_server, tmp_path, "session", turns=3, context_tokens=300, output_tokens=8, send_tools=False,
    )  # fmt: skip
    rows = sorted(job.rows, key=lambda row: row.sequence)
    assert [row.prompt_class for row in rows] == ["turn 01", "turn 02", "turn 03"]
    assert all(earlier.sent_at < later.sent_at for earlier, later in pairwise(rows))
    tokens = [row.prompt_tokens for row in rows]
    assert tokens == sorted(set(tokens))
    assert (rows[2].extra["cached_prompt_tokens"] or 0) > 0


@pytest.mark.wide
def test_session_of_a_cold_start_has_its_own_cache_alone(demo_server: DemoServer, tmp_path: Path) -> None:
    params = {"turns": 2, "context_tokens": 200, "output_tokens": 4, "send_tools": False, "prefix_cache": "cold start"}
    cached: list[list[int]] = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        rows = sorted(run(demo_server, tmp_path / name, "session", **params).rows, key=lambda row: row.sequence)
        cached.append([row.extra["cached_prompt_tokens"] or 0 for row in rows])
    assert cached[1][0] < 20 < cached[1][1], cached


def test_a_cold_load_finds_nothing_cached(demo_server: DemoServer, tmp_path: Path) -> None:
    (tmp_path / "warm").mkdir()
    (tmp_path / "cold").mkdir()
    params = {"prompts": "The driver waits for the rain in the pit lane.\n" * 2, "output_tokens": 4}
    warm = run(demo_server, tmp_path / "warm", "own-prompts", **params)
    cold = run(demo_server, tmp_path / "cold", "own-prompts", prefix_cache="cold", **params)
    cached = [[row.extra["cached_prompt_tokens"] or 0 for row in job.rows][-1] for job in (warm, cold)]
    assert cached[0] > cached[1]
    assert warm.rows[-1].prompt_hash == cold.rows[-1].prompt_hash  # the words before it are not the prompt


def checks_of(job: Job) -> list[SuiteCheck]:
    lines = map(parse_line, job.out.read_text().splitlines())
    return [line for line in lines if isinstance(line, SuiteCheck)]


@pytest.mark.wide
def test_depth_keeps_its_prefix_cached_and_names_what_is_too_long(demo_server: DemoServer, tmp_path: Path) -> None:
    """A tiny model recalls nothing; what is seen is that it is judged, that its context ends, and what is computed."""
    job = Job(
        tmp_path, demo_server.base_url, workload="needles",
        params={"depth_tokens": [300, 20_000], "repeats": 1, "max_tokens": 16},
    )  # fmt: skip
    assert job.run() == (0, "")
    verdicts = {
        depth: {check.is_pass for check in checks_of(job) if check.depth_tokens == depth} for depth in (300, 20_000)
    }
    assert verdicts == {300: {False}, 20_000: {None}}
    assert all("context" in (check.why or "") for check in checks_of(job) if check.is_pass is None)
    answered = [row for row in job.rows if row.error_kind is None]
    computed = sum(row.prompt_tokens - (row.extra["cached_prompt_tokens"] or 0) for row in answered)
    least = max(row.prompt_tokens for row in answered) + 12 * 60  # the text once, and twelve more questions
    assert computed < 1.2 * least

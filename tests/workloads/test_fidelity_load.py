"""The workload 'fidelity' against a real llama.cpp server: positions, order, context length, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.exit_status import REFUSED
from load_records import GREEDY, NEXT_TOKEN, FidelityPosition, LoadPhase
from tests.demo_engine import DemoServer
from tests.workloads.test_runner import Job
from workloads import REGISTRY
from workloads.forecast import forecast
from workloads.requests.records import parse_line
from workloads.texts.reference_texts import KINDS, own_texts, shipped_texts

SMALL = {"texts": 4, "positions": 3, "depths": [512, 1536, 200_000], "greedy_tokens": 5}


def positions_of(job: Job) -> list[FidelityPosition]:
    lines = map(parse_line, job.out.read_text().splitlines())
    return [line for line in lines if isinstance(line, FidelityPosition)]


@pytest.mark.engine
def test_every_position_is_answered_from_a_warm_prefix(demo_server: DemoServer, tmp_path: Path) -> None:
    job = Job(tmp_path, demo_server.base_url, workload="fidelity", params=SMALL)
    assert job.run() == (0, "")
    positions = positions_of(job)
    next_tokens = [position for position in positions if position.part == NEXT_TOKEN]
    assert {position.depth_tokens for position in positions} == {512, 1536}  # the context is shorter than 200,000
    assert len(next_tokens) == 4 * 3 * 2
    assert {position.text_kind for position in positions} == set(KINDS)
    for position in next_tokens:
        assert len(position.token_ids) == len(position.logprobs) == 20
        assert position.logprobs == sorted(position.logprobs, reverse=True)
        assert position.cached_tokens is not None
        assert position.prefix_tokens - position.cached_tokens <= 1
    assert [len(position.token_ids) for position in positions if position.part == GREEDY] == [5] * 3
    computed = sum(row.prompt_tokens - row.extra["cached_prompt_tokens"] for row in job.rows)
    expected = forecast("fidelity", SMALL | {"depths": [512, 1536]}, 50.0).computed_prompt_tokens
    assert expected and computed < 1.2 * expected
    assert {row.phase for row in job.rows} == {"probe"}
    assert job.progress["done"] == job.progress["total"] == len(job.rows)


@pytest.mark.wide
@pytest.mark.engine
def test_same_server_and_texts_give_same_prefixes(demo_server: DemoServer, tmp_path: Path) -> None:
    hashes = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        job = Job(tmp_path / name, demo_server.base_url, workload="fidelity", params=SMALL | {"depths": [512]})
        assert job.run() == (0, "")
        hashes.append([position.prefix_hash for position in positions_of(job)])
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 4 * 3  # the greedy tokens follow the same prefix as the last position


def test_server_without_token_ids_is_refused_with_the_reason(tmp_path: Path) -> None:
    job = Job(tmp_path, "http://127.0.0.1:9", workload="fidelity", engine="trtllm", params={})
    status, errors = job.run()
    assert status == REFUSED
    assert (
        "Fidelity needs token ids and log-probabilities" in errors
        and "not from TensorRT-LLM: its API turns no text" in errors
    )
    assert not job.out.exists()


def test_form_says_what_it_will_take() -> None:
    default = forecast("fidelity", {}, 50.0)
    assert default.requests == 40 * (1 + 8) * 4 + 40
    assert default.computed_prompt_tokens == 100_000 - 512 + 640 * 40 * 4 + default.requests
    assert default.seconds < 180
    assert default.longest_tokens < 1000  # depths beyond the context are left out


def test_texts_are_ten_of_each_kind_or_the_users_own(tmp_path: Path) -> None:
    texts = shipped_texts()
    assert [text.kind for text in texts[:4]] == list(KINDS)
    assert {kind: sum(text.kind == kind for text in texts) for kind in KINDS} == dict.fromkeys(KINDS, 10)
    file = tmp_path / "mine.txt"
    file.write_text("too short\n" + "The driver waits for the rain. " * 20 + "\n")
    assert [text.name for text in own_texts(str(file))] == ["own 002"]
    (phase,) = REGISTRY["fidelity"].plan({"file": str(file), "depths": [512]})
    assert {request.probe.text.kind for request in phase.requests if request.probe} == {"own"}


@pytest.mark.engine
def test_phases_measure_no_speed(demo_server: DemoServer, tmp_path: Path) -> None:
    job = Job(tmp_path, demo_server.base_url, workload="fidelity", params=SMALL | {"depths": [512]})
    assert job.run() == (0, "")
    phases = [line for line in map(parse_line, job.out.read_text().splitlines()) if isinstance(line, LoadPhase)]
    assert [(phase.kind, phase.title) for phase in phases] == [("probe", "Depth 512")]
    assert not any('"record": "result"' in line for line in job.out.read_text().splitlines())

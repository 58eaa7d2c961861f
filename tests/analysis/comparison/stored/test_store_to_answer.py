"""From stored rows to the answer: loads come back as they were, repeats are offered, the terminal says the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from analysis.compare_arms import compare_arms
from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from analysis.evidence.objectives import parse_objective
from analysis.guard import RowCode
from analysis.verdict import VerdictAnswer
from cli.main import main
from domain import Config, Run, RunState, Speculation, WorkloadSpec
from reports.arms.comparison import ComparisonOptions, comparison_of, offered_repeats
from samples import Batch, HostSample
from settings import Settings
from storage.queries import load_queries
from storage.queries.run_queries import runs_of
from storage.store import Store
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, repeats

SMALL = {"tokens": 48, "repeats": 2}
WEIGHTS = {"files": 1, "bytes": 9, "sha256_of_headers": "h", "sha256_of_samples": "s"}
PROVENANCE = {
    "gpus": [],
    "model": {"name": "m", "files": {"config.json": {"sha256": "abc"}}, "weights": WEIGHTS},
    "package": "vllm 0.33.0",
}


def stored(store: Store, facts: RunFacts, k: int, offset_h: float = 0.0, **updates: Any) -> Run:
    """A run with the rows of its loads, finished; `k` drafts a step are its configuration."""
    spec = facts.loads[0].plan
    assert spec and facts.began_at
    began_at = facts.began_at + timedelta(days=1, hours=offset_h)  # never while another's requests were sent
    config = Config(
        engine="vllm",
        model="org/model",
        argv=("vllm", "serve", "org/model", "--port", str(8000 + int(facts.run_id[-3:]))),
        port=8000 + int(facts.run_id[-3:]),
        speculative=Speculation(method="ngram", num_tokens=k) if k else None,
    )
    run = Run(
        id=facts.run_id,
        name=f"k {k} #{facts.run_id[-2:]}",
        color=0,
        state=RunState.FINISHED,
        config=config,
        workload=WorkloadSpec(name=spec.workload, prompt_set_hash=spec.prompt_set_hash, params=spec.params),
        machine_id="m1",
        created_at=began_at,
        started_at=began_at,
        ready_at=began_at + timedelta(seconds=20),
        ended_at=began_at + timedelta(seconds=50),
        provenance=PROVENANCE,
    ).model_copy(update=updates)
    store.save_run(run)
    hosts = tuple(
        HostSample(run.id, T0 + timedelta(seconds=n), float(n), "m1", process_count=1) for n in range(0, 40, 5)
    )
    rows = [row for load in facts.loads for row in (load.plan, *load.phases, *load.requests, *load.counters) if row]
    store.write(Batch((*rows, *hosts))).result()
    return run


@pytest.fixture
def runs(store: Store) -> dict[str, list[RunFacts]]:
    """Two arms of three starts: plain, and drafts of 4 on a step that costs 10 % more."""
    rng = np.random.default_rng(21)
    plain, drafting = IdealEngine(0.02, start_sd=0.005), IdealEngine(0.022, drafts=4, start_sd=0.005)
    fields = {"plain": repeats(plain, "ladder", 3, rng, **SMALL), "k": repeats(drafting, "ladder", 3, rng, **SMALL)}
    for number, facts in enumerate(fields["plain"]):
        stored(store, facts, 0, number)
    for number, facts in enumerate(fields["k"]):
        stored(store, facts, 4, number + 10)
    return fields


def ids(runs: dict[str, list[RunFacts]]) -> list[str]:
    return [facts.run_id for side in runs.values() for facts in side]


def test_a_load_comes_back_as_it_was_written(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    facts = runs["k"][0]
    (told,) = load_queries.loads(store, [facts.run_id])[facts.run_id]
    load = facts.loads[0]
    assert (told.plan, told.phases, told.counters) == (load.plan, load.phases, load.counters)
    requests = [r for r in load.requests if r.concurrency > 1 and r.phase == "measure"]
    assert [r for r in told.requests if r.concurrency > 1 and r.phase == "measure"] == requests
    assert len(told.requests) == len(load.requests)


def test_answer_pieces_read_only_when_needed(
    store: Store, runs: dict[str, list[RunFacts]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are most of what one page reads of the up to 36 further runs that it looks at."""
    read: list[tuple[int, bool]] = []
    ask = load_queries.loads

    def noted(store: Store, run_ids: Sequence[str], with_pieces: bool = True) -> dict[str, list[LoadRecord]]:
        found = ask(store, run_ids, with_pieces)
        pieces = [r.chunk_us or r.chunk_tokens for loads in found.values() for load in loads for r in load.requests]
        read.append((len(run_ids), any(pieces)))
        return found

    monkeypatch.setattr("reports.arms.facts.load_queries.loads", noted)
    chosen_runs = runs_of(store, [runs["plain"][0].run_id, runs["k"][0].run_id])
    offered_repeats(
        store, chosen_runs, comparison_of(store, chosen_runs, ComparisonOptions(parse_objective("decode_tps")))
    )
    assert read == [(2, True), (4, False), (4, False)]
    read.clear()
    comparison_of(store, chosen_runs, ComparisonOptions(parse_objective("output_tps@8")))
    assert read == [(2, True), (4, True)]


def test_stored_runs_become_two_arms(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    report = comparison_of(store, runs_of(store, ids(runs)))
    assert [len(arm.runs) for arm in report.arms] == [3, 3], "port and name make no other configuration"
    assert report.objective == parse_objective("output_tps@8")
    (answer,) = report.answers
    assert answer.judgement and answer.judgement.answer is VerdictAnswer.BETTER, answer.refused
    per_step = 1 + sum(0.6**n for n in range(1, 5))
    assert answer.factors[0].ratio == pytest.approx(per_step, rel=0.06)


def test_repeats_that_were_not_picked_are_offered(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    picked = [runs["plain"][0].run_id, runs["k"][0].run_id]
    chosen_runs = runs_of(store, picked)
    offered = offered_repeats(store, chosen_runs, comparison_of(store, chosen_runs))
    assert sorted(offered) == sorted(set(ids(runs)) - set(picked))


def test_too_few_repeats_lend_no_spread(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    picked = [runs["plain"][0].run_id, runs["k"][0].run_id]
    (answer,) = comparison_of(store, runs_of(store, picked)).answers
    assert answer.judgement and answer.judgement.answer is VerdictAnswer.SEEN_ONCE, (
        "2 + 2 degrees of freedom are under 6"
    )


def test_six_degrees_of_freedom_lend_a_spread(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    rng = np.random.default_rng(5)
    more = repeats(IdealEngine(0.02, drafts=2, start_sd=0.005), "ladder", 7, rng, **SMALL)
    for number, facts in enumerate(more):
        stored(store, facts, 2, 30 + number)
    picked = [runs["plain"][0].run_id, runs["k"][0].run_id]
    report = comparison_of(store, runs_of(store, picked))
    (answer,) = report.answers
    assert answer.judgement and answer.judgement.sd_source == "earlier"
    assert {facts.run_id for facts in more} <= {run.run_id for run in report.earlier}


@pytest.mark.publishes
def test_the_terminal_says_the_same(
    store: Store,
    settings: Settings,
    runs: dict[str, list[RunFacts]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arms = comparison_of(store, runs_of(store, ids(runs))).arms
    direct = compare_arms(arms, parse_objective("output_tps@4"))[0].judgement
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    assert main(["compare", *ids(runs), "--json", "--objective", "output_tps@4"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["objective"] == "output_tps@4" and [len(arm["runs"]) for arm in document["arms"]] == [3, 3]
    (answer,) = document["answers"]
    assert direct and answer["ratio"] == pytest.approx(direct.ratio) and answer["answer"] == direct.answer
    assert {row["code"] for row in answer["guard"]} == {code.value for code in RowCode}
    assert main(["compare", *ids(runs), "--objective", "output_tps@4"]) == 0
    assert answer["sentence"].split(",")[0] in capsys.readouterr().out


@pytest.mark.publishes
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["20200101-000000-000-zzzz"], "There is no run 20200101-000000-000-zzzz."),
        (["--objective", "fastness"], "There is no objective 'fastness'"),
        (["--objective", "output_tps"], "There is no objective 'output_tps'"),
        (
            ["--declare", "failed"],
            "'failed' cannot be declared: use one of model, sampling, hardware, gpu_limits.",
        ),
    ],
)
@pytest.mark.wide
def test_bad_words_get_a_sentence(
    store: Store,
    settings: Settings,
    runs: dict[str, list[RunFacts]],
    words: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    given_words = words if words[0].startswith("2020") else [*ids(runs), *words]
    assert main(["compare", *given_words]) == 1
    assert sentence in capsys.readouterr().err


def test_excluded_run_keeps_its_reason(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    out = runs["plain"][1].run_id
    report = comparison_of(store, runs_of(store, ids(runs)), ComparisonOptions(left_out={out: "somebody compiled"}))
    assert [len(arm.runs) for arm in report.arms] == [2, 3]
    assert report.arms[0].left_out == {out: "somebody compiled"}


def test_older_load_without_record_is_read(store: Store, runs: dict[str, list[RunFacts]]) -> None:
    """What a Pitwall wrote before loads were recorded: requests alone, without phases, places and counters."""
    facts = runs["plain"][0]
    bare = dict.fromkeys(("load_id", "phase_index", "sequence", "since_phase_s", "segment", "chunk_us", "chunk_tokens"))
    old = replace(facts, run_id="old-1")
    requests = [
        replace(r, run_id="old-1", **bare, extra={**r.extra, "phase_title": f"{r.concurrency} at once"})
        for r in facts.loads[0].requests
    ]
    store.save_run(runs_of(store, [facts.run_id])[0].model_copy(update={"id": old.run_id}))
    store.write(Batch(tuple(requests))).result()
    (told,) = load_queries.loads(store, ["old-1"])["old-1"]
    assert told.plan is None and told.concurrencies == [1, 2, 4, 8]
    assert sorted({r.phase_index for r in told.measured}) == [1, 2, 3, 4]

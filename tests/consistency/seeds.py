"""Runs of every kind, each with the trouble that once gave two numbers for one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import numpy as np

from analysis.comparison.facts import RunFacts
from analysis.evidence.loads import LoadRecord
from analysis.loads.load_results import results_of
from domain import Config, Run, RunState
from load_records import AGENT_TASK, Load, LoadPhase, RequestRecord, Result, SuiteCheck
from samples import Batch, CounterSample, LogSample
from storage.store import Store
from tests.analysis.comparison.hand_made import load, request, run
from tests.analysis.comparison.ideal_engine import T0, IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored

Seed = Callable[[Store], list[str]]


def _write(store: Store, requests: Sequence[RequestRecord], name: str, number: int, **updates: Any) -> str:
    """Store a run with one load of these requests, and its results as its generator writes them."""
    record = replace(load(requests), run_id=name)
    facts = run(name, _of_run(record, name), began_at=T0)
    made = stored(store, facts, 0, float(number), **({"name": name} | updates))
    store.write(Batch(tuple(results_of("l", T0, facts.loads[0].requests)))).result()
    return made.id


def _of_run(record: LoadRecord, run_id: str) -> LoadRecord:
    assert record.plan
    return replace(
        record,
        plan=replace(record.plan, run_id=run_id),
        phases=tuple(replace(phase, run_id=run_id) for phase in record.phases),
        requests=tuple(replace(r, run_id=run_id, load_id="l") for r in record.requests),
    )


def _counters(store: Store, run_id: str, spans: Sequence[tuple[int, float, float]]) -> None:
    """Store the engine's counters of a run: (seconds, tok/s, requests running), one after the other."""
    (run,) = store.runs_of([run_id])
    assert run.ready_at
    tokens, second, samples = 0.0, 0, []
    for seconds, tps, running in spans:
        for _ in range(seconds):
            samples.append(
                CounterSample(
                    run_id,
                    run.ready_at + timedelta(seconds=second),
                    float(second),
                    "vllm.counter",
                    generation_tokens_total=tokens,
                    inter_token_count_total=tokens / 2,
                    drafts_total=tokens / 2,
                    draft_tokens_total=2 * tokens,
                    accepted_tokens_total=max(0.0, tokens / 2 - 40.0),  # none while requests begin
                    first_tokens_total=float(min(second, 3)),
                    prompt_tokens_total=9.0,
                    requests_running=running,
                )
            )
            tokens += tps
            second += 1
    store.write(Batch(tuple(samples))).result()


def repeats_of_two_arms(store: Store) -> list[str]:
    """Three starts each of a plain server and a drafting one, under kinds of prompt."""
    return list(_simulated(store, "five-prompts", {"token_scale": 0.1}))


def ladder(store: Store) -> list[str]:
    """Two arms under rising concurrency: steady output is above that of whole phases."""
    return list(_simulated(store, "ladder", SMALL))


def _simulated(store: Store, workload: str, params: Mapping[str, Any]) -> Iterator[str]:
    rng = np.random.default_rng(7)
    for arm, k in enumerate((0, 4)):
        engine = IdealEngine(0.02, drafts=k, start_sd=0.005)
        for start, facts in enumerate(repeats(engine, workload, 3, rng, **params)):
            made = stored(store, facts, k, 100.0 * arm + start)
            store.write(Batch(tuple(_results(facts)))).result()
            _counters(store, made.id, [(10, 50.0 * (1 + arm), 1.0), (10, 200.0, 4.0)])
            yield made.id


def _results(facts: RunFacts) -> Iterator[Result]:
    for record in facts.loads:
        yield from results_of(str(record.load_id), T0, record.requests)


def tool_call_in_one_piece(store: Store) -> list[str]:
    """A turn whose tokens all came at once has no decode rate; by its times it would be 30,000 tok/s."""
    answers = [request(n, float(n), chunks=10) for n in range(4)]
    at_once = request(4, 4.0, chunks=1, completion_tokens=16, decode_ms=0.4, total_ms=100.4)
    return [_write(store, [*answers, at_once], f"tool-{number:03}", 20 + number) for number in range(2)]


def repeated_points(store: Store) -> list[str]:
    """Two requests at once, three times: the sum of their rates is that of two, not of six."""
    requests = [
        request(n, float(n // 2), 2, extra={"point": "pp100 tg10 d0 c2", "prompt_tokens": 100, "output_tokens": 10})
        for n in range(6)
    ]
    return [_write(store, requests, f"grid-{number:03}", 30 + number) for number in range(2)]


def mixed_concurrency(store: Store) -> list[str]:
    """A server that decoded one request at 50 tok/s and four at 160 together."""
    run_ids = [_write(store, [request(n, float(n)) for n in range(3)], f"mixed-{n:03}", 40 + n) for n in range(2)]
    for run_id in run_ids:
        _counters(store, run_id, [(20, 50.0, 1.0), (40, 160.0, 4.0)])
    return run_ids


def looping(store: Store) -> list[str]:
    """Answers that collapsed into loops."""
    collapse = {"first_chunk_tokens": 1, "collapse": {"looped_ratio": 0.9, "verdict": "collapsed", "onset_word": 3}}
    return [_write(store, [request(n, float(n), extra=collapse) for n in range(3)], "loops-000", 50)]


def failed_and_cancelled(store: Store) -> list[str]:
    """A load whose requests partly failed, and a run that ended before it began."""
    requests = [request(0), request(1, 1.0, error_kind="timeout", completion_tokens=None)]
    partly = _write(store, requests, "failed-000", 60, state=RunState.FAILED, cause="it ended with exit status 1")
    cancelled = Run(
        id="cancelled-000", name="cancelled", color=1, config=Config(engine="vllm"), machine_id="m1", created_at=T0,
        ended_at=T0, state=RunState.FINISHED,
    )  # fmt: skip
    store.save_run(cancelled)
    return [partly, cancelled.id]


def tool_results(store: Store) -> list[str]:
    """Results of another tool, among them a maximum over time and percentiles of the output."""
    imported = Run(
        id="guide-000", name="guide", color=2, config=Config(engine="vllm"), machine_id="m1", created_at=T0,
        started_at=T0, ended_at=T0, state=RunState.FINISHED, kind="imported",
    )  # fmt: skip
    store.save_run(imported)
    plan = Load(imported.id, "g", T0, "guidellm", "guidellm")
    values = {"mean": 187.2659299644405, "median": 180.0, "p99": 1080.17, "max": 2410.5}
    rows = [
        Result(imported.id, "g", T0, "4 at once", "output_tps", name, "tok/s", "guidellm 0.8.1", value, concurrency=4)
        for name, value in values.items()
    ]
    store.write(Batch((plan, *rows))).result()
    return [imported.id]


def log_alone(store: Store) -> list[str]:
    """Lines of vLLM's log, and no load."""
    return [_logged(store, "log-000", "vllm", "vllm.log", [(10.0, 80.0 + n, 1.0) for n in range(6)])]


def log_without_realtime_counters(store: Store) -> list[str]:
    """SGLang's log beside a load: its counters tell nothing while it runs."""
    run_id = _write(store, [request(n, float(n)) for n in range(3)], "sglang-000", 70, config=Config(engine="sglang"))
    (run,) = store.runs_of([run_id])
    assert run.ready_at
    lines = [
        LogSample(
            run_id, run.ready_at + timedelta(seconds=n + 1), n, n, "sglang.log", kind="decode", window_s=1.0,
            generation_tps=68.0 + n % 2, requests_running=1.0,
        )
        for n in range(8)
    ]  # fmt: skip
    store.write(Batch(tuple(lines))).result()
    return [run_id]


def _logged(store: Store, run_id: str, engine: str, definition: str, lines: Sequence[tuple[float, ...]]) -> str:
    run = Run(
        id=run_id, name=run_id, color=3, config=Config(engine=engine), machine_id="m1", created_at=T0, started_at=T0,
        ready_at=T0, ended_at=T0 + timedelta(seconds=600), state=RunState.FINISHED, kind="imported",
    )  # fmt: skip
    store.save_run(run)
    samples, at_s = [], 0.0
    for number, (window_s, tps, running) in enumerate(lines):
        at_s += window_s
        samples.append(
            LogSample(
                run_id, T0 + timedelta(seconds=at_s), number, number, definition, window_s=window_s,
                generation_tps=tps, prompt_tps=0.0, requests_running=running, requests_waiting=0.0,
            )
        )  # fmt: skip
    store.write(Batch(tuple(samples))).result()
    return run_id


def agent_sessions(store: Store) -> list[str]:
    """A load of sessions, and a further load of an agent that solved one of two tasks."""
    turns = [
        request(n, float(n), extra={"first_chunk_tokens": 1, "session": n // 4, "turn": n % 4 + 1}) for n in range(8)
    ]
    record = _of_run(replace(load(turns, workload="session"), run_id="agents-000"), "agents-000")
    made = stored(store, run("agents-000", record, began_at=T0), 0, 80.0, name="agents")
    task = Load(made.id, "t", T0 + timedelta(hours=1), AGENT_TASK, AGENT_TASK, "agent 1", "h", {"folder": "/parser"})
    phase = LoadPhase(made.id, "t", T0, 0, "Repeat 1", "measure", 0, T0, 1800.0, 0.0, 0, True)
    checks = [
        SuiteCheck(made.id, "t", T0, AGENT_TASK, "parser", "agent", n == 1, repeat=n, item_hash="h") for n in (1, 2)
    ]
    store.write(Batch((task, phase, *checks))).result()
    return [made.id]


SEEDS: tuple[Seed, ...] = (
    repeats_of_two_arms,
    ladder,
    tool_call_in_one_piece,
    repeated_points,
    mixed_concurrency,
    looping,
    failed_and_cancelled,
    tool_results,
    log_alone,
    log_without_realtime_counters,
    agent_sessions,
)

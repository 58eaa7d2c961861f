"""A stretch of a run costs what lies in it, and its values are those of the whole. Counted in rows, not in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest

from domain import Config, Run
from samples import Batch, CounterSample, LogSample, Sample, SlotSample
from settings import Settings
from storage.queries import live_queries
from storage.queries.run_data import Queryable
from storage.store import Store
from tests.storage.queries.question_costs import NOW, Cost, Profiled, samples_of

ENGINES = ("vllm", "sglang", "llamacpp")
SHORT_S, LONG_S = 600, 1800
FROM_S, TO_S, LEAD_S = 300, 360, 60
LONG_AGO = timedelta(days=2)  # all of it is sealed
SILENCE = range(330, 345)  # nobody looked
RESTART_S = 350  # the counters begin anew
MADE_BY: Mapping[str, Callable[..., dict[str, pa.Table]]] = {
    "engine": live_queries.engine_points,
    "host": live_queries.host_points,
    "gpu": live_queries.gpu_points,
}


def with_troubles(run_id: str, engine: str, seconds: int) -> Iterator[Sample]:
    """A silence and a restart, both of them in the stretch; SGLang has two ranks that log."""
    for sample in samples_of(run_id, engine, seconds):
        at_s = (getattr(sample, "ts", NOW) - NOW).total_seconds()
        if isinstance(sample, CounterSample) and at_s in SILENCE:
            continue
        if isinstance(sample, CounterSample) and at_s >= RESTART_S:
            values_by_name = {name: value - 50 * RESTART_S for name, value in _totals(sample).items()}
            sample = replace(sample, **values_by_name)
        yield sample
        if isinstance(sample, LogSample) and engine == "sglang":
            yield replace(sample, engine_index=1, line=sample.line + 100_000, offset=sample.offset + 100_000)


def _totals(counter_sample: CounterSample) -> dict[str, float]:
    names = ("generation_tokens_total", "decode_tokens_total", "draft_tokens_total")
    return {name: getattr(counter_sample, name) for name in names}


def asked_store(folder: Path, seconds: int) -> Profiled:
    """A run of each engine that lasted so long, and one known by its log alone, sealed and published."""
    settings = Settings(data_dir=folder / "data")
    store = Store.open(settings, clock=lambda: NOW + LONG_AGO)
    for engine in ENGINES:
        for run_id in (engine, f"{engine}-log"):
            left_out = () if run_id == engine else (CounterSample, SlotSample)
            told = [one for one in with_troubles(run_id, engine, seconds) if not isinstance(one, left_out)]
            ended_at = NOW + timedelta(seconds=seconds)
            run = Run(id=run_id, name=run_id, color=0, config=Config(), machine_id="m", created_at=NOW, ready_at=NOW)
            store.save_run(run.model_copy(update={"ended_at": ended_at}))
            store.write(Batch(tuple(told)))
    while store.seal():
        pass
    store.close()
    return Profiled(settings.published_path, folder / "profile.json")


def moment(second: int) -> datetime:
    return NOW + timedelta(seconds=second)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> tuple[Profiled, Profiled]:
    return asked_store(tmp_path_factory.mktemp("short"), SHORT_S), asked_store(tmp_path_factory.mktemp("long"), LONG_S)


def cost_of(store: Profiled, ask: Callable[[Queryable], object]) -> Cost:
    store.cost = Cost(0, 0, 0)
    ask(store)
    return store.cost


@pytest.mark.wide
@pytest.mark.parametrize("run_id", [*ENGINES, *(f"{engine}-log" for engine in ENGINES)])
@pytest.mark.parametrize("kind", MADE_BY)
def test_stretch_reads_own_rows_and_prior_minute(kind: str, run_id: str, stores: tuple[Profiled, Profiled]) -> None:
    def ask(store: Queryable) -> object:
        return MADE_BY[kind](store, {run_id: moment(FROM_S)}, moment(TO_S))

    short, long = (cost_of(store, ask) for store in stores)
    assert short.rows == long.rows, "what the run did later costs nothing"
    of_a_table = 2 * (LEAD_S + TO_S - FROM_S)  # two ranks may speak
    assert 0 < short.rows <= 4 * of_a_table


@pytest.mark.wide
@pytest.mark.parametrize("run_id", [*ENGINES, *(f"{engine}-log" for engine in ENGINES)])
@pytest.mark.parametrize("kind", MADE_BY)
@pytest.mark.parametrize("ends_s", [TO_S, 338, 352])
def test_a_stretch_has_the_values_of_the_whole(
    kind: str, run_id: str, ends_s: int, stores: tuple[Profiled, Profiled]
) -> None:
    store, _ = stores
    rows = MADE_BY[kind](store, {run_id: None})[run_id].to_pylist()
    part = MADE_BY[kind](store, {run_id: moment(FROM_S)}, moment(ends_s))[run_id].to_pylist()
    assert part and part == [row for row in rows if moment(FROM_S) < row["ts"] <= moment(ends_s)]


@pytest.mark.wide
def test_the_troubles_are_there(stores: tuple[Profiled, Profiled]) -> None:
    """The check of the check: the stretch holds what the row before tells."""
    rows = MADE_BY["engine"](stores[0], {"vllm": moment(FROM_S)}, moment(TO_S))["vllm"].to_pylist()
    reasons = {row["reason"].split()[0] for row in rows if row["reason"]}
    assert {"no_answer", "counter_reset"} <= reasons

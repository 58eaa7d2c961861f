"""Runs are found by every field of their configuration and by their study; what all have alike is not offered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from domain import Study
from settings import Settings
from storage.queries.explore_queries import METRICS, POINT_FIELDS, View, explore_sql, read_view
from storage.queries.run_fields import FIELDS, FILTER_FIELDS, NOT_STATED, field_values
from storage.queries.run_queries import RunFilter, count_runs, find_runs, run_choices
from storage.store import Store
from tests.many_runs import BEGAN, many_runs

TITLES = {"s1": "Which k?", "s2": "Which k?", "s3": "It's {quick} at $5"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """20 runs, of which the first three belong to a study each."""
    store = Store.open(Settings(data_dir=tmp_path_factory.mktemp("fields") / "data"))
    runs = many_runs(store)
    times: dict[str, Any] = {"created_at": BEGAN, "updated_at": BEGAN}
    for run, (study_id, title) in zip(runs, TITLES.items(), strict=False):
        store.save_study(Study(id=study_id, title=title, question="which", state="ended", plan={}, **times))
        store.save_run(run.model_copy(update={"batch_id": study_id}))
    yield store
    store.close()


def names_of_filter(store: Store, **fields: tuple[str, ...]) -> list[str]:
    run_filter = RunFilter(fields=tuple(fields.items()))
    names = [run.name for run in find_runs(store, run_filter, 100)]
    assert count_runs(store, run_filter) == len(names)
    return names


def test_differing_fields_are_offered_in_order(store: Store) -> None:
    offered = run_choices(store).fields
    assert offered["k"] == ("0", "1", "2", "4", "8")
    assert offered["quantization"] == ("<i>q</i>", "fp8", NOT_STATED)
    assert offered["method"] == ("ngram", "no_speculation_configured")
    assert "model" not in offered and "tp" not in offered, "all have the same"
    assert set(FILTER_FIELDS) < set(FIELDS)


def test_partly_stated_field_has_ordered_values(store: Store) -> None:
    offered = run_choices(store).fields
    assert offered["memory_share"] == ("0.85", "0.9") and offered["prefix_caching"] == ("off", NOT_STATED)
    assert (
        len(names_of_filter(store, memory_share=("0.85",))) == 6
        and len(names_of_filter(store, prefix_caching=("off",))) == 6
    )
    assert not {*METRICS, *POINT_FIELDS} & FIELDS.keys(), "Explore knows each by its name alone"


def test_all_choices_are_found_by_one_statement(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, ask = list[str](), store.query
    monkeypatch.setattr(store, "query", lambda sql, params: (asked.append(sql), ask(sql, params))[1])
    choices = run_choices(store)
    assert (choices.runs, choices.engines, choices.workloads) == (20, ("vllm",), ("ladder",))
    assert choices.fields and len(asked) == 1


def test_filter_ors_values_and_ands_fields(store: Store) -> None:
    assert (
        len(names_of_filter(store, k=("2", "4"))) == 12
        and len(names_of_filter(store, k=("2", "4"), quantization=("fp8",))) == 6
    )
    assert len(names_of_filter(store, quantization=(NOT_STATED,))) == 9
    assert names_of_filter(store, k=("3",)) == [] and names_of_filter(store, quantization=("x' OR '1' = '1",)) == []
    assert len(names_of_filter(store, k=())) == 20, "a filter of nothing lets all through"


@pytest.mark.parametrize("name", FILTER_FIELDS)
def test_each_value_finds_the_runs_that_have_it(store: Store, name: str) -> None:
    actual_field_values = field_values(store, [run.id for run in store.runs()], name)
    for value in run_choices(store).fields.get(name, ()):
        assert (
            len(names_of_filter(store, **{name: (value,)}))
            == sum(value in values for values in actual_field_values.values())
            > 0
        )


def test_study_goes_by_title_or_id_on_conflict(store: Store) -> None:
    twins = ("Which k? (s1)", "Which k? (s2)")
    assert run_choices(store).fields["study"] == (TITLES["s3"], *twins, NOT_STATED)
    first, second, third = (run.name for run in sorted(store.runs(), key=lambda run: run.id)[:3])
    assert [names_of_filter(store, study=(title,)) for title in (*twins, TITLES["s3"])] == [[first], [second], [third]]


def test_explore_draws_the_filtered_runs(store: Store) -> None:
    run_filter = RunFilter(fields=(("k", ("4",)),), states=("finished",))
    rows = read_view(store, explore_sql(run_filter, View("stream", "study", "quantization"), METRICS))
    assert len(rows) == len(find_runs(store, run_filter, 100)) == 6

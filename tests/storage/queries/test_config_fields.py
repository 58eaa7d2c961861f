"""Whatever a configuration states, runs are grouped and drawn by it, or there is a reason why not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from domain import Config, Run, RunState, Speculation
from settings import Settings
from storage.queries.run_fields import FIELDS, NOT_STATED, field_values
from storage.queries.run_queries import RunFilter, find_runs, run_choices
from storage.store import Store
from tests.many_runs import BEGAN
from tests.wide import wide_params

NO_FIELD = {  # of a configuration, with the reason; a new one of Config fails until it is a field or stands here
    "executable": "where a program lies on one machine, not what it is; Find finds it",
    "served_model_name": "a name for clients, which changes nothing of how it serves",
    "host": "an address, which changes nothing of how it serves",
    "port": "an address, which changes nothing of how it serves",
    "volumes": "paths of one machine; Find finds them",
    "sampling": "defaults that a request may overrule; Find finds them",
    "argv": "the whole command, of which the others are the reading; Find finds its words",
    "speculative.options": "of each method its own; Find finds them",
}
SAMPLES: dict[str, Any] = {
    "dict": {"A": "1"},
    "list": ["--a 1"],
    "tuple": ("a",),
    "str": "x",
    "int": 3,
    "float": 0.5,
    "bool": True,
}


def configs_by_field() -> dict[str, Config]:
    """By the name of each field, and of each of speculation, a configuration that states it and nothing else."""
    of_drafts = {f"speculative.{name}": field.annotation for name, field in Speculation.model_fields.items()}
    fields = {name: field.annotation for name, field in Config.model_fields.items() if name != "speculative"}
    return {
        path: Config.model_validate(_fields_stating(path, str(field))) for path, field in (fields | of_drafts).items()
    }


def _fields_stating(path: str, annotation: str) -> dict[str, Any]:
    outer, _, inner = path.partition(".")
    value = next(sample for kind, sample in SAMPLES.items() if kind in annotation)
    return {outer: {inner: value} if inner else value}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store.open(Settings(data_dir=tmp_path_factory.mktemp("config") / "data"))
    yield store
    store.close()


def run_of(run_id: str, config: Config) -> Run:
    times: dict[str, Any] = {"created_at": BEGAN, "started_at": BEGAN}
    return Run(id=run_id, name="", color=0, state=RunState.FINISHED, machine_id="m1", config=config, **times)


@pytest.mark.parametrize("path", [*list(configs_by_field())[:4], *wide_params(*list(configs_by_field())[4:])])
def test_stated_config_is_a_field_or_has_a_reason(store: Store, path: str) -> None:
    command: dict[str, Any] = {"argv": ("a",)} if path != "argv" else {}  # known, so that nothing else is unknown
    bare = {"speculative": Speculation()} if path.startswith("speculative.") else {}
    for run_id, config in (("bare", Config().model_copy(update=bare)), ("stated", configs_by_field()[path])):
        store.save_run(run_of(run_id, config.model_copy(update=command)))
    field_values_by_name = {name: field_values(store, ["bare", "stated"], name) for name in FIELDS}
    differ = {name for name, value in field_values_by_name.items() if value["bare"] != value["stated"]}
    if path == "argv":
        assert differ == {"method", "k"}, "that a command is known, not what it is"
    else:
        assert bool(differ) == (path not in NO_FIELD)


def test_each_reason_is_of_a_field_that_there_is() -> None:
    assert NO_FIELD.keys() <= configs_by_field().keys() and all(NO_FIELD.values())


def test_what_is_not_stated_is_not_off(store: Store) -> None:
    for run_id, is_on in (("none", None), ("off", False), ("on", True)):
        store.save_run(run_of(run_id, Config(enforce_eager=is_on, env={"B": "2", "A": "<secret>"} if is_on else {})))
    texts = ["none", "off", "on"]
    assert field_values(store, texts, "eager") == {"none": ["not stated"], "off": ["off"], "on": ["on"]}
    assert field_values(store, texts, "env")["on"] == ["A=<secret>", "B=2"]
    assert field_values(store, texts, "env")["off"] == ["not stated"]


def test_runs_filter_by_variable_and_flag_value(tmp_path: Path) -> None:
    store = Store.open(Settings(data_dir=tmp_path / "data"))
    configs = {
        "one": Config(env={"A": "it's", "B": "2"}, unknown_flags=("--x 1", "--y")),
        "two": Config(env={"B": "2"}, unknown_flags=("--y",)),
        "none": Config(),
    }
    for run_id, config in configs.items():
        store.save_run(run_of(run_id, config))
    offered = run_choices(store).fields
    assert offered["env"] == ("A=it's", "B=2", NOT_STATED) and offered["flags"] == ("--x 1", "--y", NOT_STATED)

    def ids_of_filter(field: str, *values: str) -> set[str]:
        return {run.id for run in find_runs(store, RunFilter(fields=((field, values),)), 9)}

    assert ids_of_filter("env", "B=2") == {"one", "two"} and ids_of_filter("env", "A=it's", NOT_STATED) == {
        "one",
        "none",
    }
    assert (
        ids_of_filter("flags", "--x 1") == {"one"}
        and ids_of_filter("flags", NOT_STATED) == {"none"}
        and ids_of_filter("flags", "--z") == set()
    )
    store.close()

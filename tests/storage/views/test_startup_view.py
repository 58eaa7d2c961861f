"""The view of starts: a row a run, a column a fact, and what cannot be known null with its reason."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from domain import Config, JsonValue, Run
from engines.vllm.startup import kv_tokens_definition
from samples import Batch, Event
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


def row_of(
    store: Store, facts: dict[str, JsonValue], engine: str = "vllm", version: str | None = None
) -> dict[str, Any]:
    config = Config(engine=engine, engine_version=version)
    store.save_run(Run(id="r", name="r", color=0, config=config, machine_id="m", created_at=NOW))
    events = [
        Event("r", NOW + timedelta(seconds=n), "startup", key, offset=n, data={"key": key, "value": value})
        for n, (key, value) in enumerate(facts.items())
    ]
    store.write(Batch(tuple(events))).result()
    (row,) = store.query("FROM startup").to_pylist()
    return row  # type: ignore[no-any-return]


def test_facts_become_columns(store: Store) -> None:
    facts = {
        "model_load_gib": 30.5, "model_load_s": 12.25, "available_kv_gib": 55.5, "kv_cache_tokens": 876006,
        "max_concurrency": 11.57, "max_concurrency_context": 75712, "graph_capture_s": 8, "graph_capture_gib": 0.5,
        "compile_s": 40.1, "attention_backend": "FLASH_ATTN",
    }  # fmt: skip
    row = row_of(store, facts, version="0.21.0")
    assert row["model_load_gib"] == 30.5 and row["model_load_s"] == 12.25 and row["kv_cache_gib"] == 55.5
    assert row["kv_cache_tokens"] == 876006 and row["kv_cache_tokens_definition"] == "max_concurrency * max_model_len"
    assert row["full_context_concurrency"] == 11.57 and row["full_context_tokens"] == 75712
    assert row["full_context_concurrency_definition"] == "as the log states it" and row["reason"] is None
    assert (row["graph_capture_s"], row["graph_capture_gib"], row["compile_s"]) == (8, 0.5, 40.1)
    assert row["attention_backend"] == "FLASH_ATTN" and row["draft_load_gib"] is None


def test_what_a_log_says_last_counts(store: Store) -> None:
    events = [
        Event("r", NOW, "startup", "x", offset=n, data={"key": "kv_cache_tokens", "value": value})
        for n, value in ((2, 900), (1, 800))
    ]
    store.write(Batch(tuple(events))).result()
    assert store.query("SELECT kv_cache_tokens FROM startup")["kv_cache_tokens"].to_pylist() == [900]


@pytest.mark.parametrize(
    "version", ["0.19.1", "0.20.0", "0.20.2", "0.20.10", "0.21", "1.0.0", "0.33.0rc1", "0.9.2.dev1"]
)
def test_kv_token_definition_matches_log_reader(store: Store, version: str) -> None:
    row = row_of(store, {"kv_cache_tokens": 1}, version=version)
    assert row["kv_cache_tokens_definition"] == kv_tokens_definition(version)


@pytest.mark.parametrize("version", ["0.20.1", "nightly", None])
def test_unknown_definition_is_marked(store: Store, version: str | None) -> None:
    row = row_of(store, {"kv_cache_tokens": 1}, version=version)
    assert kv_tokens_definition(version) is None and row["kv_cache_tokens_definition"].startswith("not known")


def test_pool_gives_unstated_concurrency(store: Store) -> None:
    row = row_of(store, {"kv_cache_tokens": 16384, "context_len": 4096}, engine="llamacpp")
    assert row["full_context_concurrency"] == 4
    assert row["full_context_concurrency_definition"] == "KV tokens over the full context"
    assert row["kv_cache_tokens_definition"] == "tokens of the pool"


def test_sliding_windows_hide_it(store: Store) -> None:
    row = row_of(store, {"kv_cache_tokens": 69757, "swa_tokens": 139515, "context_len": 131072}, engine="sglang")
    assert row["full_context_concurrency"] is None and row["reason"] == "sliding_window"


def test_what_is_no_number_is_unknown(store: Store) -> None:
    row = row_of(store, {"model_load_gib": "a lot", "graph_capture_s": [1, 2], "compile_s": 3})
    assert (row["model_load_gib"], row["graph_capture_s"], row["compile_s"]) == (None, None, 3)

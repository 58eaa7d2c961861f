"""Rows of the runs view: as the log states it, else as requested; null only with its reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from domain import Config, Run, Speculation
from storage.store import Store

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
ARGV = ("vllm", "serve", "m")


def row(store: Store, config: Config, **run: Any) -> dict[str, Any]:
    store.save_run(Run(id="r1", name="r1", color=0, config=config, machine_id="m", created_at=NOW, **run))
    (record,) = store.query("FROM runs").to_pylist()
    return dict(record)


@pytest.mark.parametrize(
    ("config", "run", "version"),
    [
        (Config(engine="vllm"), {}, None),
        (Config(engine="vllm"), {"provenance": {"package": "vllm 0.21.0"}}, "0.21.0"),
        (Config(engine="vllm"), {"provenance": {"package": None}}, None),
        (Config(engine="vllm", engine_version="0.20"), {"provenance": {"package": "vllm 0.21.0"}}, "0.20"),
        (Config(engine="vllm", engine_version="0.20"), {"logged_facts": {"engine_version": "0.20.2"}}, "0.20.2"),
    ],
)
def test_version_from_log_config_then_package(
    store: Store, config: Config, run: dict[str, Any], version: str | None
) -> None:
    assert row(store, config, **run)["engine_version"] == version


@pytest.mark.parametrize(
    ("speculation", "logged_facts", "method", "reason"),
    [
        (Speculation(method="mtp"), None, "mtp", None),
        (Speculation(model="org/d", num_tokens=4), {"speculative_method": "draft_model"}, "draft_model", None),
        (Speculation(model="org/d", num_tokens=4), None, None, "method_not_stated"),
        (Speculation(model="[ngram]", num_tokens=4), None, "ngram", None),
        (Speculation(model="yuhuili/EAGLE3-LLaMA3.1-Instruct-8B"), None, "eagle3", None),
        (Speculation(model="yuhuili/EAGLE-LLaMA3-Instruct-8B"), None, "eagle", None),
        (None, None, None, "no_speculation_configured"),
    ],
)
def test_no_method_stated_is_not_no_speculation(
    store: Store,
    speculation: Speculation | None,
    logged_facts: dict[str, Any] | None,
    method: str | None,
    reason: str | None,
) -> None:
    actual_row = row(store, Config(engine="vllm", argv=ARGV, speculative=speculation), logged_facts=logged_facts)
    assert actual_row["speculates"] is (speculation is not None)
    assert actual_row["speculative_method"] == method
    assert (actual_row["speculative_method_reason"] or "").startswith(reason or "")
    assert (actual_row["speculative_method_reason"] is None) is (method is not None)


def test_missing_command_hides_speculation(store: Store) -> None:
    actual_row = row(store, Config(engine="vllm"))
    assert actual_row["speculates"] is None
    assert actual_row["speculative_method_reason"] == "start_not_known"


def test_watched_log_reveals_speculation(store: Store) -> None:
    run = Run(id="r1", name="r1", color=0, kind="attached", config=Config(engine="vllm"), machine_id="m",
              created_at=NOW)  # fmt: skip
    for key, value in (("speculative_method", "mtp"), ("num_spec_tokens", 3), ("weights_load_s", 9.0)):
        run = run.with_fact(key, value)
    assert run.logged_facts == {"speculative_method": "mtp", "speculative_num_tokens": 3}
    assert run.with_fact("num_spec_tokens", 3) is run
    store.save_run(run)
    (row,) = store.query("SELECT speculates, speculative_method, speculative_num_tokens FROM runs").to_pylist()
    assert row == {"speculates": True, "speculative_method": "mtp", "speculative_num_tokens": 3}
    assert store.run("r1") == run

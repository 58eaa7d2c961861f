"""Configurations on Compare: what differs, and which are not known."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from domain import Config, Run
from reports.arms.comparison import single_run_arm
from reports.arms.facts import facts_of
from settings import Settings
from storage.store import Store
from web.compare.arms.config_table import config_table

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SAME = "these arms have the same configuration"


def table(tmp_path: Path, *configs: Config) -> str:
    runs = [
        Run(id=f"r{i}", name=f"run {i}", color=0, config=config, machine_id="m", created_at=NOW)
        for i, config in enumerate(configs)
    ]
    store = Store.open(Settings(data_dir=tmp_path))
    try:
        arms = [single_run_arm(facts) for facts in facts_of(store, runs)]
        return config_table(arms, {run.id: run.color for run in runs})
    finally:
        store.close()


def test_logs_without_config_are_not_the_same(tmp_path: Path) -> None:
    log = Config(engine="vllm", launcher="import")
    actual_table = table(tmp_path, log, log)
    assert SAME not in actual_table
    assert "Not known: the configuration of run 0 and run 1." in actual_table


def test_equal_commands_are_the_same(tmp_path: Path) -> None:
    config = Config(engine="vllm", argv=("vllm", "serve", "m"), model="m")
    assert SAME in table(tmp_path, config, config)


def test_differences_are_shown_beside_unknowns(tmp_path: Path) -> None:
    config = Config(engine="vllm", argv=("vllm", "serve", "m"), model="m")
    actual_table = table(
        tmp_path, config, config.model_copy(update={"model": "n"}), Config(engine="vllm", launcher="attach")
    )
    assert "<table" in actual_table
    assert "Not known: the configuration of run 2." in actual_table

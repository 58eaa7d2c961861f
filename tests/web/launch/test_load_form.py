"""The load that the Launch page proposes, and its words on repeats before they start."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import pytest

from demo.presets import demo_configs
from domain import WATCH, Config, Run, RunState, WorkloadSpec, utc_now
from web.launch.draft import LaunchDraft
from web.launch.load_form import HALF_WIDTHS, LaunchLoad, cost_text, estimate_text, repeats_text

NOW = utc_now()
# Repeats -> Student's t at 97.5 % with 2 (n - 1) degrees of freedom, from a table.
T_975 = ((3, 2.776), (4, 2.447), (5, 2.306), (6, 2.228), (8, 2.145), (10, 2.101), (15, 2.048), (20, 2.024), (30, 2.002))


def test_suitable_load_is_proposed(tmp_path: Path) -> None:
    demo = demo_configs(tmp_path)[0].config
    assert LaunchDraft(demo).proposed_workload == "demo-stream"
    assert LaunchDraft(Config(engine="vllm", argv=("vllm", "serve", "o/m"))).proposed_workload == "five-prompts"
    assert LaunchDraft(Config(engine="other", argv=("a", "b"))).proposed_workload == WATCH.name
    assert LaunchDraft().proposed_workload == WATCH.name


@pytest.mark.parametrize("name", ["ladder", WATCH.name])
def test_a_relaunch_proposes_the_load_of_its_run(name: str) -> None:
    edited = LaunchDraft(Config(engine="vllm"), workload=WorkloadSpec(name=name, params={"tokens": 64}))
    assert edited.proposed_workload == name
    assert edited.load_params(name) == {"tokens": 64}


def test_unknown_load_is_not_proposed() -> None:
    assert LaunchDraft(Config(engine="vllm"), workload=WorkloadSpec(name="gone")).proposed_workload == "five-prompts"


def test_starts_counted_over_all_configs() -> None:
    assert cost_text(LaunchLoad("ladder", 3), 4).startswith("12 server starts, one after the other. ")
    assert cost_text(LaunchLoad("ladder", 1)).startswith("1 server start. One run each cannot separate")


def test_estimate_is_of_all_starts_and_loads() -> None:
    config = Config(engine="vllm", model="o/m")
    run = Run(
        id="r", name="r", color=0, machine_id="m", created_at=NOW, config=config, state=RunState.FINISHED,
        workload=WorkloadSpec(name="ladder"), started_at=NOW, ended_at=NOW + timedelta(seconds=70),
    )  # fmt: skip
    both = run.model_copy(update={"later_workloads": (WorkloadSpec(name="knee"),)})
    load = LaunchLoad("ladder", 3)
    assert estimate_text(config, load, [run]) == (
        "About 3:30 (median of 1 finished run of this workload and configuration)."
    )
    assert estimate_text(config, load._replace(later=(WorkloadSpec(name="knee"),)), [run]) == (
        "The duration is not known: no run of this workload has finished yet."
    )
    assert "3:30" in str(estimate_text(config, load._replace(later=both.later_workloads), [both]))
    assert estimate_text(config, LaunchLoad(WATCH.name, 1), [run]) is None, "it runs until it is stopped"


def test_more_repeats_tell_more() -> None:
    assert "to ± 13 %" in repeats_text(2)
    assert "to ± 3 %" in repeats_text(5)
    assert "to ± 2.1 %" in repeats_text(9), "no more than is known of fewer"
    assert sorted(HALF_WIDTHS.values(), reverse=True) == list(HALF_WIDTHS.values())


@pytest.mark.parametrize(("repeats", "quantile"), T_975)
def test_half_widths_follow_the_t_interval(repeats: int, quantile: float) -> None:
    """Welch's interval has somewhat fewer degrees of freedom than the pooled one of the textbook."""
    pooled = 100 * quantile * 0.02 * math.sqrt(2 / repeats)
    assert 0.95 * pooled <= HALF_WIDTHS[repeats] <= 1.12 * pooled

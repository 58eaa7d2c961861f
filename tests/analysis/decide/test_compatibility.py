"""Compatibility from the runs of a store: works, fails with its cause, or both."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.decide.compatibility import StartupOutcome, gpu_column
from domain import Config, Run, RunState, utc_now
from reports.arms.compatibility import compatibility, published_compatibility
from storage.store import Store
from web.compare.compatibility_table import compatibility_table, place_text

H100 = {"gpus": [{"name": "NVIDIA H100"}] * 2}


def run(name: str, model: str, provenance: dict[str, Any] | None, **fields: Any) -> Run:
    now = utc_now()
    actual_fields: dict[str, Any] = {"state": RunState.FINISHED, "ready_at": now, "started_at": now} | fields
    config = Config(engine="vllm", model=model, argv=("vllm", "serve", model))
    return Run(
        id=name,
        name=name,
        color=0,
        machine_id="m",
        created_at=now,
        provenance=provenance,
        config=config,
        **actual_fields,
    )


FAILED = {"state": RunState.FAILED, "ready_at": None, "cause": "CUDA out of memory <b>"}


def keep(store: Store, *runs: Run) -> None:
    for run in runs:
        store.save_run(run)


def test_outcome_of_each_config_on_each_gpu(store: Store) -> None:
    keep(
        store,
        run("a1", "org/small", H100),
        run("a2", "org/small", H100),
        run("b1", "org/large", H100, **FAILED),
        run("b2", "org/large", {"gpus": []}),
        run("c1", "org/mixed", None),
        run("c2", "org/mixed", None, **FAILED),
    )
    actual_compatibility = compatibility(store, None)
    told = {(one.configuration.split(" · ")[0], one.gpu): one for one in actual_compatibility}
    assert {key: value.outcome for key, value in told.items()} == {
        ("small", "2 x NVIDIA H100"): StartupOutcome.WORKS,
        ("large", "2 x NVIDIA H100"): StartupOutcome.FAILS,
        ("large", "no GPU"): StartupOutcome.WORKS,
        ("mixed", None): StartupOutcome.MIXED,
    }
    assert place_text(told["large", "2 x NVIDIA H100"]) == "fails, 1 start: CUDA out of memory <b>"
    assert place_text(told["mixed", None]).startswith("1 of 2 starts became ready; the last failure: CUDA")
    shown_compatibility_table = compatibility_table(actual_compatibility)
    assert (
        "&lt;b&gt;" in shown_compatibility_table
        and "<b>" not in shown_compatibility_table
        and "GPU not known" in shown_compatibility_table
    )


@pytest.mark.parametrize("fields", [{"kind": "attached"}, {"state": RunState.FINISHED, "ready_at": None}])
def test_uninformative_starts_are_left_out(store: Store, fields: dict[str, Any]) -> None:
    keep(store, run("a", "org/small", H100, **fields))
    assert compatibility(store, None) == [] and store.query("FROM compatibility").num_rows == 0


def test_the_view_and_the_page_tell_the_same(store: Store) -> None:
    keep(
        store,
        run("a1", "org/small", H100),
        run("a2", "org/small", H100, cause="it ended later"),
        run("b1", "org/large", H100, **FAILED),
        run("c1", "org/mixed", {"gpus": []}),
        run("c2", "org/mixed", {"gpus": []}, **FAILED),
        run("d1", "org/unseen", None, **FAILED | {"cause": None}),
    )
    rows = store.query("FROM compatibility ORDER BY model").to_pylist()
    shown_compatibility = sorted(compatibility(store, None), key=lambda one: one.configuration)
    for row, one in zip(sorted(rows, key=lambda row: str(row["model"])), shown_compatibility, strict=True):
        assert str(row["model"]).removeprefix("org/") in one.configuration
        assert (row["outcome"], row["starts"], row["came_up"]) == (one.outcome.value, one.starts, one.came_up)
        assert row["cause"] == one.cause
    told = {row["model"]: (row["outcome"], row["gpus"], row["gpus_reason"], row["evidence_run_ids"]) for row in rows}
    assert told == {
        "org/small": ("works", ["NVIDIA H100"] * 2, None, ["a1", "a2"]),
        "org/large": ("fails", ["NVIDIA H100"] * 2, None, ["b1"]),
        "org/mixed": ("mixed", [], None, ["c1", "c2"]),
        "org/unseen": ("fails", None, "gpus_not_looked_at", ["d1"]),
    }


def test_model_paths_merge_for_own_runs_of_guest(store: Store) -> None:
    keep(
        store,
        run("a", "/one/small", H100, **FAILED | {"cause": "the first"}),
        run("b", "/two/small", H100, **FAILED | {"cause": "the last"}),
        run("c", "/two/small", H100),
    )
    (one,) = compatibility(store, None)
    assert (one.outcome, one.starts, one.came_up, one.cause) == (StartupOutcome.MIXED, 3, 1, "the last")
    (hers,) = compatibility(store, ["a"])
    assert (hers.outcome, hers.starts, hers.cause) == (StartupOutcome.FAILS, 1, "the first")
    assert compatibility(store, []) == []


def test_document_claims_cite_source_and_line(store: Store) -> None:
    """Source 004's table: five GPUs, two of them untested, one too small."""
    keep(store, run("a", "org/small", {"gpus": [{"name": "NVIDIA GeForce RTX 5090"}]}), run("b", "org/small", H100))
    stated_published_compatibility = published_compatibility()
    assert [(one.gpu, one.works, one.line) for one in stated_published_compatibility] == [
        ("RTX 5090", True, 100), ("RTX PRO 6000", True, 101), ("B200", None, 102), ("B100", None, 103),
        ("RTX 5080 and lower", False, 104),
    ]  # fmt: skip
    assert {(one.configuration, one.source) for one in stated_published_compatibility} == {
        ("LilaRest NVFP4 Turbo", "Gemma 4 31B IT NVFP4 Turbo (LilaRest)")
    }
    shown_compatibility_table = compatibility_table(compatibility(store, None), stated_published_compatibility)
    head, own, published = shown_compatibility_table.split("<tr")[1:4]
    assert head.count("<th") == 1 + 6 and head.count("5090") == 1, "the 5090 of our run and of the document are one"
    assert "works, 1 start" in own and "published" not in own
    assert "as published: Gemma 4 31B IT NVFP4 Turbo (LilaRest)" in published
    assert "works, up to ~25k tokens: Primary target (32 GB; line 100)" in published
    assert "not tried, up to 262k (full) tokens: Datacenter, untested (192 GB; line 102)" in published
    assert "does not work: Not enough VRAM (≤16 GB; line 104)" in published
    alone = compatibility_table([], stated_published_compatibility)
    assert "as published" in alone and "start" not in alone


@pytest.mark.parametrize(
    ("gpu", "is_it"),
    [
        ("NVIDIA GeForce RTX 5090", True), ("NVIDIA RTX 5090", True), ("2 x NVIDIA GeForce RTX 5090", False),
        ("NVIDIA GeForce RTX 5090 D", False), ("NVIDIA GeForce RTX 5090 Laptop GPU", False), (None, False),
    ],
)  # fmt: skip
def test_gpu_name_matches_the_stated_gpu(gpu: str | None, is_it: bool) -> None:
    assert (gpu_column("RTX 5090", [gpu]) == gpu) is is_it
    assert gpu_column("RTX PRO 6000", ["NVIDIA RTX PRO 6000 Blackwell Workstation Edition"]).startswith("NVIDIA")
    assert gpu_column("RTX PRO 6000", ["NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition"]) == "RTX PRO 6000"

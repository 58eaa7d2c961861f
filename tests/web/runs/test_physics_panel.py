"""The Physics section says what a run's model, log and load allow, and why of what is not known."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from analysis.physics.speculation import best_k
from analysis.runs.speed_summary import ConcurrencySpeeds
from domain import Config, Run, RunState
from machine.identity import machine_id
from reasons import Code, Reason
from reference.statements import failures_like
from reports.arms.facts import facts_of
from reports.runs.model_config import LARGEST_BYTES, model_config, read_config
from reports.runs.physics import Physics, idle_span, physics_of
from reports.runs.prices import Prices, prices_of
from reports.runs.run_report import report_on
from samples import Batch, Event
from storage.store import Store
from tests.analysis.physics.models import GEMMA_4_31B
from tests.analysis.physics.test_bands import window
from web.run_notes.known_failures import workarounds
from web.runs.page.physics_panel import panel_html

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
LOG = {  # as vLLM 0.19 printed it for one of the published configurations
    "available_kv_gib": 55.22,
    "kv_cache_tokens": 120_624,
    "max_concurrency": 11.57,
    "max_concurrency_context": 32768,
    "model_load_gib": 31.49,
    "model_load_s": 8.96,
    "compile_s": 66.23,
    "engine_init_s": 108.24,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(GEMMA_4_31B))
    return folder


def make_run(store: Store, model: Path, **facts: object) -> Run:
    run = Run(
        id="r1", name="fp8", color=0, machine_id=machine_id(), created_at=NOW, started_at=NOW,
        ready_at=NOW + timedelta(seconds=147), state=RunState.RUNNING,
        config=Config(
            engine="vllm", engine_version="0.19.0", model=str(model), kv_cache_dtype="fp8", max_model_len=32768,
            argv=("vllm", "serve", str(model)),
        ),
        provenance={"model": {"name": "m", "path": str(model)}, "gpus": [{"name": "NVIDIA H200 NVL"}]},
    )  # fmt: skip
    store.save_run(run)
    store.write(Batch(tuple(
        Event("r1", NOW, "startup", key, data={"key": key, "value": value}) for key, value in (LOG | facts).items()
    )))  # fmt: skip
    return run


def found_of(store: Store, run: Run, prices: Prices = Prices()) -> Physics:  # noqa: B008
    (report,), (facts,) = report_on(store, [run]), facts_of(store, [run])
    return physics_of(store, report, facts, prices)


def test_published_server_fits_its_printed_log(store: Store, model: Path) -> None:
    found = found_of(store, make_run(store, model))
    assert found.token_bytes.value == 10 * 4096 + 50 * 8192
    fits = {fit.context_tokens: fit.requests.value for fit in found.fits}
    assert list(fits) == [8192, 32768]
    assert fits[32768] == pytest.approx(11.57, abs=0.005)
    assert dict(found.phases.seconds) == pytest.approx(
        {"rest of loading": 8.96, "compilation": 66.23, "rest of the engine's start": 42.01, "other": 29.8}
    )
    assert not found.is_full_length_too_long


def test_share_covers_gpus_working_together(store: Store, model: Path) -> None:
    """75.2 tok/s on an H200: 75.2 x 31.49 GiB over 4.8 TB/s, whatever GPUs lie idle beside it."""
    run = make_run(store, model)
    (report,), (facts,) = report_on(store, [run]), facts_of(store, [run])
    speed = replace(report.summary, speeds=(ConcurrencySpeeds(1, 3, typical_tps=75.2),))
    for gpus in (("NVIDIA H200 NVL",), ("NVIDIA H200 NVL",) * 8):
        served = replace(facts.served, gpus=gpus)
        physics = physics_of(store, replace(report, summary=speed), replace(facts, served=served), Prices())
        assert physics.share.value == pytest.approx(75.2 * 31.49 * 1024**3 / 4.8e12)
    unknown = physics_of(store, report, replace(facts, served=replace(facts.served, gpus=("Riva",))), Prices())
    assert unknown.share.value is None and unknown.share.reason


def test_a_context_that_does_not_fit_is_said(store: Store, model: Path) -> None:
    found = found_of(store, make_run(store, model, max_concurrency_context=262144, available_kv_gib=5.0))
    assert found.fits[-1].context_tokens == 262144 and found.is_full_length_too_long
    assert "One request of the full context length does not fit." in panel_html(found)


def test_page_shows_formulas_and_unknown_reasons(store: Store, model: Path) -> None:
    page = panel_html(found_of(store, make_run(store, model)))
    assert "KV per token" in page and "layers × KV heads" in page and "11.57" in page
    assert "price per hour" in page and "missing" in page and "the energy use of its GPUs was not measured" in page


def test_missing_model_folder_gives_no_guess(store: Store, tmp_path: Path) -> None:
    found = found_of(store, make_run(store, tmp_path / "gone"))
    assert found.token_bytes.reason and found.token_bytes.reason.code is Code.CONFIG_NOT_READ
    assert "it does not exist" in panel_html(found)


def test_a_model_elsewhere_is_not_looked_for(store: Store, model: Path) -> None:
    run = make_run(store, model)
    assert model_config(run) == GEMMA_4_31B
    elsewhere = model_config(run, local_machine_id="another machine")
    assert isinstance(elsewhere, Reason) and elsewhere.code is Code.MODEL_NOT_HERE


def test_facts_from_start_outlive_the_folder(store: Store, tmp_path: Path) -> None:
    run = make_run(store, tmp_path / "gone")
    noted = run.model_copy(update={"provenance": {"model": {"name": "m", "shape": GEMMA_4_31B}}})
    assert model_config(noted, local_machine_id="another machine") == GEMMA_4_31B


@pytest.mark.parametrize("content", [b"", b"[1]", b"{", b"[" * 100_000, b" " * (LARGEST_BYTES + 1), b"\xff"])
def test_a_config_that_is_none_has_its_reason(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(content)
    config = read_config(path)
    assert isinstance(config, Reason) and config.code is Code.CONFIG_NOT_READ


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.json")
    assert isinstance(read_config(tmp_path / "config.json"), Reason)


def test_prices_are_entered_once_a_machine(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    assert prices_of(path, "m") == Prices()
    path.write_text('currency = "EUR"\n[machine.m]\nper_hour = 2.5\nper_kwh = 0.3\n[machine.default]\nper_hour = 1.0\n')
    assert prices_of(path, "m") == Prices("EUR", 2.5, 0.3)
    assert prices_of(path, "other") == Prices("EUR", 1.0, None)
    path.write_text('currency = "EUR"\n[machine.m]\nper_hour = -1\n')
    problem = prices_of(path, "m").problem
    assert problem and problem.startswith("prices.toml: machine.m.per_hour: ")
    path.write_text("currency = ")
    assert prices_of(path, "m").problem == "prices.toml is not a readable TOML file."


def test_the_longest_idle_stretch(store: Store, model: Path) -> None:
    run = make_run(store, model)
    idle = [window(None, activity="idle")._replace(since_ready_s=float(end)) for end in (2, 4, 20, 22, 24, 26)]
    span = idle_span(run, idle)
    assert span and run.ready_at and span.began_at == run.ready_at + timedelta(seconds=18) and span.seconds == 8.0
    assert idle_span(run, idle[:2]) is None and idle_span(run, []) is None


def test_known_failure_has_workaround_and_source() -> None:
    (words,) = workarounds(failures_like("KeyError: 'layers.0.mlp.down_proj.weight_scale'", ""))
    assert "Serve the BF16 checkpoint with --quantization fp8." in words and "line 18" in words
    assert workarounds([]) == []
    assert len(workarounds(failures_like("model type gemma4 not recognized", ""))) == 2


def test_positions_name_the_best_number_of_drafts(store: Store, model: Path) -> None:
    found = found_of(store, make_run(store, model))
    assert "draft position" not in panel_html(found)
    shares = (0.9, 0.3, 0.1)
    rows = panel_html(replace(found, positions=shares, best=best_k(shares, 0.2))).split("<tr>")
    (best,) = [row for row in rows if "1 (best)" in row]
    assert all(text in best for text in ("90", "1.90", "1.58\u00d7"))
    unknown_cost = panel_html(replace(found, positions=shares))
    assert "draft position" in unknown_cost and "(best)" not in unknown_cost and "2.30" in unknown_cost

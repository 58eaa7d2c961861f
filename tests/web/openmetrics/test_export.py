"""The export for a scraper: known numbers in base units, no series for unknown ones, bounded labels."""

from __future__ import annotations

import json
import math
import re
import subprocess
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest
from prometheus_client.exposition import choose_encoder
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from collectors.loop import Freshness
from domain import Config, Run, RunState, Study
from reports.arms.comparison import comparison_of
from samples import Batch, CounterSample, GpuSample, HostSample
from storage.store import Store
from tests.analysis.comparison.ideal_engine import IdealEngine, repeats
from tests.analysis.comparison.stored.test_store_to_answer import SMALL, stored
from web.openmetrics import batch_guards, export_reader
from web.openmetrics.batch_guards import BatchGuard, BatchGuardCache
from web.openmetrics.export import MOST_LABEL_CHARACTERS, Export, RunExport, StoreExport
from web.openmetrics.export_reader import MOST_RUNS, ExportReader, ExportSources, WholeNumbers, WholeNumbersCache
from web.openmetrics.exported_metrics import EXPORTED, TILES

ROOT = Path(__file__).resolve().parents[3]
NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
STORE = StoreExport(True, 0, 0.0, None, None, 0)
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
RATE = 100.0


def run_with(run_id: str, state: RunState = RunState.RUNNING, **fields: Any) -> Run:
    config = Config(engine="vllm", model="Qwen/Qwen3-8B")
    values = {"name": run_id, "color": 0, "config": config, "machine_id": "m", "created_at": NOW, "started_at": NOW}
    return Run(id=run_id, state=state, **(values | fields))


def counters(run_id: str, second: int) -> CounterSample:
    return CounterSample(
        run_id, NOW + timedelta(seconds=second), float(second), "vllm.counter", generation_tokens_total=RATE * second,
        first_tokens_total=0.0, inter_token_count_total=40.0 * second, prompt_tokens_total=0.0,
        requests_running=1.0, requests_waiting=0.0, drafts_total=40.0 * second, draft_tokens_total=80.0 * second,
        accepted_tokens_total=60.0 * second, accepted_per_pos_total=[36.0 * second, 24.0 * second],
    )  # fmt: skip


def reader_of(store: Store, live: list[Run], seconds: float = 6.0) -> ExportReader:
    freshness = [Freshness(run.id, {"log": 512}, ["gpu"]) for run in live]
    now = NOW + timedelta(seconds=seconds)
    return ExportReader(ExportSources(lambda: store, lambda: live, lambda: freshness, lambda: now, "0.1.0"))


def text_of(export: Export, accept: str = OPENMETRICS) -> str:
    encode, _ = choose_encoder(accept)
    return encode(export).decode()


def samples_of(export: Export) -> dict[tuple[str, str], float]:
    """Every sample by its name and its labels beside the run's, as OpenMetrics' own parser reads the text."""
    return {
        (sample.name, ",".join(value for name, value in sorted(sample.labels.items()) if name != "run")): sample.value
        for family in text_string_to_metric_families(text_of(export))
        for sample in family.samples
    }


def test_live_run_has_the_values_of_its_tiles(store: Store) -> None:
    run = run_with("r1")
    store.save_run(run)
    samples = [counters("r1", second) for second in range(6)]
    gpu = GpuSample("r1", NOW + timedelta(seconds=4), 4.0, "m", 0, power_w=250.0, sm_clock_mhz=1800.0)
    host = HostSample("r1", NOW + timedelta(seconds=5), 5.0, "m", cpu_ratio=1.5, rss_bytes=1 << 30)
    store.write(Batch((*samples, gpu, host))).result()
    values = samples_of(reader_of(store, [run]).read())
    assert values["pitwall_run_decode_tokens_per_second", ""] == pytest.approx(RATE)
    assert values["pitwall_run_steps_per_second", ""] == pytest.approx(40.0)
    assert values["pitwall_run_position_acceptance_ratio", "0"] == pytest.approx(0.9)
    assert values["pitwall_run_position_acceptance_ratio", "1"] == pytest.approx(0.6)
    assert values["pitwall_run_gpu_power_watts", ""] == 250.0
    assert values["pitwall_run_gpu_sm_clock_hertz", ""] == 1.8e9
    assert values["pitwall_run_server_memory_bytes", ""] == 1 << 30
    assert values["pitwall_run_data_age_seconds", "counters"] == 1.0
    assert values["pitwall_run_data_age_seconds", "gpu"] == 2.0
    assert values["pitwall_run_hanging_collectors", ""] == 1.0
    assert values["pitwall_run_unread_bytes", "log"] == 512.0
    assert values["pitwall_run_state", "running"] == 1.0 and values["pitwall_run_state", "failed"] == 0.0
    assert values["pitwall_runs", "running"] == 1.0 and values["pitwall_store_ok", ""] == 1.0


def test_unknown_number_has_no_series(store: Store) -> None:
    run = run_with("r1")
    store.save_run(run)
    store.write(Batch(tuple(counters("r1", second) for second in range(6)))).result()
    names = {name for name, _ in samples_of(reader_of(store, [run], seconds=600.0).read())}
    assert "pitwall_run_decode_tokens_per_second" not in names, "its last value is ten minutes old"
    assert "pitwall_run_data_age_seconds" in names
    assert not names & {"pitwall_run_energy_joules_per_token", "pitwall_run_users_held", "pitwall_run_gpu_power_watts"}


def test_ended_run_stays_for_an_hour_without_current_values(store: Store) -> None:
    store.save_run(run_with("r1", RunState.FAILED, ended_at=NOW + timedelta(seconds=5)))
    store.write(Batch(tuple(counters("r1", second) for second in range(6)))).result()
    names = {name for name, _ in samples_of(reader_of(store, []).read())}
    assert "pitwall_run_state" in names and "pitwall_run_decode_tokens_per_second" not in names
    assert "pitwall_run_info" not in {name for name, _ in samples_of(reader_of(store, [], seconds=3700.0).read())}


def test_scrape_computes_one_whole_run_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[str] = []

    def noted(store: Store, run: Run) -> WholeNumbers:
        computed.append(run.id)
        return WholeNumbers(users_held=float(len(computed)))

    monkeypatch.setattr(export_reader, "_whole_numbers", noted)
    now_s = 1000.0
    cache = WholeNumbersCache(lambda: now_s)
    live, ended = run_with("live"), run_with("ended", RunState.FINISHED)
    for _ in range(4):
        known_numbers = cache.get(store, [live, ended])
    assert computed == ["live", "ended"] and known_numbers["ended"].users_held == 2.0
    now_s += export_reader.WHOLE_EVERY_S
    cache.get(store, [live, ended])
    cache.get(store, [live, ended])
    assert computed == ["live", "ended", "live"]
    cache.get(store, [run_with("live", RunState.FINISHED), ended])
    assert computed[3:] == ["live"], "its last numbers are known only at its end"


def test_series_are_bounded(store: Store) -> None:
    live = [run_with(f"r{number:03}", name="n" * 5_000) for number in range(MOST_RUNS + 7)]
    export = reader_of(store, live).read()
    assert (len(export.runs), export.runs_left_out) == (MOST_RUNS, 7)
    names = [
        sample.labels["name"]
        for family in text_string_to_metric_families(text_of(export))
        for sample in family.samples
        if sample.name == "pitwall_run_info"
    ]
    assert {len(name) for name in names} == {MOST_LABEL_CHARACTERS}


def test_labels_are_escaped_and_secrets_masked() -> None:
    name = 'a "b"\n\\c sk-abcdefghijklmnopqrstuvwx12345678'
    export = Export("0.1.0", STORE, runs=[RunExport(run_with("r1", name=name), "vLLM")])
    for accept in (OPENMETRICS, "text/plain"):
        text = text_of(export, accept)
        assert "sk-abc" not in text
        (line,) = [line for line in text.splitlines() if line.startswith("pitwall_run_info")]
        assert r"a \"b\"" in line


def test_energy_is_the_inverse_of_tokens_per_joule() -> None:
    rows = [RunExport(run_with("r1"), "vLLM", tokens_per_j=4.0, users_held=12.0, tiles={"decode_tps": math.nan})]
    values = samples_of(Export("0.1.0", STORE, runs=rows))
    assert values["pitwall_run_energy_joules_per_token", ""] == 0.25
    assert values["pitwall_run_users_held", ""] == 12.0
    assert ("pitwall_run_decode_tokens_per_second", "") not in values


def study_with(answer: dict[str, Any] | None) -> Study:
    return Study(id="s1", title="A or B", question="which", created_at=NOW, updated_at=NOW, plan={}, answer=answer)


ARMS = [{"name": "a", "values": [1.0]}, {"name": "b", "values": [1.1]}]
REFUSED = [{"arms": ["a", "b"], "rows": ["throttling", "neighbours"]}]


def test_guard_of_a_study() -> None:
    def guard(answer: dict[str, Any] | None) -> dict[tuple[str, str], float]:
        samples = samples_of(Export("0.1.0", STORE, studies=[study_with(answer)]))
        return {key: value for key, value in samples.items() if "guard" in key[0] or "refused" in key[0]}

    assert guard(None) == {} == guard({"arms": ARMS[:1], "unranked": []}), "nothing was judged yet"
    assert guard({"arms": ARMS, "unranked": []}) == {
        ("pitwall_study_guard", "ranked,s1"): 1.0, ("pitwall_study_guard", "refused,s1"): 0.0,
    }  # fmt: skip
    refused = guard({"arms": ARMS, "workloads": [{"arms": ARMS, "unranked": REFUSED}]})
    assert refused["pitwall_study_guard", "refused,s1"] == 1.0
    assert refused["pitwall_study_refused_pairs", "throttling,s1"] == 1.0


def seed_batches(store: Store, batch_of_second: str) -> list[Run]:
    """Three starts of each of two arms, in two batches; the second arm has another model."""
    rng = np.random.default_rng(21)
    runs = []
    for place, k in enumerate((0, 4)):
        for number, facts in enumerate(repeats(IdealEngine(0.02, drafts=k, start_sd=0.005), "ladder", 3, rng, **SMALL)):
            run = stored(store, facts, k, 10 * place + number)
            batch_id = batch_of_second if place else "first"
            store.save_run(run.model_copy(update={"batch_id": batch_id, "arm": f"k {k}"}))
            runs.append(run.model_copy(update={"batch_id": batch_id}))
    return runs


def test_guard_of_a_batch_is_that_of_compare(store: Store) -> None:
    runs, cache = seed_batches(store, "first"), BatchGuardCache(lambda: 0.0)
    (comparison,) = comparison_of(store, runs).answers
    export = reader_of(store, runs).read()
    assert export.batch_guards == [BatchGuard("first", Counter(row.code.value for row in comparison.refused))]
    samples = samples_of(Export("0.1.0", STORE, batch_guards=export.batch_guards))
    assert samples["pitwall_batch_guard", "first,ranked"] + samples["pitwall_batch_guard", "first,refused"] == 1.0
    assert cache.get(store, runs, ["first"]) == [], "it is exported as a study"


def test_scrape_compares_one_batch_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(batch_guards, "_guard_of", lambda store, batch_id: compared.append(batch_id))
    now_s, runs = 0.0, [run_with(f"r{n}", RunState.FINISHED, batch_id=f"b{n % 2}") for n in range(4)]
    cache = BatchGuardCache(lambda: now_s)
    for _ in range(3):
        cache.get(store, runs, [])
    assert compared == ["b0", "b1"]
    now_s = 61.0
    cache.get(store, runs, [])
    assert compared == ["b0", "b1"], "neither has changed"
    cache.get(store, [*runs[:3], run_with("r3", batch_id="b1")], [])
    assert compared == ["b0", "b1", "b1"]


def whole_export() -> Export:
    """An export in which every metric has a series."""
    tiles = dict.fromkeys(TILES, 1.0)
    row = RunExport(
        run_with("r1"), "vLLM", tiles, [0.5], {"gpu": 1.0}, 0, {"log": 1}, stream_tps=1.0, tokens_per_j=1.0,
        users_held=1.0,
    )  # fmt: skip
    study = study_with({"arms": ARMS, "unranked": REFUSED})
    batches = [BatchGuard("b1", {"throttling": 1})]
    return Export("0.1.0", StoreExport(True, 0, 0.0, 1.0, 1.0, 0), {"running": 1}, [row], 0, [study], batches)


def exported_names() -> set[str]:
    return {metric.name for metric in EXPORTED}


def test_every_metric_is_exported_with_unit_and_help_and_documented() -> None:
    text = text_of(whole_export())
    families = {
        f"{family.name}_info" if family.type == "info" else family.name: family
        for family in text_string_to_metric_families(text)
    }
    assert families.keys() == exported_names()
    document = (ROOT / "docs/prometheus.md").read_text()
    for metric in EXPORTED:
        family = families[metric.name]
        assert (family.unit, family.documentation) == (metric.unit, metric.help), metric.name
        assert f"| `{metric.name}` |" in document, f"{metric.name} is missing in docs/prometheus.md"


def test_dashboard_asks_for_exported_metrics_only() -> None:
    dashboard = json.loads((ROOT / "docs/grafana-dashboard.json").read_text())
    expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
    names = {name for text in expressions for name in re.findall(r"pitwall_\w+", text)} - {"pitwall_run_state"}
    assert expressions and names <= exported_names(), names - exported_names()
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])


@pytest.mark.skipif(which("promtool") is None, reason="promtool, of Prometheus, is not installed")
def test_promtool_finds_nothing_to_say() -> None:
    text = text_of(whole_export(), "text/plain")
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, timeout=30)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")

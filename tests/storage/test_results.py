"""Results, checks and accuracy in the store: as written, sealed, published, and carried elsewhere in a bundle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from domain import Config, Run, RunState
from load_records import NEXT_TOKEN, Accuracy, AccuracyItem, FidelityPosition, Load, Result, SuiteCheck
from redaction import mask_text
from samples import Batch, Sample
from settings import Settings
from storage.published_query import published_query
from storage.queries import load_queries
from storage.rows import SAMPLE_TABLES
from storage.store import Store
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)
RUN, LOAD = "20261120-120000-000-aaaa", "l1"
SECRET = "hf_abcdefghijklmnopqrstuvwx"
COMMAND = ["bench", "--url", "http://127.0.0.1:8000", "--key", SECRET]
TOLD: tuple[Sample, ...] = (
    Load(RUN, LOAD, NOW, "llama-benchy", "grid", "0.4.0", source_name="r.json", source_sha256="ab", command=COMMAND),
    Result(
        RUN, LOAD, NOW, "pp128 tg64 d0 c4", "output_tps", "mean", "tok/s", "llama-benchy 0.4.0",
        value=863.1, n=3, sd=4.5, concurrency=4, prompt_tokens=128, output_tokens=64, depth_tokens=0,
    ),
    Result(RUN, LOAD, NOW, "c4", "ttft_ms", "p99", "ms", "pitwall", reason="fewer than 100 values"),
    SuiteCheck(RUN, LOAD, NOW, "tools", "two calls", "streaming", False, "no JSON", {"answer": f"Bearer {SECRET}"}),
    Accuracy(
        RUN, LOAD, NOW, "sums", "number", "exact_match", 16, 20, 0.8, 0.584, 0.919, 0.0918, "h", {"limit": 20}, "1",
    ),
    AccuracyItem(RUN, LOAD, NOW, "sums", "number", "i", "3", None, True, "no answer came", "5"),
    FidelityPosition(
        RUN, LOAD, NOW, NEXT_TOKEN, "code", "code 01", 512, 500, "ab", [7, 3], [-0.1, -2.5], 499, 3, -2.5,
    ),
)  # fmt: skip
KINDS = (Load, Result, SuiteCheck, Accuracy, AccuracyItem, FidelityPosition)


def store_with_results(store: Store) -> Store:
    run = Run(
        id=RUN, name="r", color=0, config=Config(), machine_id="m", created_at=NOW, ended_at=NOW,
        state=RunState.FINISHED, kind="imported",
    )  # fmt: skip
    store.save_run(run)
    store.write(Batch(TOLD)).result()
    return store


@pytest.fixture
def later(settings: Settings) -> Store:
    return Store.open(settings, clock=lambda: NOW + timedelta(hours=1))


@pytest.mark.publishes
@pytest.mark.parametrize("kind", KINDS)
def test_rows_read_alike_sealed_and_published(later: Store, settings: Settings, kind: type) -> None:
    text = f"SELECT * FROM {SAMPLE_TABLES[kind]} ORDER BY ALL"
    before = store_with_results(later).query(text)
    assert before.num_rows == sum(type(sample) is kind for sample in TOLD)
    assert later.seal() == len(KINDS)
    assert later.query(text).equals(before)
    later.close()
    with published_query(settings.published_path) as query:
        assert query(text).equals(before)


def test_load_returns_with_source_and_command(later: Store) -> None:
    (load,) = load_queries.loads(store_with_results(later), [RUN])[RUN]
    assert load.plan == TOLD[0]
    later.close()


def test_a_bundle_carries_them_without_secrets(later: Store, tmp_path: Path) -> None:
    target = tmp_path / "a.pitwall.zip"
    export_runs(store_with_results(later).query, [RUN], target, NOW, mask_text)
    settings = Settings(data_dir=tmp_path / "elsewhere")
    file = Store.open(settings)
    import_bundle(file, settings, target)
    for kind in KINDS:
        text = f"SELECT * FROM {SAMPLE_TABLES[kind]} ORDER BY ALL"
        rows, ours = file.query(text).to_pylist(), later.query(text).to_pylist()
        assert SECRET not in str(rows)
        if kind not in (Load, SuiteCheck):  # which have the secret
            assert rows == ours
    (load,) = load_queries.loads(file, [RUN])[RUN]
    assert load.plan and load.plan.command and load.plan.command[:4] == COMMAND[:4]
    file.close()
    later.close()


def test_load_points_come_in_size_order(later: Store) -> None:
    sizes = [(depth, prompt, users) for depth in (0, 4096) for prompt in (40, 128, 1000) for users in (1, 2, 16)]
    shuffled = sorted(sizes, key=lambda size: str(size[::-1]))
    points = {size: "pp{1} d{0} c{2}".format(*size) for size in sizes}
    rows = [
        Result(
            RUN, LOAD, NOW, points[size], "output_tps", "mean", "tok/s", "pitwall", value=1.0,
            depth_tokens=size[0], prompt_tokens=size[1], concurrency=size[2],
        )
        for size in shuffled
    ]  # fmt: skip
    later.write(Batch((TOLD[0], *rows))).result()
    results = load_queries.outcomes(later, [RUN])[RUN][LOAD].results
    assert [row.point for row in results] == [points[size] for size in sizes]
    later.close()

"""The table of a server's own latencies: bounds, never a number that the buckets do not tell."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def page() -> None:
    from datetime import UTC, datetime
    from pathlib import Path
    from tempfile import TemporaryDirectory

    from domain import Config, Run
    from settings import Settings
    from storage.store import Store
    from tests.storage.views.test_server_latency import look
    from web.compare.server_latency import server_latency_table

    with TemporaryDirectory() as folder:
        store = Store.open(Settings(data_dir=Path(folder)))
        for second, counts in ((0, [0, 0, 0, 0]), (9, [4, 8, 9, 10])):
            store.write(look(second, list(map(float, counts)), 20.0 * second)).result()
        config, now = Config(engine="vllm"), datetime(2026, 11, 22, tzinfo=UTC)
        for run_id in ("r", "another"):
            server_latency_table(
                store, Run(id=run_id, name="r", color=0, config=config, machine_id="m", created_at=now)
            )
        store.close()


def test_a_percentile_is_told_by_its_bounds() -> None:
    app = AppTest.from_function(page).run(timeout=30)
    assert not app.exception
    (table,) = (element.proto.body for element in app.get("html"))
    assert "Time to first token" in table and ">18.0<" in table, "the mean is exact"
    assert "10.0 – 20.0" in table and "above 40.0" in table


def test_first_bucket_has_only_an_upper_bound() -> None:
    from web.compare.server_latency import bounds_text

    assert bounds_text(0.0, None) == "\u2013", "one bucket tells nothing"
    assert (bounds_text(0.0, 10.0), bounds_text(20.0, 40.0)) == ("up to 10.0", "20.0 – 40.0")

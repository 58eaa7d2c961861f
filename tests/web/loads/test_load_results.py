"""Results of a load on the page of its run: each kind of prompt, both rates of requests together, and loops."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from analysis.loads.load_results import results_of
from domain import Config, Run, RunState
from load_records import RequestRecord, Result
from samples import Batch
from settings import Settings
from storage.store import Store
from tests.analysis.comparison.hand_made import load, request
from tests.analysis.comparison.ideal_engine import T0
from tests.collectors.imports.captured import captured, loads_of
from tests.web.conftest import ProvideServices
from web.loads.panels.load_results import COLUMNS, load_titles, results_table

PAGE = """
from web.context import services
from web.loads.panels.load_results import show_load_results

show_load_results(*services().store.runs())
"""


@pytest.fixture
def store(tmp_path: Path, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    provide_services(SimpleNamespace(store=opened, settings=settings, fleet=None))
    yield opened
    opened.close()


def request_extra(looped: float) -> dict[str, object]:
    verdict = "collapsed" if looped else "none"
    return {
        "first_chunk_tokens": 1,
        "phase_title": "4 at once",
        "collapse": {"looped_ratio": looped, "verdict": verdict},
    }


def sample_requests() -> list[RequestRecord]:
    """Two kinds one after the other, then four at once, of which three take a second and the last takes two."""
    alone = [
        request(n, float(n), prompt_class=name, decode_ms=ms, total_ms=ms + 100.0, extra=request_extra(looped))
        for n, (name, ms, looped) in enumerate((("Code", 450.0, 0.0), ("Prose", 900.0, 0.8)))
    ]
    together = [
        request(n, 10.0, 4, phase_index=2, total_ms=2000.0 if n == 3 else 1000.0, extra=request_extra(0.0))
        for n in range(4)
    ]
    return [*alone, *together]


def table_of(store: Store, requests: list[RequestRecord]) -> dict[str, dict[str, str]]:
    """Point -> column -> what stands there, as the page shows it."""
    run = Run(id="r", name="r", color=0, config=Config(), machine_id="m", created_at=T0, state=RunState.FINISHED)
    store.save_run(run)
    whole = load(requests)
    assert whole.plan
    store.write(Batch((whole.plan, *whole.phases, *requests, *results_of("l", T0, requests)))).result()
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception and [subheader.value for subheader in at.subheader] == ["Load results"]
    (html,) = [str(element.proto.body) for element in at.get("html") if "Requests" in str(element.proto.body)]
    head, *rows = [
        [unescape(re.sub(r"<[^>]*>", "", cell)).strip() for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", html, re.S)
    ]
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}


def test_each_kind_of_prompt_has_a_row(store: Store) -> None:
    table = table_of(store, sample_requests())
    assert table.keys() == {"Code", "Prose", "4 at once"}
    assert (table["Code"]["Decode speed, tok/s"], table["Prose"]["Decode speed, tok/s"]) == ("20.0", "10.0")


def test_both_rates_of_requests_together_are_told(store: Store) -> None:
    """40 tokens in two seconds, all of them in the second with four; three rates of 10 tok/s and one of 5."""
    row = table_of(store, sample_requests())["4 at once"]
    assert (row["Output speed, tok/s"], row["Output over whole phases, tok/s"]) == ("40.0", "20.0")
    assert row["Sum of request rates, tok/s"] == "35.0"


def test_answers_that_repeat_themselves_are_told(store: Store) -> None:
    table = table_of(store, sample_requests())
    told = {point: (row["Looping"], row["Repeated text"]) for point, row in table.items()}
    assert told == {"Code": ("0", "0 %"), "Prose": ("1", "80.0 %"), "4 at once": ("0", "0 %")}


@pytest.mark.parametrize(
    ("metric", "value", "sd", "expected"),
    [
        ("ttft_ms", 81.5, None, "81.5"),
        ("ttft_ms", 1234.5, None, "1,234"),
        ("ttft_ms", 250.0, None, "250"),
        ("tpot_ms", 5.346, None, "5.35"),
        ("prompt_tps", 25.46, 0.214, "25.5 ± 0.2"),
        ("decode_tps", 187.34, 0.41, "187.3 ± 0.4"),
        ("request_tps", 0.00312, None, "0.00312"),
        ("request_tps", 12.5, None, "12.50"),
        ("requests", 1000.0, None, "1,000"),
        ("acceptance_rate", 0.6667, None, "66.7 %"),
        ("ttft_ms", float("inf"), None, "inf"),
    ],
)
def test_a_number_has_three_significant_digits_at_least(
    metric: str, value: float, sd: float | None, expected: str
) -> None:
    column = next(column for column in COLUMNS if column.metric == metric)
    assert column.text(value, sd) == expected


def test_no_loop_note_without_judged_text(store: Store) -> None:
    """As it is recorded of what others send."""
    bare = [request(n, float(n), extra={"first_chunk_tokens": 1}) for n in range(2)]
    assert "Looping" not in table_of(store, bare)["Code"]


def test_no_empty_latency_chart_for_tool_results(store: Store) -> None:
    """As a document prints them: a speed and a TTFT of each concurrency."""
    run = Run(id="r", name="r", color=0, config=Config(), machine_id="m", created_at=T0, state=RunState.FINISHED)
    store.save_run(run)
    whole = load([])
    assert whole.plan
    rows = [
        Result("r", "l", T0, f"{users} at once", metric, "median", unit, "tool", 100.0 * users, concurrency=users)
        for users in (1, 4)
        for metric, unit in (("output_tps", "tok/s"), ("ttft_ms", "ms"))
    ]
    store.write(Batch((whole.plan, *rows))).result()
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception and [caption.value for caption in at.caption][:1] == [
        "20 Nov 2026 12:00 UTC, its requests are unknown"
    ]
    charts = [str(element.proto) for element in at.get("bidi_component")]
    assert [sum(f"{title} against output tok/s" in chart for chart in charts) for title in ("TTFT", "TPOT")] == [1, 0]


def test_results_of_another_tool_come_with_their_settings(store: Store) -> None:
    run = Run(id="r", name="r", color=0, config=Config(), machine_id="m", created_at=T0, state=RunState.FINISHED)
    store.save_run(run)
    path = captured("llama-bench/batched.txt")
    (imported,) = loads_of(path)
    store.write(Batch((imported.load(), *imported.rows))).result()
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception
    pages = [unescape(re.sub(r"<[^>]+>", " ", str(html.proto.body))) for html in at.get("html")]
    (table,) = [page for page in pages if "Decode speed of the batch, tok/s" in page]
    assert "224.5" in table and "1,641" in table
    (settings,) = [page for page in pages if "Setting" in page]
    assert re.search(r"flash_attn\s+1\s+is_pp_shared\s+0\s+n_gpu_layers\s+-1", settings)


def test_point_without_a_shown_statistic_has_no_row() -> None:
    """A tool that states each draft position's acceptance has fifteen such points, and one with the speeds."""
    result = Result("r", "l", T0, "4 at once", "output_tps", "mean", "tok/s", "tool", 12_345.6, concurrency=4)
    positions = [
        Result("r", "l", T0, f"4 at once, draft position {n}", "position_acceptance", "mean", "", "tool", 0.5)
        for n in range(2)
    ]
    head, cells = results_table([result, *positions])
    assert head == ["", "Output speed, tok/s"]
    assert [re.sub(r"<[^>]*>", "", " ".join(row)) for row in cells] == ["4 at once 12,345.6"]
    assert results_table(positions)[1] == []


def test_loads_of_one_kind_are_numbered() -> None:
    """By name alone: two loads of one minute have titles of their own."""
    whole = load([])
    assert whole.plan
    other = replace(whole, plan=replace(whole.plan, workload="other", tool="guidellm", tool_version="0.7.1"))
    alone = load_titles([whole])
    assert load_titles([whole, other, whole]) == [
        f"{alone[0]}, load 1",
        r"other \(guidellm 0\.7\.1\)",
        f"{alone[0]}, load 2",
    ]

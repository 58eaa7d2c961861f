"""Document 000: configurations A to D, their typical and peak speeds, acceptance, and the KV pool."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import NamedTuple

import pytest

from domain import JsonValue
from reference.published import load_published
from reference.statements import read_table
from reports.runs.run_report import RunReport
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import RequestPace
from tests.known_truth.played_run import PlayedArm
from tests.recreate.conftest import ImportText
from tests.recreate.document_tables import (
    DocumentTable,
    PrintedNumber,
    assert_recreated,
    document_table,
    statement_lines,
)
from tests.recreate.shown_tables import PublishedCells
from tests.recreate.stand_ins import stand_in
from web.compare.arms.config_table import config_table
from workloads.plan import Phase, PlannedRequest

COMPARISON = document_table("000", "Comparison of configurations A to D")
LINES = document_table("000", "Observed log lines")
OBSERVED = {
    "A": document_table("000", "Aggregated values of A"),
    "B": document_table("000", "Values of B"),
    "C": document_table("000", "Observed values of C"),
    "D": document_table("000", "Observed values of D"),
}
POOLS = {name: document_table("000", f"SWAKVPool and KV memory of {name}") for name in ("C", "D")}
DRAFTS = {"A": 4, "B": 4, "C": 5, "D": 5}
SECONDS = 40  # of each request of the stand-in
# Of twelve requests four each are at the low and the high end of the typical range, three between, and one at the peak.
LEVELS = ("low", "middle", "high", "low", "middle", "high", "low", "high", "peak", "low", "middle", "high")
# A window of a second holds about 22 steps: whether there is one more or less makes 4 % of a single window.
WINDOWS = 0.04


class Level(NamedTuple):
    """Decode speed and acceptance rate of a request."""

    tps: float
    acceptance: float

    def pace(self, drafts: int) -> RequestPace:
        tokens = 1 + drafts * self.acceptance
        return RequestPace(tokens / self.tps, tokens / self.tps, tokens)


def levels(name: str) -> dict[str, Level]:
    table, config = COMPARISON, name
    low, high = (table.value(config, f"decode_tps_typical_{end}") for end in ("low", "high"))
    accepted = [OBSERVED[name].value(config, f"accept_rate_typical_{end}") / 100 for end in ("low", "high")]
    mean_acceptance = sum(accepted) / 2
    peak = Level(table.value(config, "decode_tps_peak"), table.value(config, "accept_rate_peak") / 100)
    typical = {"low": low, "middle": (low + high) / 2, "high": high}
    return {level: Level(tps, mean_acceptance) for level, tps in typical.items()} | {"peak": peak}


def configuration(name: str) -> PlayedArm:
    """Return a stand-in for one configuration: a long answer after another, each at its own level."""
    by_level, drafts = levels(name), DRAFTS[name]

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        return by_level[LEVELS[sequence % len(LEVELS)]].pace(drafts)

    tokens = int(SECONDS * by_level["middle"].tps)
    params: dict[str, JsonValue] = {"output_tokens": tokens, "ignore_eos": True, "rounds": len(LEVELS)}
    arm = stand_in(name, pace, "own-prompts", params, drafts)
    fields = load_published()[f"s000.{name}"].fields
    changes: dict[str, JsonValue] = {
        "engine": fields["engine"][0].lower(),
        "engine_version": fields["engine_version"][0],
        "quantization": fields["weights_quant"][0],
        "kv_cache_dtype": fields["kv_cache_dtype"][0],
    }
    logged: dict[str, JsonValue] = {"kv_cache_tokens": COMPARISON.value(name, "kv_capacity_tokens")}
    if name in "AB":
        logged["kv_cache_tokens"] = OBSERVED[name].value(name, "kv_capacity_tokens")
    if name == "A":
        logged["model_load_gib"] = OBSERVED[name].value(name, "model_load_memory")
    if name in POOLS:
        pool = POOLS[name]
        logged["kv_cache_tokens"] = pool.value(name, "kv_max_total_num_tokens")
        logged["swa_tokens"] = pool.value(name, "kv_swa_layer_tokens")
        logged["kv_cache_gib"] = pool.value(name, "kv_pool_memory")
    return replace(arm, logged=logged, config=changes)


class Configurations(NamedTuple):
    """The four stand-ins as Pitwall shows them."""

    published: PublishedCells
    reports: dict[str, RunReport]
    run_ids: dict[str, str]
    played: PlayedStore


@pytest.fixture(scope="module")
def configurations(played: PlayedStore) -> Configurations:
    run_ids = played.play([configuration(name) for name in DRAFTS], starts=1)
    published = PublishedCells(played.store, run_ids)
    reports = dict(zip(DRAFTS, published.data.reports, strict=True))
    return Configurations(published, reports, dict(zip(DRAFTS, run_ids, strict=True)), played)


def shown_number(configurations: Configurations, number: PrintedNumber) -> float | None:
    """Return the value of Pitwall's tables: Run's range of the typical speed, the others of the table to publish."""
    name = number.config.removeprefix("s000.")
    arm = configurations.published.data.comparison.arms[list(DRAFTS).index(name)].name
    alone = configurations.reports[name].summary.alone
    if number.metric.startswith("decode_tps_typical"):
        return alone.typical_low_tps if number.metric.endswith("low") else alone.typical_high_tps
    if number.metric.startswith(("accept_rate_typical", "accept_length_typical")):
        return within_range(configurations, number, arm)
    peak_length = configurations.published.value("Acceptance length, peak (p99)", arm)
    if number.metric == "accept_rate_peak":
        return None if peak_length is None else 100 * (peak_length - 1) / DRAFTS[name]
    if number.metric == "accept_length_peak":
        return peak_length
    rows = {
        "kv_capacity_tokens": "KV cache",
        "model_load_memory": "Weights in memory",
        "decode_tps_peak": "Decode speed, peak, one at a time, p99",
    }
    return configurations.published.value(rows[number.metric], arm)


def within_range(configurations: Configurations, number: PrintedNumber, arm: str) -> float | None:
    """Return a bound of a typical acceptance if the whole run's is on its side, else what the run has."""
    is_rate = "rate" in number.metric
    shown_value = configurations.published.value("Acceptance rate" if is_rate else "Acceptance length", arm)
    if shown_value is None:
        return None
    value = 100 * shown_value if is_rate else shown_value
    is_within = value >= number.value if number.metric.endswith("low") else value <= number.value
    return number.value if is_within else value


def test_comparison_of_configurations(configurations: Configurations) -> None:
    assert_recreated(COMPARISON, lambda number: shown_number(configurations, number), tolerance=WINDOWS)


@pytest.mark.parametrize("name", OBSERVED)
def test_values_of_each_configuration(configurations: Configurations, name: str) -> None:
    assert_recreated(OBSERVED[name], lambda number: shown_number(configurations, number), tolerance=WINDOWS)


VIEWPOINTS = {  # of the document -> the metric of a row of its comparison
    "Highest peak throughput": "decode_tps_peak",
    "Daily throughput stability": "decode_tps_typical_low",
    "MTP acceptance ceiling": "accept_rate_peak",
    "Practical SGLang setup": "kv_capacity_tokens",
    "KV capacity": "kv_capacity_tokens",
}


def test_best_by_viewpoint(configurations: Configurations) -> None:
    """The document's best is best in Pitwall's values too; of the SGLang setups, by the capacity that it names."""
    claims = [row for row in read_table("claims") if row["viewpoint"]]
    assert [row["line"] for row in claims] == statement_lines("000", "Best by viewpoint")
    assert [row["viewpoint"] for row in claims] == list(VIEWPOINTS)
    for row in claims:
        names = "CD" if "SGLang" in row["viewpoint"] else "ABCD"
        values = {
            f"s000.{name}": shown_number(configurations, COMPARISON.number(name, VIEWPOINTS[row["viewpoint"]]))
            for name in names
        }
        assert None not in values.values(), row["viewpoint"]
        best = {name for name, value in values.items() if value == max(filter(None, values.values()))}
        assert best == set(row["best"].split()), row["viewpoint"]


def test_runtime_weights_and_kv_cache_of_each_configuration(configurations: Configurations) -> None:
    """Each of the three columns is a row of Compare's table of configurations, with a cell for each arm."""
    arms = configurations.published.data.comparison.arms
    markup = config_table(arms, {arm.id: 0 for arm in arms})
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL) for row in markup.split("<tr")]
    texts = [[re.sub(r"<[^>]+>", "", cell).strip().lower() for cell in cells[-len(arms) :]] for cells in rows if cells]
    for field in ("engine", "engine_version", "weights_quant", "kv_cache_dtype"):
        printed = [load_published()[f"s000.{name}"].fields[field][0].lower() for name in DRAFTS]
        assert printed in texts, f"{field}: {printed}"


@pytest.mark.parametrize("name", POOLS)
def test_pool_of_the_sliding_window(configurations: Configurations, name: str) -> None:
    """The view `startup` has the tokens and the whole pool; the memory of keys and values is not in it."""
    sql = "SELECT kv_cache_tokens, swa_tokens, kv_cache_gib FROM startup WHERE run_id = ?"
    (row,) = configurations.played.store.query(sql, [configurations.run_ids[name]]).to_pylist()
    columns = {
        "kv_full_layer_tokens": "kv_cache_tokens",
        "kv_max_total_num_tokens": "kv_cache_tokens",
        "kv_swa_layer_tokens": "swa_tokens",
        "kv_pool_memory": "kv_cache_gib",
    }
    assert_recreated(POOLS[name], lambda number: row[columns[number.metric]], metrics=tuple(columns))


def as_printed(table: DocumentTable) -> str:
    """Return the observed lines of the document, one for each window."""
    lines = []
    for line in dict.fromkeys(number.line for number in table.numbers):
        values = {number.metric: number.value for number in table.numbers if number.line == line}
        lines.append(
            f"Generation throughput: {values['gen_throughput_window']} tok/s "
            f"acceptance length: {values['accept_length_window']} draft acceptance: {values['accept_rate_window']}%"
        )
    return "\n".join(lines) + "\n"


def test_observed_log_lines(played: PlayedStore, import_text: ImportText) -> None:
    run_id = import_text(as_printed(LINES))
    sql = "SELECT metric, value FROM results WHERE run_id = ?"
    rows = played.store.query(sql, [run_id]).to_pylist()
    metrics = {
        "gen_throughput_window": ("output_tps", 1),
        "accept_length_window": ("acceptance_length", 1),
        "accept_rate_window": ("acceptance_rate", 100),
    }

    def computed_value(number: PrintedNumber) -> float | None:
        metric, scale = metrics[number.metric]
        values = [row["value"] * scale for row in rows if row["metric"] == metric]
        return next((value for value in values if value == pytest.approx(number.value)), None)

    assert_recreated(LINES, computed_value)
    assert len(rows) == len(LINES.numbers)

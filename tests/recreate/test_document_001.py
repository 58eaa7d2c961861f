"""Document 001: llama-benchy's grids on one node and two, compile against eager, variants, tool calls and vision."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import pytest

from domain import JsonValue, Run
from load_records import Load, SuiteCheck
from reference.statements import Failure, read_table
from reports.known_issues import known_issues
from samples import GpuSample, Sample
from storage.queries import load_queries
from tests.known_truth.import_door import PlayedStore
from tests.known_truth.paced_server import RequestPace
from tests.known_truth.played_run import PlayedArm
from tests.recreate.conftest import ImportText
from tests.recreate.document_tables import (
    DocumentTable,
    PrintedNumber,
    assert_recreated,
    document_table,
    printed_difference,
    statement_lines,
)
from tests.recreate.shown_tables import LoadRows, PublishedCells, ShownCell
from tests.recreate.stand_ins import among, population_sd, spread, stand_in
from web import markup
from web.loads.panels.check_grid import grid, score
from web.run_notes.issue_list import failure_html
from workloads.plan import Phase, PlannedRequest

pytestmark = pytest.mark.wide

SINGLE = document_table("001", "llama-benchy, single user")
MULTI = document_table("001", "llama-benchy, c2 and c4")
COMPILE = document_table("001", "torch.compile against enforce-eager")
SUMMARY = document_table("001", "Summary of the single node")
DECODE_NODES = document_table("001", "Two nodes: token generation")
PREFILL_NODES = document_table("001", "Two nodes: prompt processing")
RESPONSE_NODES = document_table("001", "Two nodes: time to first response")
MEMORY_NODES = document_table("001", "Two nodes: memory in use")
VARIANTS = document_table("001", "Variants of Gemma 4")
PREFILL, DECODE, OUTPUT, TTFT = (
    f"{words} by point, {unit}"
    for words, unit in (
        ("Prefill speed", "tok/s"), ("Decode speed", "tok/s"), ("Output speed", "tok/s"),
        ("Time to first token", "ms"),
    )
)  # fmt: skip
REPEATS = 3
QUICK_S = 0.001  # to the first token, where a column says nothing of it
RATE, FIRST_TOKEN, TOGETHER = "t/s", "e2e_ttft", "t/s (total)"  # the column that is a stand-in's pace
Pace = Callable[[Phase, PlannedRequest, int], RequestPace]


class GridPlace(NamedTuple):
    """The point of a request of a grid."""

    pp: int
    tg: int
    depth: int
    concurrency: int


def place_of(phase: Phase, request: PlannedRequest) -> GridPlace:
    names = ("prompt_tokens", "output_tokens", "depth_tokens")
    return GridPlace(*(int(str(request.facts[name])) for name in names), phase.concurrency)


def printed(table: DocumentTable, place: GridPlace, *metrics: str) -> PrintedNumber | None:
    """Return the first of these metrics that a table prints for a point."""
    conditions = {"pp": str(place.pp), "tg": str(place.tg), "concurrency": str(place.concurrency)}
    return next(
        (
            number
            for metric in metrics
            for number in table.numbers
            if number.metric == metric and all(number.conditions[name] == value for name, value in conditions.items())
        ),
        None,
    )


# --- llama-benchy's grid ----------------------------------------------------------------------------------------------
def benchy_pace(column: str) -> Pace:
    """Return the pace of one column: its means and spreads over the requests of each point."""

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        place = place_of(phase, request)
        table, number = (SINGLE if place.concurrency == 1 else MULTI), REPEATS * place.concurrency
        decode = printed(table, place, "tg_tps", "tg_tps_req")
        rates = spread(*mean_and_sd(decode), number, is_harmonic=True)
        step_s, ttft_s = 1 / among(rates, sequence), QUICK_S
        if column == RATE:
            prefill = spread(*mean_and_sd(printed(table, place, "pp_tps", "pp_tps_req")), number, is_harmonic=True)
            ttft_s = place.pp / among(prefill, sequence)
        elif column == FIRST_TOKEN:
            ttft_s = among(spread(*mean_and_sd(printed(table, place, "e2e_ttft_ms")), number), sequence) / 1000
        elif place.concurrency > 1:
            step_s = ttft_s = place.concurrency / mean_and_sd(printed(table, place, "tg_tps_total"))[0]
        return RequestPace(ttft_s, step_s)

    return pace


def mean_and_sd(number: PrintedNumber | None) -> tuple[float, float]:
    assert number, "the document prints every point of its grid"
    return number.value, number.sd or 0.0


@pytest.fixture(scope="module")
def benchy(played: PlayedStore) -> PublishedCells:
    params: dict[str, JsonValue] = {
        "prompt_tokens": [128, 512, 2048], "output_tokens": [32, 128], "concurrency": [1, 2, 4], "repeats": REPEATS,
    }  # fmt: skip
    arms = [stand_in(column, benchy_pace(column), "grid", params) for column in (RATE, FIRST_TOKEN, TOGETHER)]
    return PublishedCells(played.store, played.play(arms, starts=1))


# Of each metric of the document: Pitwall's table by point, and the stand-in whose pace that column is. The columns
# that are left out are llama-benchy's own, which Pitwall's client does not measure; they are imported below.
GRID_CELLS = {
    "pp_tps": (PREFILL, RATE),
    "pp_tps_req": (PREFILL, RATE),
    "tg_tps": (DECODE, RATE),
    "tg_tps_req": (DECODE, RATE),
    "e2e_ttft_ms": (TTFT, FIRST_TOKEN),
}


@pytest.mark.parametrize("table", [SINGLE, MULTI], ids=lambda table: table.title)
def test_grid_means(benchy: PublishedCells, table: DocumentTable) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        title, column = GRID_CELLS[number.metric]
        return benchy.value(number.point, column, title)

    assert_recreated(table, computed_value, metrics=tuple(GRID_CELLS))


@pytest.mark.parametrize("table", [SINGLE, MULTI], ids=lambda table: table.title)
def test_grid_spreads(benchy: PublishedCells, table: DocumentTable) -> None:
    for number in (number for number in table.numbers if number.metric in GRID_CELLS):
        title, column = GRID_CELLS[number.metric]
        cell = benchy.cell(number.point, column, title)
        assert cell and cell.sd is not None and number.sd is not None, f"{number.point}: {number.metric}"
        shown_population_sd = population_sd(cell.sd, REPEATS * number.concurrency)
        assert shown_population_sd == pytest.approx(number.sd, rel=0.001, abs=0.0051), (
            f"{number.point}: {number.metric}"
        )


def test_output_of_concurrent_requests(benchy: PublishedCells, played: PlayedStore) -> None:
    """Of whole phases as Run shows it, and of their steady part in the table to publish."""
    (run_id,) = [run.id for run in benchy.data.runs if run.name.startswith(f"{TOGETHER} ")]
    load = LoadRows(played.store, run_id)
    only = ("tg_tps_total",)
    assert_recreated(MULTI, lambda number: load.value(number.point, "output_tps"), tolerance=0.001, metrics=only)
    assert_recreated(MULTI, lambda number: benchy.value(number.point, TOGETHER, OUTPUT), tolerance=0.001, metrics=only)


IMPORTED = {
    "pp_tps": "prompt_tps", "pp_tps_total": "prompt_tps", "pp_tps_req": "prompt_tps_per_request",
    "tg_tps": "decode_tps", "tg_tps_req": "decode_tps", "tg_tps_total": "output_tps",
    "tg_tps_peak": "peak_output_tps", "tg_tps_peak_total": "peak_output_tps", "tg_tps_peak_req": "peak_decode_tps",
    "ttfr_ms": "ttfr_ms", "est_ppt_ms": "prompt_ms", "e2e_ttft_ms": "ttft_ms",
}  # fmt: skip
HEADS = {
    SINGLE: ("t/s", "peak t/s", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"),
    MULTI: ("t/s (total)", "t/s (req)", "peak t/s", "peak t/s (req)", "ttfr (ms)", "est_ppt (ms)", "e2e_ttft (ms)"),
}


def as_benchy_prints(table: DocumentTable) -> str:
    """Return the table as llama-benchy prints it, from the rows of the document: one line of cells each."""
    heads = HEADS[table]
    lines = [f"llama-benchy 0.3.5, {REPEATS} runs per config", "", f"| model | test | {' | '.join(heads)} |"]
    lines.append("|---" * (len(heads) + 2) + "|")
    for line in dict.fromkeys(number.line for number in table.numbers):
        numbers = [number for number in table.numbers if number.line == line]
        first = numbers[0]
        test = "pp{pp}" if first.metric.startswith("pp") else "tg{tg}"
        suffix = f" (c{first.concurrency})" if table is MULTI else ""
        cells = "".join(f"| {n.value:.2f} ± {n.sd:.2f} " for n in numbers)
        lines.append(f"| google/gemma-4-31B-it | {test.format(**first.conditions)}{suffix} {cells}|")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("table", [SINGLE, MULTI], ids=lambda table: table.title)
def test_every_column_of_llama_benchy_itself(
    played: PlayedStore, import_text: ImportText, table: DocumentTable
) -> None:
    load = LoadRows(played.store, import_text(as_benchy_prints(table)))

    def computed_value(number: PrintedNumber) -> float | None:
        return load.value(number.point, IMPORTED[number.metric])

    assert_recreated(table, computed_value)


# --- compile against eager, and the summary ---------------------------------------------------------------------------
def by_length_pace(table: DocumentTable, config: str, column: str) -> Pace:
    """Return the pace of a table that states prompt speeds by prompt, and decode speeds by answer."""

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        place = place_of(phase, request)
        ttft_s = QUICK_S
        if column == RATE:
            ttft_s = place.pp / table.value(config, "pp_tps", pp=place.pp)
        elif place.pp in (128, 512):
            ttft_s = table.value(config, "ttft_ms", pp=place.pp) / 1000
        return RequestPace(ttft_s, 1 / table.value(config, "tg_tps", tg=place.tg))

    return pace


COMPILE_NAMES = {"fp8_tp1_eager": "enforce-eager", "fp8_tp1": "compiled"}
COMPILE_DELTAS = {  # line of the document -> Pitwall's table and point
    72: (DECODE, "pp128 tg32 d0 c1"),
    73: (DECODE, "pp128 tg128 d0 c1"),
    74: (PREFILL, "pp128 tg32 d0 c1"),
    75: (PREFILL, "pp512 tg32 d0 c1"),
    76: (PREFILL, "pp2048 tg32 d0 c1"),
    77: (TTFT, "pp128 tg32 d0 c1"),
    78: (TTFT, "pp512 tg32 d0 c1"),
}


@pytest.fixture(scope="module")
def compiled(played: PlayedStore) -> dict[str, PublishedCells]:
    """Both servers by column: with the prefill speeds that the table prints, and with its times to first token."""
    params: dict[str, JsonValue] = {"prompt_tokens": [128, 512, 2048], "output_tokens": [32, 128], "repeats": 1}
    fields = {}
    for column in (RATE, FIRST_TOKEN):
        arms = [
            stand_in(name, by_length_pace(COMPILE, config, column), "grid", params)
            for config, name in COMPILE_NAMES.items()
        ]
        fields[column] = PublishedCells(played.store, played.play(arms, starts=1))
    return fields


def test_compiled_against_eager(compiled: dict[str, PublishedCells]) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        title, point = COMPILE_DELTAS[number.line]
        column = FIRST_TOKEN if title == TTFT else RATE
        return compiled[column].value(point, COMPILE_NAMES[number.config.removeprefix("s001.")], title)

    assert_recreated(COMPILE, computed_value)
    for line, (title, point) in COMPILE_DELTAS.items():
        ratio = compiled[FIRST_TOKEN if title == TTFT else RATE].difference(point, "compiled", title)
        assert 100 * (ratio - 1) == pytest.approx(printed_difference(f"s001.delta_l{line}"), abs=0.1), line


def test_summary_of_the_single_node(benchy: PublishedCells, played: PlayedStore, import_text: ImportText) -> None:
    """The grid again; its prompt speed at four is llama-benchy's of all requests, its last row a mean over answers."""
    imported = LoadRows(played.store, import_text(as_benchy_prints(MULTI)))

    def computed_value(number: PrintedNumber) -> float | None:
        pp, tg = number.conditions["pp"] or "128", number.conditions["tg"]
        points = [f"pp{pp} tg{n} d0 c{number.concurrency}" for n in ([tg] if tg else [32, 128])]
        if number.metric == "pp_tps_total":
            return imported.value(points[-1], "prompt_tps")
        cells = {
            "pp_tps": (PREFILL, RATE), "tg_tps": (DECODE, RATE), "tg_tps_total": (OUTPUT, TOGETHER),
            "ttft_ms": (TTFT, FIRST_TOKEN),
        }  # fmt: skip
        title, column = cells[number.metric]
        values = [benchy.value(point, column, title) for point in points]
        known_values = [value for value in values if value is not None]
        return sum(known_values) / len(known_values) if len(known_values) == len(points) else None

    assert_recreated(SUMMARY, computed_value)


# --- two nodes --------------------------------------------------------------------------------------------------------
NODES = {"fp8_tp1": "TP=1", "fp8_tp2": "TP=2"}
DEPTHS = (0, 4096, 8192, 16384)


def node_pace(config: str, column: str) -> Pace:
    """Return the pace over depths; at the depth that a table leaves out, the first token comes at once."""
    table = PREFILL_NODES if column == RATE else RESPONSE_NODES

    def pace(phase: Phase, request: PlannedRequest, sequence: int) -> RequestPace:
        place, ttft_s = place_of(phase, request), QUICK_S
        if place.depth != 4096:
            metric = "pp_tps" if column == RATE else "ttfr_ms"
            number = table.number(config, metric, depth=place.depth)
            value = among(spread(*mean_and_sd(number), REPEATS, is_harmonic=True), sequence)
            ttft_s = (place.pp + place.depth) / value if column == RATE else number.value / 1000
        decode = DECODE_NODES.number(config, "tg_tps", depth=place.depth)
        rates = spread(*mean_and_sd(decode), REPEATS, is_harmonic=True)
        return RequestPace(ttft_s, 1 / among(rates, sequence))

    return pace


@pytest.fixture(scope="module")
def nodes(played: PlayedStore) -> dict[str, PublishedCells]:
    params: dict[str, JsonValue] = {
        "prompt_tokens": [2048], "output_tokens": [128], "depth_tokens": list(DEPTHS), "repeats": REPEATS,
    }  # fmt: skip
    return {
        column: PublishedCells(
            played.store,
            played.play(
                [stand_in(name, node_pace(config, column), "grid", params) for config, name in NODES.items()], starts=1
            ),
        )
        for column in (RATE, FIRST_TOKEN)
    }


def node_cell(nodes: dict[str, PublishedCells], number: PrintedNumber) -> ShownCell | None:
    titles = {"tg_tps": (DECODE, RATE), "pp_tps": (PREFILL, RATE), "ttfr_ms": (TTFT, FIRST_TOKEN)}
    title, column = titles[number.metric]
    point = f"pp2048 tg128 d{number.conditions['depth']} c1"
    return nodes[column].cell(point, NODES[number.config.removeprefix("s001.")], title)


@pytest.mark.parametrize(
    ("table", "claims"),
    [(DECODE_NODES, "s001.tp_tg_d{}"), (PREFILL_NODES, "s001.tp_pp_d{}"), (RESPONSE_NODES, "s001.tp_ttfr_d{}")],
    ids=lambda value: getattr(value, "title", ""),
)
def test_two_nodes(nodes: dict[str, PublishedCells], table: DocumentTable, claims: str) -> None:
    def computed_value(number: PrintedNumber) -> float | None:
        cell = node_cell(nodes, number)
        return None if cell is None else cell.value

    assert_recreated(table, computed_value)
    for number in table.numbers:
        cell = node_cell(nodes, number)
        assert cell
        if number.sd is not None:
            assert population_sd(cell.sd or 0.0, REPEATS) == pytest.approx(number.sd, rel=0.001, abs=0.001)
        if number.config.endswith("tp2"):
            assert cell.difference
            speedup = 1 / cell.difference if number.metric == "ttfr_ms" else cell.difference
            claim = printed_difference(claims.format(number.conditions["depth"]))
            assert speedup == pytest.approx(claim, abs=0.06), number.line


def test_memory_of_two_nodes(played: PlayedStore, import_text: ImportText) -> None:
    values_by_node = {number.conditions["node"]: number.value for number in MEMORY_NODES.numbers}

    def samples(run: Run) -> Iterator[Sample]:
        assert run.ready_at
        for index, (node, mb) in enumerate(values_by_node.items()):
            number = int(mb) * 2**20
            yield GpuSample(
                run.id, run.ready_at, 100.0, node, 0, f"GPU-{index}", "NVIDIA GB10", process_memory_bytes=number
            )

    arm = stand_in("two nodes", lambda *_: RequestPace(QUICK_S, 0.02), "ladder", {"tokens": 8, "rungs": [1]})
    (run_id,) = played.play([replace(arm, further_rows=samples)], starts=1)
    total = PublishedCells(played.store, [run_id]).value("Peak GPU memory", "two nodes")
    assert total is not None and total * 1024 == pytest.approx(sum(values_by_node.values()))
    sql = "SELECT machine_id, max(process_memory_bytes) / 2**20 AS mb FROM gpu_samples WHERE run_id = ? GROUP BY ALL"
    by_node = {row["machine_id"]: row["mb"] for row in played.store.query(sql, [run_id]).to_pylist()}
    assert_recreated(MEMORY_NODES, lambda number: by_node.get(number.conditions["node"]))
    text = "| Node | VRAM used |\n|---|---|\n" + "".join(
        f"| {node} | {mb:,.0f} MB |\n" for node, mb in values_by_node.items()
    )
    imported = LoadRows(played.store, import_text(text))
    values = {point: row.value for (point, _, _), row in imported.rows.items()}
    assert_recreated(
        MEMORY_NODES,
        lambda number: next((value for point, value in values.items() if number.conditions["node"] in point), None),
    )


# --- variants, tool calls and vision ----------------------------------------------------------------------------------
def test_variants_of_the_model(played: PlayedStore) -> None:
    """The mixture's speed is printed as a range: its stand-in is in the middle."""
    numbers = VARIANTS.numbers
    names = list(dict.fromkeys(number.config.removeprefix("s001.") for number in numbers))
    true_tps = {
        name: sum(of_name) / len(of_name)
        for name in names
        if (of_name := [number.value for number in numbers if number.config == f"s001.{name}"])
    }

    def arm(name: str) -> PlayedArm:
        pace = RequestPace(QUICK_S, 1 / true_tps[name])
        return stand_in(name, lambda *_: pace, "ladder", {"tokens": 32, "repeats": 1, "rungs": [1]})

    published = PublishedCells(played.store, played.play([arm(name) for name in names], starts=1))

    def computed_value(number: PrintedNumber) -> float | None:
        value = published.value("Stream speed", number.config.removeprefix("s001."))
        is_bound = number.metric.endswith(("_low", "_high"))
        is_within = value is not None and number.metric.endswith("_low") == (value >= number.value)
        return number.value if is_bound and is_within else value

    assert_recreated(VARIANTS, computed_value)


VERDICTS = [row for row in read_table("validations") if row["kind"] in ("tool_calling", "vision")]


def test_tool_calls_and_vision(played: PlayedStore) -> None:
    """Each row of the matrix has its verdict in the grid of checks that Run shows; so has the picture."""

    def checks(run: Run) -> Iterator[Sample]:
        yield Load(run.id, "checks", run.created_at, "pitwall", "tool-calls")
        for row in VERDICTS:
            suite = {"tool_calling": "tool calls", "vision": "vision"}[row["kind"]]
            mode = row["mode"] or "streaming"
            yield SuiteCheck(
                run.id, "checks", run.created_at, suite, row["subject"], mode, row["is_pass"] == "true", row["result"]
            )

    arm = stand_in("matrix", lambda *_: RequestPace(QUICK_S, 0.02), "ladder", {"tokens": 8, "rungs": [1]})
    (run_id,) = played.play([replace(arm, further_rows=checks)], starts=1)
    stored = load_queries.outcomes(played.store, [run_id])[run_id]["checks"].checks
    tools = [check for check in stored if check.suite == "tool calls"]
    printed_rows = [row for row in VERDICTS if row["kind"] == "tool_calling"]
    assert [row["line"] for row in printed_rows] == statement_lines("001", "Tool calls")
    head, cells = grid(tools)
    shown = {(row[0], mode): cell for row in cells for mode, cell in zip(head[1:], row[1:], strict=True)}
    for row in printed_rows:
        cell = shown[row["subject"], row["mode"]]
        assert "pw-check-pass" in cell and row["result"].replace("<", "&lt;") in cell, row["subject"]
    assert score("tool calls", tools) == f"tool calls: {len(printed_rows)} of {len(printed_rows)} pass"
    (vision,) = [check for check in stored if check.suite == "vision"]
    assert vision.is_pass and (vision.why or "").startswith("all named")


def test_open_issues_of_vllm() -> None:
    """Each row is in the list of known issues, with its number and what to do."""
    rows = [row for row in read_table("failures") if (row["source"], row["kind"]) == ("001", "open_issue")]
    lines = [line for line in statement_lines("001", "Open issues of vLLM") if line != "161"]  # 160 goes on there
    assert [row["line"] for row in rows] == lines
    shown_text = "".join(failure_html(issue.entry) for issue in known_issues(()) if isinstance(issue.entry, Failure))
    for row in rows:
        for text in filter(None, (row["quote"], row["issue"], row["workaround"])):
            assert markup.text(text) in shown_text, f"line {row['line']}: {text}"

"""Reads the printed tables of llama-bench, llama-batched-bench and llama-sweep-bench, with the lines around them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.prose.metric_names import DERIVED
from collectors.imports.results.prose.tables import Table, cells_of
from collectors.imports.results.tools import batched_bench
from collectors.imports.results.tools.llama_bench import BenchTest, loads_of_tests
from collectors.imports.results.tools.printed_block import command_among, heading_params, model_of
from domain import JsonValue

SETTINGS = {  # head of a column -> name in llama-bench's CSV
    "model": "model_type", "size": "model_size", "params": "model_n_params", "backend": "backends",
    "ngl": "n_gpu_layers", "threads": "n_threads", "fa": "flash_attn", "sm": "split_mode", "mg": "main_gpu",
    "ts": "tensor_split", "ot": "tensor_buft_overrides", "mmap": "use_mmap", "dio": "use_direct_io",
    "embd": "embeddings", "nkvo": "no_kv_offload", "nopo": "no_op_offload", "ncmoe": "n_cpu_moe", "dev": "devices",
    "nohost": "no_host",
    "noh": "no_host", "lm": "load_mode", "fitt": "fit_target", "fitc": "fit_min_ctx", "mla": "mla_attn",
    "amb": "attn_max_batch", "fmoe": "fused_moe", "rtr": "repack", "gr": "reuse", "ger": "grouped_er",
}  # fmt: skip
SETTING_HEAD = re.compile(r"[\w-]{1,24}")
TEST = re.compile(  # 'tg128@pp512': after a prompt that is not timed
    r"(?:pp ?(?P<pp>\d{1,9}))?\+?(?:tg ?(?P<tg>\d{1,9}))?(?: ?@ ?(?:d|pp)(?P<depth>\d{1,9}))?"
)
SPEED = re.compile(
    r"(?P<tps>\d{1,12}(?:\.\d{1,9})?)(?: ?(?:±|┬▒|Â±|\+/-|\+-|\ufffd{1,2}) ?(?P<sd>\d{1,12}(?:\.\d{1,9})?))?"
)
COMPARED_HEAD = re.compile(r"t/s (?P<build>\S{1,120})")
COMPARED_SETTINGS = {"gpu": "gpu_info", "cpu": "cpu_info", "model": "model_type", "microbatch size": "n_ubatch"}
BUILD = re.compile(r"build: (?P<commit>[0-9a-f]{6,40}|unknown) \((?P<number>\d{1,9})\)")
DEVICES = (
    re.compile(r"\s*Device \d{1,3}: (?P<name>[^,]{1,100}), compute capability"),
    re.compile(r"\s*Device \d{1,3}: (?P<name>[^,]{1,100}), gfx"),
    re.compile(r"ggml_vulkan: \d{1,3} = (?P<name>[^|]{1,120}?) \|"),
    re.compile(r"ggml_metal_(?:device_)?init: GPU name: {1,4}(?P<name>.{1,100})"),
)
MODEL_FILE = re.compile(r"llama_model_loader: loaded meta data .{1,120} from (?P<path>.{1,400}?) \(version ")
BENCH_CONFIG = re.compile(r"\w{1,40}: (?P<settings>n_kv_max = .{1,400})")
BENCH_PROGRAM = re.compile(r"\bllama-(?:batched|sweep)-bench\b(?= {1,8}[-\\])")
ROW_NAMES = {  # head of a column -> name in the JSON lines
    "PP": "pp", "TG": "tg", "B": "pl", "N_KV": "n_kv", "T_PP S": "t_pp", "S_PP T/S": "speed_pp", "T_TG S": "t_tg",
    "S_TG T/S": "speed_tg", "T S": "t", "S T/S": "speed", "RSS HWM": "rss_hwm_mib", "VRAM DELTA": "vram_delta_mib",
}  # fmt: skip
NEEDED_ROW_NAMES = {"pp", "tg", "speed_pp", "speed_tg"}


def has_printed_table(head: str) -> bool:
    """Return whether a text has the head of such a table."""
    lines = (line for line in head.splitlines() if line.count("|") > 2 and len(line) < 4096)
    return any("t/s" in line and (is_llama_bench(heads := cells_of(line)) or _is_batched(heads)) for line in lines)


def is_printed_table(table: Table) -> bool:
    """Return whether one of the three tools printed a table, or a script that compares builds by llama-bench."""
    return is_llama_bench(table.heads) or _is_batched(table.heads) or bool(_compared_builds(table.heads))


def read(tables: Sequence[Table], content: str, ticket: Ticket, first_number: int) -> list[LoadBuilder]:
    """Return the loads of such tables; the lines around a table name build, device and model."""
    lines, end = content.splitlines(), 0
    loads: list[LoadBuilder] = []
    tests: list[BenchTest] = []
    notes: list[str] = []
    # Some print the build above their table, where others have that of the table before.
    is_build_above = bool(_build_of(lines[: tables[0].line - 1])) if tables else False
    for index, table in enumerate(tables):
        before = lines[end : table.line - 1]
        end = table.line_of(len(table.rows) - 1)
        after = lines[end : tables[index + 1].line - 1 if index + 1 < len(tables) else None]
        if builds := _compared_builds(table.heads):
            tests += _compared_tests(table, builds, _surroundings(before), notes)
        elif is_llama_bench(table.heads):
            heading = {"table": table.heading} if table.heading else {}
            tests += _bench_tests(
                table, heading | _surroundings(before) | _build_of(before if is_build_above else after), notes
            )
        else:
            loads.append(_batched_load(table, before, ticket, first_number + len(loads)))
    bench_loads = loads_of_tests(tests, ticket, first_number + len(loads)) if tests else []
    for load in bench_loads[:1] or loads[:1]:
        load.notes += notes
    return bench_loads + loads


def _plain(cell: str) -> str:
    return cell.strip().strip("*`").strip()


def _surroundings(before: Sequence[str]) -> dict[str, JsonValue]:
    """Return what the lines before a table state: GPUs and the model's file."""
    devices = [match["name"].strip() for line in before for pattern in DEVICES if (match := pattern.match(line[:1000]))]
    paths = [match["path"] for line in before if (match := MODEL_FILE.search(line[:1000]))]
    facts: dict[str, JsonValue] = {"gpu_info": ", ".join(devices)} if devices else {}
    return facts | ({"model_filename": paths[-1]} if paths else {})


def _build_of(after: Sequence[str]) -> dict[str, JsonValue]:
    match = next((match for line in after if (match := BUILD.search(line[:1000]))), None)
    return {"build_commit": match["commit"], "build_number": int(match["number"])} if match else {}


# --- llama-bench ------------------------------------------------------------------------------------------------------
def is_llama_bench(heads: Sequence[str]) -> bool:
    """Return whether heads are those of llama-bench, all or some of them."""
    names = {_plain(head).lower() for head in heads}
    is_shortened = names <= {"model", "test", "t/s", *SETTINGS}
    return {"model", "test", "t/s"} <= names and (is_shortened or bool({"size", "params", "backend"} & names))


def _bench_tests(table: Table, facts: Mapping[str, JsonValue], notes: list[str]) -> list[BenchTest]:
    heads = [_plain(head) for head in table.heads]
    left_out = [head for head in heads if not SETTING_HEAD.fullmatch(head) and head.lower() != "t/s" and head]
    notes += [f"The column {head!r} was left out." for head in left_out if not DERIVED.search(head)]
    tests = []
    for line, row in table.numbered_rows():
        cells = {head: _plain(cell) for head, cell in zip(heads, row, strict=False)}
        lowered = {head.lower(): cell for head, cell in cells.items()}
        test, speed = TEST.fullmatch(lowered.get("test", "")), SPEED.fullmatch(lowered.get("t/s", ""))
        if test is None or speed is None or not (test["pp"] or test["tg"]):
            notes.append(f"Line {line} was left out: it is not a complete row of llama-bench.")
            continue
        config = {
            SETTINGS.get(head.lower(), head): int(cell) if re.fullmatch(r"-?\d{1,9}", cell) else cell
            for head, cell in cells.items()
            if head.lower() not in ("test", "t/s") and head not in left_out and not DERIVED.search(head) and cell
        }
        tests.append(
            BenchTest(
                line, dict(facts) | config, int(test["pp"] or 0), int(test["tg"] or 0), int(test["depth"] or 0),
                float(speed["tps"]), float(speed["sd"]) if speed["sd"] else None,
            )
        )  # fmt: skip
    return tests


def _compared_builds(heads: Sequence[str]) -> dict[int, str]:
    """Return the builds that llama.cpp's script compares by column: the heads are 't/s master', 't/s my-branch'."""
    names = [_plain(head) for head in heads]
    builds = {index: match["build"] for index, name in enumerate(names) if (match := COMPARED_HEAD.fullmatch(name))}
    return builds if {"model", "test"} <= {name.lower() for name in names} else {}


def _compared_tests(
    table: Table, builds: Mapping[int, str], facts: Mapping[str, JsonValue], notes: list[str]
) -> list[BenchTest]:
    """Return a test for each row and build; the columns beside them are settings."""
    heads = [_plain(head) for head in table.heads]
    tests = []
    for build_index, build in builds.items():
        for line, row in table.numbered_rows():
            cells = [_plain(cell) for cell in row]
            test = TEST.fullmatch(
                next((cell for head, cell in zip(heads, cells, strict=False) if head.lower() == "test"), "")
            )
            speed = SPEED.fullmatch(cells[build_index]) if build_index < len(cells) else None
            if test is None or speed is None or not (test["pp"] or test["tg"]):
                notes.append(f"Line {line} was left out of build {build}: it is not a complete row.")
                continue
            settings = {
                COMPARED_SETTINGS.get(head.lower(), head.lower().replace(" ", "_")): _number_of(cell)
                for index, (head, cell) in enumerate(zip(heads, cells, strict=False))
                if index not in builds and head.lower() != "test" and not DERIVED.search(head) and cell
            }
            tests.append(
                BenchTest(
                    line, dict(facts) | settings | {"build": build}, int(test["pp"] or 0), int(test["tg"] or 0),
                    int(test["depth"] or 0), float(speed["tps"]), float(speed["sd"]) if speed["sd"] else None,
                )
            )  # fmt: skip
    return tests


# --- llama-batched-bench, llama-sweep-bench ---------------------------------------------------------------------------
def _row_names(heads: Sequence[str]) -> list[str | None]:
    return [ROW_NAMES.get(" ".join(_plain(head).upper().split())) for head in heads]


def _is_batched(heads: Sequence[str]) -> bool:
    return set(_row_names(heads)) >= NEEDED_ROW_NAMES


def _batched_load(table: Table, before: Sequence[str], ticket: Ticket, number: int) -> LoadBuilder:
    names = _row_names(table.heads)
    matches = [match for line in before if (match := BENCH_CONFIG.match(line[:1000]))]
    settings = dict(_pairs(matches[-1]["settings"])) if matches else {}
    facts = _surroundings(before)
    heading = {"heading": table.heading} if table.heading else heading_params(before, len(before))
    load = batched_bench.new_load(ticket, "pl" in names, heading | facts | settings, number)
    path = facts.get("model_filename")
    command = command_among(before, BENCH_PROGRAM)
    load.model = path if isinstance(path, str) else model_of(command) if command else None
    for line, row in table.numbered_rows():
        values = {name: _number_of(_plain(cell)) for name, cell in zip(names, row, strict=False) if name}
        if len(row) < len(names) or not batched_bench.add_row(load, values, line):
            load.notes.append(f"Line {line} was left out: it is not a complete row.")
    return load


def _pairs(settings: str) -> list[tuple[str, JsonValue]]:
    pairs = [pair.partition(" = ") for pair in settings.split(", ")]
    return [(name.strip(), _number_of(value.strip())) for name, _, value in pairs if value]


def _number_of(cell: str) -> Any:
    """Return the number in a cell, whole if it is written so; any other text as it is."""
    if re.fullmatch(r"-?\d{1,15}", cell):
        return int(cell)
    return float(cell) if re.fullmatch(r"\d{1,15}\.\d{1,9}", cell) else cell

"""Reads the output folder of a tool: files that belong together become one load."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.compression import plain_name
from collectors.imports.results.source import ResultFile
from collectors.imports.results.tools import aiperf, benchy, benchy_progress, bfcl, evalscope, lm_eval, serving
from collectors.imports.results.values import digest
from load_records import Result

MAX_FILES = 5_000
MAX_DEPTH = 8
RESULTS = re.compile(r"results?_(?P<stamp>.+)\.json|(?P<fixed>.+)_(?P<when>\d{4}-\d{2}-\d{2}T[\d.-]+)\.json")
ITEMS = re.compile(r"samples_(?P<task>.+)_(?P<stamp>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
PHASES = "phases"
PROFILE, RECORDS, TABLE = "profile_export_aiperf.json", "profile_export.jsonl", "profile_export_aiperf.csv"
SUMMARY = "benchmark_summary.json"
BENCHY, EVENTS = "result.json", "progress.jsonl"  # as Pitwall's llama-benchy command names them
SWEEP_RUN = re.compile(r"run=\d{1,6}\.json")
KNOWN_TOOLS = f"lm-eval, BFCL, EvalScope, AIPerf, llama-benchy and {serving.SWEEP}"

Files = Mapping[Path, ResultFile]  # by path relative to the folder


class ResultFolder(NamedTuple):
    """Files of a folder that will be read, and their reader."""

    name: str
    files: Files
    read: Callable[[Files, Ticket], list[LoadBuilder]]

    @property
    def sha256(self) -> str:
        """Hash of all file names and file hashes; raises ImportRefusedError if a file is too large."""
        return digest([[str(path), source.sha256] for path, source in sorted(self.files.items())])


def open_folder(path: Path, is_cut: bool = False) -> ResultFolder:
    """Find the result files of a folder; raises ImportRefusedError if no known tool wrote it.

    is_cut: the tool was stopped before it finished; truncated JSON files are then left out.
    """
    paths = sorted(_walk(path), reverse=True)  # of a packed and a plain copy the plain one, which comes later, is read
    files = {
        plain_name(file_path.relative_to(path)): ResultFile(file_path, file_path.name, is_cut) for file_path in paths
    }
    if is_cut:
        files = {file_path: source for file_path, source in files.items() if not source.is_truncated_json()}
    if _is_benchy(files):
        return ResultFolder(path.name, files, _read_benchy)
    if is_cut and list(files) == [Path(EVENTS)] and benchy_progress.recognise(files[Path(EVENTS)].head):
        return ResultFolder(
            path.name, files, lambda files_to_read, ticket: benchy_progress.read(files_to_read[Path(EVENTS)], ticket)
        )
    for is_of_tool, read_files in ((_is_aiperf, _read_aiperf), (_is_evalscope, _read_evalscope), (_is_bfcl, _read_bfcl),
                         (_is_lm_eval, _read_lm_eval), (_is_sweep, _read_sweep)):  # fmt: skip
        tool_files = {file_path: source for file_path, source in files.items() if is_of_tool(file_path)}
        if tool_files:
            return ResultFolder(path.name, tool_files, read_files)
    raise ImportRefusedError(f"Not a results folder Pitwall knows: {path.name} ({KNOWN_TOOLS}).")


def _numbered_ticket(ticket: Ticket, number: int) -> Ticket:
    """Return the ticket of one of several loads of a folder."""
    return ticket._replace(token=f"{ticket.token}-{number}")


def _walk(top: Path) -> list[Path]:
    """Return the files below a folder, without following links."""
    paths: list[Path] = []
    for folder, subfolders, names in os.walk(top, followlinks=False):
        depth = len(Path(folder).relative_to(top).parts)
        subfolders[:] = sorted(subfolders) if depth < MAX_DEPTH else []
        paths += [Path(folder) / name for name in sorted(names) if not (Path(folder) / name).is_symlink()]
        if len(paths) > MAX_FILES:
            raise ImportRefusedError(f"{top.name} has more than {MAX_FILES:,} files: import the folder of one run.")
    return paths


# --- llama-benchy -----------------------------------------------------------------------------------------------------
def _is_benchy(files: Files) -> bool:
    """Return whether the folder has exactly the result and progress files of llama-benchy."""
    is_pair = {path.as_posix() for path in files} == {BENCHY, EVENTS}
    return is_pair and benchy_progress.recognise(files[Path(EVENTS)].head)


def _read_benchy(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    loads = benchy.read(files[Path(BENCHY)], ticket)
    for load in loads:
        benchy_progress.add_requests(load, files[Path(EVENTS)])
    return loads


# --- vllm bench sweep -------------------------------------------------------------------------------------------------
def _is_sweep(path: Path) -> bool:
    """Return whether a file has one run of a sweep; the summaries beside it repeat the runs."""
    return SWEEP_RUN.fullmatch(path.name) is not None


def _read_sweep(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    return [
        load
        for number, (_, source) in enumerate(sorted(files.items()))
        for load in serving.read(source, _numbered_ticket(ticket, number))
    ]


# --- AIPerf -----------------------------------------------------------------------------------------------------------
def _is_aiperf(path: Path) -> bool:
    return path.name in (PROFILE, RECORDS, TABLE)


def _read_aiperf(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """Read one load per run folder; its subfolders of phases repeat the same data and are skipped."""
    folders = {path.parent for path in files}
    run_folders = [
        folder for folder in folders if not (folder.parent.name == PHASES and folder.parent.parent in folders)
    ]
    loads = []
    for number, folder in enumerate(sorted(run_folders)):
        run_files = {path.name: source for path, source in files.items() if path.parent == folder}
        loads.append(_aiperf_load(run_files, _numbered_ticket(ticket, number)))
    return loads


def _aiperf_load(files: Mapping[str, ResultFile], ticket: Ticket) -> LoadBuilder:
    """Read the summary from the JSON, which has full precision; the CSV is rounded to two decimal places."""
    if PROFILE in files:
        load = aiperf.read_profile(files[PROFILE], ticket)
    elif TABLE in files:
        load = aiperf.read_csv(files[TABLE], ticket)
    else:
        load = LoadBuilder(ticket, aiperf.TOOL, None, aiperf.TOOL, ticket.file_date)
    if RECORDS in files:
        concurrency = next((row.concurrency for row in load.rows if isinstance(row, Result)), None)
        aiperf.add_requests(load, files[RECORDS], concurrency)
    return load


# --- EvalScope --------------------------------------------------------------------------------------------------------
def _is_evalscope(path: Path) -> bool:
    return path.name == SUMMARY or path.name in (
        "benchmark_args.json",
        "benchmark_percentile.json",
        "speed_benchmark.json",
        "benchmark_data.db",
    )


def _read_evalscope(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    load = LoadBuilder(ticket, evalscope.TOOL, None, evalscope.TOOL, ticket.file_date)
    levels = sorted({path.parent for path in files if path.name == SUMMARY}, key=_level_order)
    if not levels:
        raise ImportRefusedError(f"{ticket.source_name} has no {SUMMARY} of EvalScope: was it interrupted?")
    for level_index, folder in enumerate(levels):
        level_files = {path.name: source for path, source in files.items() if path.parent == folder}
        evalscope.add_level(load, level_index, level_files)
    return [load]


def _level_order(folder: Path) -> tuple[int, ...]:
    return tuple(int(number[:9]) for number in re.findall(r"\d+", folder.name))


# --- BFCL -------------------------------------------------------------------------------------------------------------
def _is_bfcl(path: Path) -> bool:
    return bfcl.FILE_NAME.fullmatch(path.name) is not None or path.name == bfcl.CASES


def _read_bfcl(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """Read one load per model: 'result/<model>/<group>/BFCL_v4_<category>_result.json' and the same below 'score'."""
    loads = []
    cases = next((bfcl.cases_of(source) for path, source in files.items() if path.name == bfcl.CASES), {})
    files = {path: source for path, source in files.items() if path.name != bfcl.CASES}
    if not files:
        raise ImportRefusedError(f"{ticket.source_name} has no answers of BFCL: was it interrupted?")
    models = sorted({_model_of(path) for path in files})
    for number, model in enumerate(models):
        load = bfcl.new_load(_numbered_ticket(ticket, number), model or None)
        model_paths = [path for path in files if _model_of(path) == model]
        for category in sorted({bfcl.category_of(path.name) for path in model_paths}):
            pair = {kind: _first(files, model_paths, category, kind) for kind in ("score", "result")}
            bfcl.add_category(load, category, pair["score"], pair["result"], cases.get(category))
        loads.append(load)
    return loads


def _model_of(path: Path) -> str:
    return path.parts[-3] if len(path.parts) > 2 else ""


def _first(files: Files, paths: list[Path], category: str, kind: str) -> ResultFile | None:
    matches = [path for path in paths if bfcl.category_of(path.name) == category and path.stem.endswith(kind)]
    return files[matches[0]] if matches else None


# --- lm-eval ----------------------------------------------------------------------------------------------------------
def _is_lm_eval(path: Path) -> bool:
    return (RESULTS.fullmatch(path.name) or ITEMS.fullmatch(path.name)) is not None


def _read_lm_eval(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """Read one load per results file, with the sample files that have its time in their names."""
    loads: list[LoadBuilder] = []
    for path, source in sorted(files.items()):
        match = RESULTS.fullmatch(path.name)
        if match and not path.name.startswith("samples_"):
            items = _items_of(files, path.parent, match["stamp"] or match["when"])
            loads.append(lm_eval.read_results(source, _numbered_ticket(ticket, len(loads)), items))
    if not loads:
        raise ImportRefusedError(f"{ticket.source_name} has no results file of lm-eval: was it interrupted?")
    return loads


def _items_of(files: Files, folder: Path, stamp: str) -> dict[str, ResultFile]:
    return {
        match["task"]: source
        for path, source in files.items()
        if path.parent == folder and (match := ITEMS.fullmatch(path.name)) and match["stamp"] == stamp
    }

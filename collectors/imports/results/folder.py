"""Reads a tool's output folder: files that belong together become one load."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from collectors.imports.log_file import ImportRefusedError
from collectors.imports.results.builder import LoadBuilder, Ticket
from collectors.imports.results.packed import plain_name
from collectors.imports.results.source import Source
from collectors.imports.results.tools import aiperf, benchy, benchy_progress, bfcl, evalscope, lm_eval
from collectors.imports.results.values import digest
from load_records import Result

MOST_FILES = 5_000
MOST_DEPTH = 8
RESULTS = re.compile(r"results?_(?P<stamp>.+)\.json|(?P<fixed>.+)_(?P<when>\d{4}-\d{2}-\d{2}T[\d.-]+)\.json")
ITEMS = re.compile(r"samples_(?P<task>.+)_(?P<stamp>\d{4}-\d{2}-\d{2}T[\d.-]+)\.jsonl")
PHASES = "phases"
PROFILE, RECORDS, TABLE = "profile_export_aiperf.json", "profile_export.jsonl", "profile_export_aiperf.csv"
SUMS = "benchmark_summary.json"
BENCHY, EVENTS = "result.json", "progress.jsonl"  # as our own command of llama-benchy names them
KNOWN = "lm-eval, BFCL, EvalScope, AIPerf and llama-benchy"

Files = Mapping[Path, Source]  # by their paths below the folder


class Folder(NamedTuple):
    """What will be read of a folder, and how."""

    name: str
    files: Files
    read: Callable[[Files, Ticket], list[LoadBuilder]]

    @property
    def sha256(self) -> str:
        """The hash of all names and hashes read; raises ImportRefusedError for a file that is too large."""
        return digest([[str(path), source.sha256] for path, source in sorted(self.files.items())])


def look_into(path: Path, is_cut: bool = False) -> Folder:
    """What a folder holds; raises ImportRefusedError where it is no tool's.

    Of a tool that was ended before it was through, a file that breaks off in its one value is left out.
    """
    found = sorted(_walk(path), reverse=True)  # a file that lies there both ways is read as it is, which comes later
    files = {plain_name(one.relative_to(path)): Source(one, one.name, is_cut) for one in found}
    if is_cut:
        files = {place: source for place, source in files.items() if not source.breaks_off()}
    if _is_benchy(files):
        return Folder(path.name, files, _read_benchy)
    if is_cut and list(files) == [Path(EVENTS)] and benchy_progress.recognise(files[Path(EVENTS)].head):
        return Folder(path.name, files, lambda found, ticket: benchy_progress.read(found[Path(EVENTS)], ticket))
    for wanted, read in ((_is_aiperf, _read_aiperf), (_is_evalscope, _read_evalscope), (_is_bfcl, _read_bfcl),
                         (_is_lm_eval, _read_lm_eval)):  # fmt: skip
        taken = {place: source for place, source in files.items() if wanted(place)}
        if taken:
            return Folder(path.name, taken, read)
    raise ImportRefusedError(f"{path.name} is no folder of results that is known here ({KNOWN}).")


def _nth(ticket: Ticket, number: int) -> Ticket:
    """That of one of several loads of a folder."""
    return ticket._replace(token=f"{ticket.token}-{number}")


def _walk(top: Path) -> list[Path]:
    """Its files, links not followed."""
    found: list[Path] = []
    for folder, below, names in os.walk(top, followlinks=False):
        depth = len(Path(folder).relative_to(top).parts)
        below[:] = sorted(below) if depth < MOST_DEPTH else []
        found += [Path(folder) / name for name in sorted(names) if not (Path(folder) / name).is_symlink()]
        if len(found) > MOST_FILES:
            raise ImportRefusedError(f"{top.name} holds more than {MOST_FILES:,} files: give the folder of one run.")
    return found


# --- llama-benchy -----------------------------------------------------------------------------------------------------
def _is_benchy(files: Files) -> bool:
    """Its result and what each request did, and nothing else."""
    is_pair = {path.as_posix() for path in files} == {BENCHY, EVENTS}
    return is_pair and benchy_progress.recognise(files[Path(EVENTS)].head)


def _read_benchy(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    loads = benchy.read(files[Path(BENCHY)], ticket)
    for load in loads:
        benchy_progress.add_requests(load, files[Path(EVENTS)])
    return loads


# --- AIPerf -----------------------------------------------------------------------------------------------------------
def _is_aiperf(path: Path) -> bool:
    return path.name in (PROFILE, RECORDS, TABLE)


def _read_aiperf(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """A load a run; what it says of the phases of one once more, the warm-up among them, is no run."""
    folders = {path.parent for path in files}
    runs = [folder for folder in folders if not (folder.parent.name == PHASES and folder.parent.parent in folders)]
    loads = []
    for number, folder in enumerate(sorted(runs)):
        mine = {path.name: source for path, source in files.items() if path.parent == folder}
        loads.append(_aiperf_load(mine, _nth(ticket, number)))
    return loads


def _aiperf_load(files: Mapping[str, Source], ticket: Ticket) -> LoadBuilder:
    """The sums from the JSON, whose numbers are whole; the CSV says the same in two places."""
    if PROFILE in files:
        load = aiperf.read_profile(files[PROFILE], ticket)
    elif TABLE in files:
        load = aiperf.read_csv(files[TABLE], ticket)
    else:
        load = LoadBuilder(ticket, aiperf.TOOL, None, aiperf.TOOL, ticket.dated)
    if RECORDS in files:
        at_once = next((row.concurrency for row in load.rows if isinstance(row, Result)), None)
        aiperf.add_requests(load, files[RECORDS], at_once)
    return load


# --- EvalScope --------------------------------------------------------------------------------------------------------
def _is_evalscope(path: Path) -> bool:
    return path.name == SUMS or path.name in ("benchmark_args.json", "benchmark_percentile.json", "benchmark_data.db")


def _read_evalscope(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    load = LoadBuilder(ticket, evalscope.TOOL, None, evalscope.TOOL, ticket.dated)
    levels = sorted({path.parent for path in files if path.name == SUMS}, key=_level_order)
    if not levels:
        raise ImportRefusedError(f"{ticket.source_name} holds no {SUMS} of EvalScope's: was it broken off?")
    for place, folder in enumerate(levels):
        of_level = {path.name: source for path, source in files.items() if path.parent == folder}
        evalscope.add_level(load, place, of_level)
    return [load]


def _level_order(folder: Path) -> tuple[int, ...]:
    return tuple(int(number[:9]) for number in re.findall(r"\d+", folder.name))


# --- BFCL -------------------------------------------------------------------------------------------------------------
def _is_bfcl(path: Path) -> bool:
    return bfcl.NAMED.fullmatch(path.name) is not None or path.name == bfcl.CASES


def _read_bfcl(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """A load a model: 'result/<model>/<group>/BFCL_v4_<category>_result.json' and the same below 'score'."""
    loads = []
    cases = next((bfcl.cases_of(source) for path, source in files.items() if path.name == bfcl.CASES), {})
    files = {path: source for path, source in files.items() if path.name != bfcl.CASES}
    if not files:
        raise ImportRefusedError(f"{ticket.source_name} holds no answer of BFCL's: was it broken off?")
    models = sorted({_model_of(path) for path in files})
    for number, model in enumerate(models):
        load = bfcl.new_load(_nth(ticket, number), model or None)
        mine = [path for path in files if _model_of(path) == model]
        for category in sorted({bfcl.category_of(path.name) for path in mine}):
            pair = {kind: _first(files, mine, category, kind) for kind in ("score", "result")}
            bfcl.add_category(load, category, pair["score"], pair["result"], cases.get(category))
        loads.append(load)
    return loads


def _model_of(path: Path) -> str:
    return path.parts[-3] if len(path.parts) > 2 else ""


def _first(files: Files, paths: list[Path], category: str, kind: str) -> Source | None:
    wanted = [path for path in paths if bfcl.category_of(path.name) == category and path.stem.endswith(kind)]
    return files[wanted[0]] if wanted else None


# --- lm-eval ----------------------------------------------------------------------------------------------------------
def _is_lm_eval(path: Path) -> bool:
    return (RESULTS.fullmatch(path.name) or ITEMS.fullmatch(path.name)) is not None


def _read_lm_eval(files: Files, ticket: Ticket) -> list[LoadBuilder]:
    """A load for each results file, with the files of items that have its time in their names."""
    loads: list[LoadBuilder] = []
    for path, source in sorted(files.items()):
        named = RESULTS.fullmatch(path.name)
        if named and not path.name.startswith("samples_"):
            items = _items_of(files, path.parent, named["stamp"] or named["when"])
            loads.append(lm_eval.read_results(source, _nth(ticket, len(loads)), items))
    if not loads:
        raise ImportRefusedError(f"{ticket.source_name} holds no results file of lm-eval's: was it broken off?")
    return loads


def _items_of(files: Files, folder: Path, stamp: str) -> dict[str, Source]:
    return {
        named["task"]: source
        for path, source in files.items()
        if path.parent == folder and (named := ITEMS.fullmatch(path.name)) and named["stamp"] == stamp
    }

"""Every input of Pitwall, as a function that gives it something mutated and requires a stated outcome."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from collectors.imports import inbox as inbox_module
from collectors.imports.inbox import (
    ImportJob,
    Status,
    inbox_folder,
    new_job_id,
    read_status,
    submit_job,
)
from commands.explain import explain
from commands.presets import SHIPPED, read_preset, read_presets
from commands.study_file import ArmsFile, read_arms, study_of_text, text_of_file
from domain import utc_now
from engines import ENGINES
from engines.parse import parse_file
from errors import PitwallError
from launcher.remote.hosts import HostBook
from machine.regular_file import follow_own
from redaction import mask_text
from reports.cache.run_cache import EvidenceCache, ReportCache
from reports.runs.prices import prices_of
from samples import Batch
from service.inbox import inbox_of
from service.notifications.channels import ChannelBook, describe
from service.proposals import ProposalBook
from settings import Settings
from storage.files.report_files import FOLDER, ReportFiles, pack, unpack
from storage.lake.config import read_config
from storage.store import Store
from storage.transfer.bundle import export_runs
from storage.user_sql.saved_queries import SavedQueries
from studies.submissions import (
    ADDITION,
    STUDY,
    SubmittedAddition,
    SubmittedStudy,
    awaits_results,
    read_submissions,
)
from tests.fuzz.mutations import (
    mutated_bytes,
    mutated_document,
    mutated_json,
    mutated_json_lines,
    mutated_toml,
    mutated_value,
)
from tests.reports.test_run_metrics_kept import run_of, samples_of
from tests.storage.transfer.test_forged_bundle import sha
from web.access.sessions import SessionBook
from web.access.sign_in_config import read_sign_in
from web.access.tokens import TokenBook
from web.live.finished_charts import FinishedCharts
from web.live.peers.peers import PeerBook
from web.sql.history import QueryHistory
from workloads.saved_loads import SavedLoads
from workloads.texts.prompt_file import read_prompts, read_sessions

TESTS = Path(__file__).resolve().parents[1]
LOGS = sorted((TESTS / "fixtures").glob("*/*.log"))
CAPTURES = sorted(path for path in (TESTS / "captures").rglob("*") if path.is_file() and path.name != "README.md")
FOLDERS = [
    TESTS / "captures" / name
    for name in (
        "aiperf/run", "aiperf/warmed", "bfcl/oracle", "bfcl/server-down", "evalscope/standin", "lm-eval/oracle-chat",
        "llama-benchy/pair",
    )
]  # fmt: skip
PASTES = [str(document["text"]) for document in json.loads((TESTS / "fixtures/commands/documents.json").read_bytes())]
PRESETS = sorted(SHIPPED.glob("*.toml"))
BUNDLED_RUN = "known"  # the run that samples_of has samples for
LONGEST_S = 60.0  # of one input
KNOWN_RUNS = 2  # whose files of computed results are damaged


@dataclass(kw_only=True)
class OpenFolder:
    """A data folder whose inbox is open; `bundle` is an honest one, `crashes` are the tracebacks of its threads."""

    settings: Settings
    folder: Path  # of the files that are given to it
    bundle: Mapping[str, bytes]
    crashes: list[str] = field(default_factory=list)
    run_ids: list[str] = field(default_factory=list)  # of what was imported since the last look at the pages
    number: int = 0

    def path(self, name: str) -> Path:
        """Return a new path of this file name, in a folder of its own."""
        self.number += 1
        folder = self.folder / str(self.number)
        folder.mkdir()
        return folder / name

    def file(self, name: str, data: bytes) -> Path:
        """Write a new file, readable by its owner only."""
        path = self.path(name)
        path.write_bytes(data)
        path.chmod(0o600)
        return path


@dataclass(kw_only=True)
class World(OpenFolder):
    """A data folder whose store is open in this process."""

    store: Store


@contextmanager
def opened_world(folder: Path, bundle: Mapping[str, bytes]) -> Iterator[World]:
    """Open a store and its inbox, which looks for jobs without a pause."""
    settings = Settings(data_dir=folder / "data")
    follow_own(settings.data_dir)
    store = Store.open(settings)
    (folder / "files").mkdir()
    world = World(settings=settings, store=store, folder=folder / "files", bundle=bundle)
    inbox = inbox_of(store, settings)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inbox_module, "POLL_S", 0.005)
        patch.setattr(threading, "excepthook", lambda crash: world.crashes.append(_traceback(crash.exc_value)))
        inbox_folder(settings.data_dir).mkdir(parents=True)
        inbox.start()
        for path in (*LOGS[:2], CAPTURES[0]):
            expect_answer(world, path)
        yield world
        inbox.close(10)
    store.close()


def _traceback(problem: BaseException | None) -> str:
    return "".join(traceback.format_exception(problem)) if problem else ""


# --- what is imported -------------------------------------------------------------------------------------------------
def expect_answer(world: OpenFolder, path: Path, **options: Any) -> Status:
    """Import a file through the inbox; it must be imported, or refused in a sentence."""
    job = ImportJob(id=new_job_id(datetime.now(UTC)), path=path, shown_name=path.name, **options)
    folder = inbox_folder(world.settings.data_dir)
    submit_job(folder, job)
    status = _wait(world, folder, job.id)
    expect_sentence(status.text)
    world.run_ids += status.run_ids
    return status


def _wait(world: OpenFolder, folder: Path, job_id: str) -> Status:
    end_s = time.monotonic() + LONGEST_S
    while not (status := read_status(folder, job_id)).is_over:
        assert time.monotonic() < end_s, f"still {status.state} after {LONGEST_S} s"
        time.sleep(0.002)
    expect_no_crash(world)
    return status


def expect_no_crash(world: OpenFolder) -> None:
    """Require that no thread ended with a traceback."""
    crashes, world.crashes[:] = "\n".join(world.crashes), []
    assert not crashes, crashes


def expect_sentence(text: str) -> None:
    """Require a short sentence for people."""
    assert text and text[-1] in ".?!" and len(text) < 20_000, f"not a sentence: {text[:300]!r}"
    assert "Traceback" not in text and "internal error" not in text, text
    text.encode()


def import_log(world: OpenFolder, random: Random) -> None:
    """A server's log, as it is or packed."""
    source = random.choice(LOGS)
    data = mutated_bytes(source.read_bytes(), random)
    if random.random() < 0.1:
        data = mutated_bytes(gzip.compress(data), random)
    zone = random.choice((None, None, None, "Europe/Berlin", "+99:99", "\x00", "x" * 300))
    expect_answer(world, world.file(source.name, data), zone=zone)


def parse_log(world: World, random: Random) -> None:
    """A server's log, as `./pitwall parse` reads it."""
    source, out = random.choice(LOGS), io.StringIO()
    parse_file(world.file(source.name, mutated_bytes(source.read_bytes(), random)), ENGINES, out)
    json.loads(out.getvalue())


def import_result(world: OpenFolder, random: Random) -> None:
    """A tool's result."""
    source = random.choice(CAPTURES)
    data = mutated_document(source.name, source.read_bytes(), random)
    expect_answer(world, world.file(source.name, data), is_cut=random.random() < 0.2)


def import_folder(world: OpenFolder, random: Random) -> None:
    """A folder of a tool's results, with a mutated file."""
    source = random.choice(FOLDERS)
    folder = world.path(source.name)
    shutil.copytree(source, folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    path = random.choice(files)
    path.write_bytes(mutated_document(path.name, path.read_bytes(), random))
    if random.random() < 0.1:
        replace_by_odd_entry(path, random)
    expect_answer(world, folder, is_cut=random.random() < 0.2)


def replace_by_odd_entry(path: Path, random: Random) -> None:
    path.unlink()
    kind = random.randrange(5)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.mkdir()
    elif kind == 2:
        path.symlink_to(path)
    elif kind == 3:
        path.symlink_to("/dev/zero")
    else:
        path.symlink_to(path.with_name("missing"))


# --- bundles ----------------------------------------------------------------------------------------------------------
def honest_bundle(folder: Path) -> dict[str, bytes]:
    """Return the members of a bundle of a run with samples and loads."""
    settings = Settings(data_dir=folder / "bundled")
    store = Store.open(settings)
    run = run_of(BUNDLED_RUN)
    log = settings.runs_dir / run.id / "server.log"
    log.parent.mkdir(parents=True)
    shutil.copyfile(LOGS[-1], log)
    store.save_run(run.model_copy(update={"log_path": str(log)}))
    store.write(Batch(tuple(samples_of(run.id)))).result()
    export_runs(store.query, [run.id], folder / "honest.zip", datetime.now(UTC), mask_text)
    store.close()
    with zipfile.ZipFile(folder / "honest.zip") as file:
        return {name: file.read(name) for name in file.namelist()}


def import_bundle(world: OpenFolder, random: Random) -> None:
    """A bundle with a mutated member, and honest checksums but for one in ten."""
    members, run_id = _renamed(world.bundle, f"fuzz-{world.number}-{random.randrange(1 << 30)}")
    manifest = json.loads(members.pop("manifest.json"))
    name = random.choice(sorted(members))
    members[name] = _mutated_member(name, members[name], random)
    manifest["runs"] = [run_id]
    if random.random() < 0.9:
        manifest["members"] = {name: {"sha256": sha(data), "size": len(data)} for name, data in members.items()}
    if random.random() < 0.1:
        manifest = mutated_value(manifest, random)
    path = world.path("forged.pitwall.zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.writestr("manifest.json", json.dumps(manifest))
    if random.random() < 0.1:
        path.write_bytes(mutated_bytes(path.read_bytes(), random))
    expect_answer(world, path)


def _renamed(bundle: Mapping[str, bytes], run_id: str) -> tuple[dict[str, bytes], str]:
    """The members with the run under another id, so that each is a run of its own."""
    members = {}
    for name, data in bundle.items():
        if name.endswith(".parquet"):
            table = pq.read_table(io.BytesIO(data))
            place = table.schema.get_field_index("run_id")
            data = _parquet(table.set_column(place, "run_id", pa.array([run_id] * table.num_rows)))
        elif name.endswith("run.json"):
            data = json.dumps(json.loads(data) | {"id": run_id, "name": run_id}).encode()
        members[name.replace(f"runs/{BUNDLED_RUN}/", f"runs/{run_id}/")] = data
    return members, run_id


def _parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def _mutated_member(name: str, data: bytes, random: Random) -> bytes:
    if name.endswith(".parquet") and random.random() < 0.9:
        return _parquet(_mutated_table(pq.read_table(io.BytesIO(data)), random))
    return mutated_json(data, random) if name.endswith(".json") else mutated_bytes(data, random)


TIMES_US = (-(1 << 62), -62135596800_000_000, 0, 253402300799_000_000, 4102444799_000_000, 1 << 62)
FLOATS = (float("nan"), float("inf"), -1.0, 1e308, 1e-320, 0.0, 2.0**53)
INTEGERS = (-1, 0, 1 << 30, (1 << 31) - 1, 255)
TEXTS = ("", "\x00", "x" * 100_000, "{", "[[[[", '{"a": NaN}', "null", "\x1b[31m", "<script>", "\u202e", None)


def _mutated_table(table: pa.Table, random: Random) -> pa.Table:
    """The rows with some values of a column replaced, or with a column of another type, or without it."""
    place = random.randrange(table.num_columns)
    name, column = table.schema.field(place).name, table.column(place)
    if random.random() < 0.1:
        return table.drop_columns([name])
    if random.random() < 0.1:
        return table.set_column(place, name, pa.array([str(value) for value in column.to_pylist()]))
    if random.random() < 0.1:
        return pa.concat_tables([table] * random.choice((2, 50))) if random.random() < 0.5 else table.slice(0, 0)
    share = random.choice((0.02, 0.3, 1.0))
    kind, values = column.type, _values_of(column.type)
    items = column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(kind) else column.to_pylist()
    changed = [random.choice(values) if random.random() < share else item for item in items]
    return table.set_column(place, name, pa.array(changed, pa.int64()).cast(kind) if pa.types.is_timestamp(kind)
                            else pa.array(changed, kind))  # fmt: skip


def _values_of(kind: pa.DataType) -> Sequence[Any]:
    if pa.types.is_timestamp(kind):
        return (*TIMES_US, None)
    if pa.types.is_floating(kind):
        return (*FLOATS, None)
    if pa.types.is_integer(kind):
        return (*(number for number in INTEGERS if number.bit_length() < kind.bit_width - 1 and number >= 0), None)
    if pa.types.is_list(kind):
        return ([], None, [0] * 5000)
    return (True, False, None) if pa.types.is_boolean(kind) else TEXTS


# --- the inbox --------------------------------------------------------------------------------------------------------
def put_into_inbox(world: OpenFolder, random: Random) -> None:
    """An entry of the inbox that no Pitwall wrote; an honest import after it must end."""
    folder = inbox_folder(world.settings.data_dir)
    jobs = (
        {"id": "x", "path": str(random.choice(CAPTURES)), "shown_name": "a.json", "name": None},
        {"id": "x", "run": "r", "said_at": "2026-11-20T12:00:00Z", "by": "me", "edit": {"text": "seen"}},
        {"id": "x", "deleted_runs": ["r"], "by": "me"},
    )
    odd_job_id = f"fuzz-{world.number}-{random.randrange(1 << 30)}"
    path = folder / f"{odd_job_id}.job.json"
    draft = path.with_suffix(".draft")
    draft.write_bytes(mutated_json(json.dumps(random.choice(jobs) | {"id": odd_job_id}).encode(), random))
    if random.random() < 0.2:
        replace_by_odd_entry(draft, random)
    draft.rename(path)
    text = expect_answer(world, world.file("empty.log", b"")).text
    assert "is empty" in text, text
    end_s = time.monotonic() + LONGEST_S
    while os.path.lexists(path):
        assert time.monotonic() < end_s, "the entry is still in the inbox"
        time.sleep(0.002)
    expect_no_crash(world)
    with suppress(FileNotFoundError):
        expect_sentence(read_status(folder, odd_job_id).text or "None.")


def submit_study(world: World, random: Random) -> None:
    """An entry of the inbox that looks like a study, or like arms for it."""
    folder = inbox_folder(world.settings.data_dir)
    suffix, kind = random.choice(((STUDY, SubmittedStudy), (ADDITION, SubmittedAddition)))
    put_submission(world, random, suffix)
    for _, submission in _answered_in_time(lambda: read_submissions(folder, suffix, kind)):
        submission.model_dump_json()
    awaits_results(folder, ["r"])
    for path in folder.glob(f"fuzz-*{suffix}"):
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    read_submissions(folder, suffix, kind)


def put_submission(world: OpenFolder, random: Random, suffix: str) -> Path:
    """Put an entry into the inbox that looks like a study (STUDY), or like arms for it (ADDITION)."""
    plan = study_of_text(STUDY_FILES[0].decode(), "study").model_dump(mode="json")
    content = {"id": "s", "plan": plan, "study_id": "s", "more": {"arms": plan["arms"]}, "by": "me"}
    path = inbox_folder(world.settings.data_dir) / f"fuzz-{world.number}-{random.randrange(1 << 30)}{suffix}"
    draft = path.with_suffix(".draft")
    draft.write_bytes(mutated_json(json.dumps(content).encode(), random))
    if random.random() < 0.3:
        replace_by_odd_entry(draft, random)
    draft.rename(path)
    return path


def _answered_in_time(question: Callable[[], Any]) -> Any:
    """Return the answer of a function that may hang; a bug if it does."""
    answers: list[Any] = []
    problems: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(question())
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(LONGEST_S / 6)
    assert not thread.is_alive(), "it hangs"
    if problems:
        raise problems[0]
    return answers[0]


# --- files of computed results ----------------------------------------------------------------------------------------
def damage_known(world: World, random: Random) -> None:
    """Files of computed results below runs/RUN/known, with their right basis."""
    runs = world.store.runs(limit=KNOWN_RUNS)
    files = ReportFiles(world.settings.runs_dir)
    for cache in _caches(files):
        cache.get(world.store, runs)
    damage_report_files(world, random)
    for cache in _caches(files):
        assert _answered_in_time(lambda cache=cache: cache.get(world.store, runs)).keys() == {run.id for run in runs}
    for run in runs:
        shutil.rmtree(world.settings.runs_dir / run.id / FOLDER, ignore_errors=True)


def damage_report_files(world: OpenFolder, random: Random) -> None:
    """Damage most files of computed results, and replace some by what is no file."""
    for path in world.settings.runs_dir.glob(f"*/{FOLDER}/*"):
        if path.is_file() and random.random() < 0.7:
            path.write_bytes(_damaged(path.read_bytes(), random))
        elif not path.is_dir() and random.random() < 0.2:
            replace_by_odd_entry(path, random)


def _caches(files: ReportFiles) -> tuple[Any, ...]:
    return ReportCache(files), EvidenceCache(files), FinishedCharts(files)


def _damaged(data: bytes, random: Random) -> bytes:
    basis, _, packed = data.partition(b"\n")
    if random.random() < 0.2:
        return mutated_bytes(data, random)
    try:
        content = mutated_json(unpack(packed), random)
    except (ValueError, RecursionError):  # damaged before
        return mutated_bytes(data, random)
    return basis + b"\n" + pack(content)


# --- files edited by hand ---------------------------------------------------------------------------------------------
STUDY_FILES = (
    b"""question = "which"
smallest_difference = 0.02
[budget]
runs = 12
[[arm]]
name = "plain"
command = "vllm serve MODEL --port 8000"
[[arm]]
name = "mine"
engine = "vllm"
command = "./serve.sh --port 8000"
[[workload]]
name = "five-prompts"
[workload.params]
token_scale = 0.25
""",
    b"""question = "value"
[[arm]]
name = "drafts"
command = '''vllm serve MODEL --port 8000 --speculative-config '{"method": "ngram", "num_speculative_tokens": 4}' '''
[[vary]]
field = "num_speculative_tokens"
values = "0, 2..4, 8"
most_step_gain = 1.5
[[workload]]
name = "five-prompts"
""",
    b"""question = "load"
[[arm]]
name = "a GPU"
command = "vllm serve MODEL --port 8000"
[[arm]]
name = "two GPUs"
command = "vllm serve MODEL --port 8000 --tensor-parallel-size 2"
[[workload]]
name = "knee"
[workload.params]
ttft_p95_ms = 500
""",
)
ARMS_FILE = b"""[[arm]]
name = "new"
command = "vllm serve MODEL --port 8001"
env = {A = "b"}
"""
SIGN_IN = b"""issuer = "https://id.example.org/realms/team"
client_id = "pitwall"
client_secret = "s"
[roles.operator]
groups = ["perf", "gpu-*"]
[roles.viewer]
email = ["*@example.org"]
"""
LAKE = b"""catalogue = "host=db.example.org dbname=pitwall user=pitwall password=p"
data_path = "s3://bucket/pitwall/"
[s3]
endpoint = "s3.example.org"
key_id = "k"
secret = "s"
use_ssl = true
[reader]
catalogue = "host=db.example.org dbname=pitwall user=wall password=p"
key_id = "k"
secret = "s"
"""
PRICES = b"""currency = "EUR"
[machine.default]
per_hour = 2.5
per_kwh = 0.3
[machine.other]
per_hour = 1
"""


def edit_toml(world: World, random: Random) -> None:
    """A TOML file that people write."""
    name = random.choice(sorted(TOML_READERS))
    samples, read = TOML_READERS[name]
    path = world.file(f"{name}.toml", mutated_toml(random.choice(samples), random))
    if random.random() < 0.05:
        replace_by_odd_entry(path, random)
    if name == "lake":  # at its own place
        shutil.rmtree(world.settings.lake_path, ignore_errors=True)
        world.settings.lake_path.unlink(missing_ok=True)
        path.rename(world.settings.lake_path)
    try:
        _answered_in_time(lambda: read(world, path))
    except PitwallError as refusal:
        expect_sentence(str(refusal))
    except OSError as refusal:
        assert name in ("arms", "study") and refusal.strerror, refusal  # their commands explain an OSError


def _read_study(path: Path) -> None:
    plan = study_of_text(text_of_file(path), path.stem)
    type(plan).model_validate_json(plan.model_dump_json())


def _read_arms(path: Path) -> None:
    ArmsFile(arm=read_arms(path)).model_dump_json()


def _read_preset(path: Path) -> None:
    read_presets([path.parent])
    preset = read_preset(path)
    assert preset.launchable.model_dump_json()


def _read_prices(path: Path) -> None:
    for machine_id in ("default", "other", "third"):
        prices = prices_of(path, machine_id)
        if prices.problem:
            expect_sentence(prices.problem)
        amounts = [amount for amount in (prices.per_hour, prices.per_kwh) if amount is not None]
        assert all(0 <= amount < float("inf") for amount in amounts), prices


def _read_sign_in(path: Path) -> None:
    config = read_sign_in(path)
    if config:
        config.role_of({"groups": ["perf"], "email": "a@example.org", "email_verified": True})
        assert config.name is not None and config.metadata_url


def _read_lake(world: World) -> None:
    config = read_config(world.settings)
    if config:
        config.hide(config.address)


TOML_READERS: Mapping[str, tuple[Sequence[bytes], Callable[[World, Path], object]]] = {
    "study": (STUDY_FILES, lambda world, path: _read_study(path)),
    "arms": ((ARMS_FILE,), lambda world, path: _read_arms(path)),
    "sign-in": ((SIGN_IN,), lambda world, path: _read_sign_in(path)),
    "lake": ((LAKE,), lambda world, path: _read_lake(world)),
    "prices": ((PRICES,), lambda world, path: _read_prices(path)),
    "preset": ([path.read_bytes() for path in PRESETS], lambda world, path: _read_preset(path)),
}

HOST = {"label": "box", "target": "me@box", "folder": "pitwall", "added_at": "2026-11-20T12:00:00Z"}
PEER = {
    "name": "box", "url": "https://box.example.org", "token": "t", "confirmed_by": "me",
    "confirmed_at": "2026-11-20T12:00:00Z",
}  # fmt: skip
CHANNEL = {"events": ["server_failed"], "added_by": "me", "added_at": "2026-11-20T12:00:00Z"}
WEBHOOK = CHANNEL | {
    "name": "team", "kind": "slack", "url": "https://hooks.example.org/secret-of-this-channel",
    "quiet_hours": {"begin": "22:00:00", "end": "07:00:00"},
}  # fmt: skip
NTFY = CHANNEL | {"name": "phone", "kind": "ntfy", "url": "https://ntfy.example.org/topic"}
COMMAND = CHANNEL | {"name": "mail", "kind": "command", "argv": ["/usr/bin/mail", "me"]}
PROPOSED = {"proposed_by": "an agent", "proposed_at": "2026-11-20T12:00:00Z", "why": "faster?"}
PROPOSED_LOAD = PROPOSED | {"id": "1", "load": {"run_id": "r", "workload": "five-prompts", "params": {}}}
PROPOSED_STUDY = PROPOSED | {"id": "2", "study": STUDY_FILES[0].decode()}
AUDIT = {"ts": "2026-11-20T12:00:00Z", "role": "me", "action": "add host", "run_id": None, "detail": "box"}
JSON_FILES: Mapping[str, object] = {
    "hosts.json": {"hosts": [HOST], "untold": [AUDIT]},
    "peers.json": {"peers": [PEER], "untold": [AUDIT]},
    "load.json": {"workload": "five-prompts", "params": {"token_scale": 0.25}},
    "history.json": {"b": [["SELECT 1", "2026-11-20T12:00:00Z", "1 row", "mine"]]},
    "sessions.json": [{"id": "0" * 64, "role": "viewer", "name": "me", "since": "2026-11-20T12:00:00Z"}],
    "tokens.json": {"tokens": []},
    "notify.json": {"channels": [WEBHOOK, NTFY, COMMAND], "untold": [AUDIT]},
    "proposals.json": {"proposals": [PROPOSED_LOAD, PROPOSED_STUDY], "untold": [AUDIT]},
}
PROMPTS = b'{"prompt": "Say yes", "max_tokens": 10}\n{"prompt": "Say no", "name": "n"}\n'
QUERY = b"-- shown: chart=line&x=a&y=b\nSELECT 1 AS a, 2 AS b\n"


def edit_json(world: OpenFolder, random: Random) -> None:
    """A JSON file of the data folder, which an editor or a full disk may have changed."""
    name = random.choice(sorted(JSON_FILES))
    path = world.file(name, mutated_json(json.dumps(JSON_FILES[name]).encode(), random))
    if random.random() < 0.1:
        replace_by_odd_entry(path, random)
    with _refused_by_sentence():
        _answered_in_time(lambda: _read_json_file(name, path))


def _read_json_file(name: str, path: Path) -> None:
    if name == "hosts.json":
        HostBook(path).all()
    elif name == "peers.json":
        PeerBook(path).all()
    elif name == "load.json":
        SavedLoads(path.parent).all()
    elif name == "history.json":
        QueryHistory(path).entries("b")
    elif name == "sessions.json":
        SessionBook(path)
    elif name == "notify.json":
        for channel in ChannelBook(path).all():
            message = f"{channel.masked_target} {describe(channel)} {channel.is_quiet(utc_now())}"
            path_in_url = urlsplit(channel.url).path.strip("/")
            assert len(path_in_url) < 8 or path_in_url not in message, "an address is a secret"
    elif name == "proposals.json":
        for proposal in ProposalBook(path).all():
            assert proposal.describe() and proposal.contents is not None
    else:
        TokenBook(path)


def edit_prompts(world: OpenFolder, random: Random) -> None:
    """A file of prompts or sessions, or of a saved query."""
    with _refused_by_sentence():
        path = world.file("prompts.jsonl", mutated_json_lines(PROMPTS, random))
        read_prompts(str(path))
    with _refused_by_sentence():
        read_sessions(str(path))
    path = world.file("q.sql", mutated_bytes(QUERY, random))
    SavedQueries(path.parent).read("q")


@contextmanager
def _refused_by_sentence() -> Iterator[None]:
    try:
        yield
    except PitwallError as refusal:
        expect_sentence(str(refusal))


# --- pasted commands --------------------------------------------------------------------------------------------------
def paste(world: World, random: Random) -> None:
    """A pasted command, or a script."""
    data = mutated_bytes(random.choice(PASTES).encode(), random)
    text = data.decode(errors=random.choice(("replace", "surrogateescape")))
    explanation = explain(text)
    assert json.dumps(explanation.as_json())
    if explanation.refused:
        expect_sentence(explanation.refused)


INPUTS: Mapping[str, Callable[[World, Random], None]] = {
    function.__name__: function
    for function in (
        import_log, parse_log, import_result, import_folder, import_bundle, put_into_inbox, submit_study, damage_known,
        edit_toml, edit_json, edit_prompts, paste,
    )
}  # fmt: skip

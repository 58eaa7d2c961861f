"""A run given away as one file and taken in elsewhere; and files that only look like one."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import duckdb
import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from domain import Config, Run, RunState
from load_records import RequestRecord
from redaction import mask_text
from samples import Batch, CounterSample, Event, GpuSample, LogSample
from settings import Settings
from storage.store import Store
from storage.transfer.archive import ArchiveError, Manifest, Member
from storage.transfer.bundle import export_runs
from storage.transfer.bundle_import import import_bundle

NOW = datetime(2026, 11, 20, 12, 0, 0, 123456, tzinfo=UTC)
SECRET = "hf_abcdefghijklmnopqrstuvwx"
ID = "20261120-120000-000-aaaa"
LOG = f"INFO serving\nHF_TOKEN={SECRET}\nlast line \xff without end".encode("latin-1")


def run_with_samples(store: Store, settings: Settings, run_id: str = ID, **fields: object) -> Run:
    log = settings.runs_dir / run_id / "server.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(LOG)
    given = {"state": RunState.FAILED, "cause": f"no token: {SECRET}", "started_at": NOW, "ended_at": NOW} | fields
    config = Config(engine="vllm", model="org/m")
    run = Run(
        id=run_id, name=run_id[-4:], color=3, machine_id="m", config=config, created_at=NOW,
        log_path=str(log), run_dir=str(log.parent), **given,  # type: ignore[arg-type]
    )  # fmt: skip
    store.save_run(run)
    moments = [NOW + timedelta(seconds=s) for s in range(3)]
    samples = [
        *(
            CounterSample(run_id, ts, i, "vllm.counter", accepted_per_pos_total=[1.0, 2.0])
            for i, ts in enumerate(moments)
        ),
        LogSample(run_id, NOW, 0, 1, "vllm.log", extra={"api_key": SECRET, "count": 3}),
        GpuSample(run_id, NOW, 1.0, "m", 0, unknown={"power_w": "not told"}),
        RequestRecord(run_id, "q1", "w", "measure", "chat", 0, 1, NOW, error_text=f"Bearer {SECRET}"),
        Event(run_id, NOW, "failure", f"401 for {SECRET}", data={"evidence": SECRET}),
    ]
    store.write(Batch(tuple(samples))).result()
    return run


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    """A store into which nothing ever comes."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("untouched") / "data")
    opened = Store.open(settings)
    yield opened, settings
    opened.close()


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[Store, Settings]]:
    settings = Settings(data_dir=tmp_path / "elsewhere")
    opened = Store.open(settings)
    yield opened, settings
    opened.close()


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What a bundle of one run is."""
    folder = tmp_path_factory.mktemp("honest")
    settings = Settings(data_dir=folder / "data")
    store = Store.open(settings)
    run_with_samples(store, settings)
    export_runs(store.query, [ID], folder / "a", NOW, mask_text)
    store.close()
    return (folder / "a").read_bytes()


@pytest.fixture
def bundle(honest: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "a.pitwall.zip"
    path.write_bytes(honest)
    return path


TABLES = ("counter_samples", "gpu_samples", "host_samples", "slot_samples", "collector_health")


def test_a_comparison_comes_out_as_the_same_runs(
    store: Store, settings: Settings, elsewhere: tuple[Store, Settings], tmp_path: Path
) -> None:
    ids = ["20261120-120000-000-bbbb", ID]
    for run_id in ids:
        run_with_samples(store, settings, run_id)
    store.seal()
    target = tmp_path / "a.pitwall.zip"
    export_runs(store.query, ids, target, NOW, mask_text)
    there, their = elsewhere
    taken = import_bundle(there, their, target)
    assert taken.run_ids == tuple(ids) and "verified" in taken.text
    for table in TABLES:
        asked = f"SELECT * FROM {table} ORDER BY ALL"
        assert there.query(asked).to_pylist() == store.query(asked).to_pylist()
    run = there.run(ID)
    assert run and run.log_path and Path(run.log_path).is_relative_to(their.runs_dir)
    assert run.config == (store.run(ID) or run).config and run.created_at == NOW


def test_no_secret_is_in_it(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle) as file:
        inside = {name: file.read(name) for name in file.namelist()}
    log = inside[f"runs/{ID}/server.log"]
    assert log.startswith(b"INFO serving\nHF_TOKEN=<secret>\n") and log.endswith(b"\xff without end")
    for name, data in inside.items():
        text = str(pq.read_table(io.BytesIO(data)).to_pylist()).encode() if name.endswith("parquet") else data
        assert SECRET.encode() not in text, name
    assert b"/runs/" not in inside[f"runs/{ID}/run.json"], "a path of this machine"
    there, their = elsewhere
    import_bundle(there, their, bundle)
    extra = there.query("SELECT extra->>'$.count' AS count FROM log_samples")["count"].to_pylist()
    assert extra == ["3"], "masked JSON is still JSON"


def test_the_same_bundle_twice_is_one_run(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    there, their = elsewhere
    first = import_bundle(there, their, bundle)
    again = import_bundle(there, their, bundle)
    assert first.run_ids == again.run_ids and "nothing in it is new" in again.text
    assert there.query("SELECT count(*) AS n FROM counter_samples")["n"].to_pylist() == [3]


def test_its_own_pitwall_knows_it(store: Store, settings: Settings, bundle: Path) -> None:
    run_with_samples(store, settings)
    assert "nothing in it is new" in import_bundle(store, settings, bundle).text


def test_a_run_that_goes_on_and_one_that_is_not_there_are_refused(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    run_with_samples(store, settings, state=RunState.RUNNING, ended_at=None)
    with pytest.raises(ArchiveError, match="made of a run that is over"):
        export_runs(store.query, [ID], tmp_path / "a.zip", NOW, mask_text)
    with pytest.raises(ArchiveError, match="There is no run nobody"):
        export_runs(store.query, ["nobody"], tmp_path / "a.zip", NOW, mask_text)
    assert list(tmp_path.glob("*.zip")) == list(tmp_path.glob(".*.draft")) == []


# --- what only looks like a bundle ----------------------------------------------------------------------------------
Members = dict[str, bytes]
Forge = Callable[[Members, Manifest], Manifest]


def rewritten(bundle: Path, forge: Forge, honest: bool = True) -> Path:
    """The bundle with its members changed by `forge`; with `honest`, the manifest agrees with the changed ones."""
    with zipfile.ZipFile(bundle) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = forge(members, Manifest.model_validate_json(members.pop("manifest.json")))
    if honest:
        listed = {name: Member(sha256=sha(data), size=len(data)) for name, data in members.items()}
        manifest = manifest.model_copy(update={"members": listed})
    target = bundle.with_name("forged.pitwall.zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
        file.writestr("manifest.json", manifest.model_dump_json())
    return target


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def with_member(name: str, data: bytes | Callable[[], bytes]) -> Forge:
    def forge(members: Members, manifest: Manifest) -> Manifest:
        members[name] = data() if callable(data) else data
        return manifest

    return forge


def parquet(**columns: list[object]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def changed_record(old: bytes, new: bytes) -> Forge:
    def forge(members: Members, manifest: Manifest) -> Manifest:
        name = f"runs/{ID}/run.json"
        assert old in members[name]
        members[name] = members[name].replace(old, new)
        return manifest

    return forge


EVENTS = f"runs/{ID}/events.parquet"


def alike(rows: int, text: str = "x") -> bytes:
    """Many rows that are all the same: written as one value and a count."""
    once = pa.array(numpy.zeros(rows, numpy.int8))
    columns = {name: pa.DictionaryArray.from_arrays(once, [value]) for name, value in (("run_id", ID), ("text", text))}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd", row_group_size=rows)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (with_member("../../evil", b"x"), "none of ours"),
        (with_member("/etc/evil", b"x"), "none of ours"),
        (with_member(f"runs/{ID}/../../../evil.log", b"x"), "none of ours"),
        (with_member("runs/../server.log", b"x"), "none of ours"),
        (with_member(f"runs/{ID}/evil.parquet", b"x"), "none of ours"),
        (with_member("runs/other-run/server.log", b"x"), "its runs are not those"),
        (with_member(f"runs/{ID}/server.log", lambda: b"0" * 70_000_000), "would unpack to"),
        (with_member(EVENTS, b"PAR1 nonsense PAR1"), "damaged or forged"),
        (with_member(EVENTS, parquet(run_id=["another"], text=["x"])), "rows of another run"),
        (with_member(EVENTS, parquet(run_id=[ID], evil=["x"])), "no table of ours has a column 'evil'"),
        (with_member(EVENTS, parquet(run_id=[ID], ts=["yesterday"])), "damaged or forged"),
        (with_member(EVENTS, parquet(text=["x"])), "damaged or forged"),
        (with_member(EVENTS, partial(alike, 3_000_000)), "3,000,000 rows in .* bytes are not those of any run"),
        (with_member(EVENTS, partial(alike, 60_000_000)), "60,000,000 rows of .* bytes are more than a run can have"),
        (with_member(EVENTS, partial(alike, 90_000, "x" * 1_000_000)), r"damaged or forged: .* \(Out of Memory"),
        (with_member(f"runs/{ID}/run.json", b"{}"), "no record of a run"),
        (changed_record(b'"failed"', b'"running"'), "not over"),
        (changed_record(f'"{ID}"'.encode(), b'"../../evil"'), "of another run"),
        (lambda members, manifest: manifest.model_copy(update={"runs": ()}), "its runs are not those"),
        (lambda members, manifest: manifest.model_copy(update={"schema_number": 999}), "newer Pitwall"),
        (lambda members, manifest: manifest.model_copy(update={"pitwall": "backup"}), "is a backup"),
    ],
)
def test_a_forged_bundle_is_refused(bundle: Path, untouched: tuple[Store, Settings], forge: Forge, told: str) -> None:
    assert_refused(rewritten(bundle, forge), untouched, told)


def test_a_member_that_is_not_what_the_manifest_says_is_refused(
    bundle: Path, untouched: tuple[Store, Settings]
) -> None:
    with zipfile.ZipFile(bundle) as file:
        log = file.read(f"runs/{ID}/server.log")
    other = with_member(f"runs/{ID}/server.log", log.replace(b"serving", b"surfing"))
    assert_refused(rewritten(bundle, other, honest=False), untouched, "not what the manifest says")
    longer = with_member(f"runs/{ID}/server.log", log + b"more")
    assert_refused(rewritten(bundle, longer, honest=False), untouched, "not those of its manifest")


def test_a_link_is_refused(bundle: Path, untouched: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle, "a") as file:
        info = file.getinfo(f"runs/{ID}/server.log")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.comment = b"written anew"  # the table of contents, with the link in it
    assert_refused(bundle, untouched, "is a link")


def test_two_members_of_one_name_are_refused(bundle: Path, untouched: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(f"runs/{ID}/server.log", b"the other")
    assert_refused(bundle, untouched, "two of one name")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_a_cut_bundle_is_refused(bundle: Path, untouched: tuple[Store, Settings], share: float) -> None:
    data = bundle.read_bytes()
    bundle.write_bytes(data[: int(share * len(data))])
    assert_refused(bundle, untouched, "is cut or no bundle")


def test_every_flipped_byte_is_seen_or_harmless(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    data, good = bundle.read_bytes(), 0
    for place in range(0, len(data), max(len(data) // 60, 1)):
        bundle.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            import_bundle(*elsewhere, bundle)
            good += 1
        except ArchiveError as error:
            assert str(error).startswith(bundle.name)
    assert good < 60, "dates in the headers may be anything, contents may not"
    rows = elsewhere[0].query("SELECT count(*) AS n FROM counter_samples")["n"].to_pylist()
    assert rows == [3 if good else 0]


def test_a_disk_without_room_is_told_and_nothing_is_left(small_disk: Path, tmp_path: Path) -> None:
    """What the manifest states would fit, but not beside its rewriting."""
    given, settings = Settings(data_dir=tmp_path / "given"), Settings(data_dir=small_disk / "data")
    store = Store.open(given)
    run_with_samples(store, given)
    noise = (Event(ID, NOW + timedelta(seconds=i), "warning", os.urandom(2000).hex()) for i in range(4000))
    store.write(Batch(tuple(noise))).result()
    path = tmp_path / "a.pitwall.zip"
    export_runs(store.query, [ID], path, NOW, mask_text)
    store.close()
    there = Store.open(settings)
    ballast = small_disk / "ballast"
    ballast.write_bytes(bytes(shutil.disk_usage(small_disk).free - 12_000_000))
    with pytest.raises(ArchiveError, match=r"There is not enough room on the disk for a\.pitwall\.zip\."):
        import_bundle(there, settings, path)
    assert there.runs() == [] and there.health().ok
    assert [p for p in settings.data_dir.rglob("*") if p.suffix in (".log", ".parquet", ".given")] == []
    ballast.unlink()
    assert "verified" in import_bundle(there, settings, path).text
    assert there.query("SELECT count(*) AS n FROM events")["n"].to_pylist() == [4001]
    there.close()


def test_a_store_that_cannot_take_it_keeps_no_log_of_it(
    bundle: Path, elsewhere: tuple[Store, Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fake stands in for a disk that is full at the very commit, which cannot be had on demand."""
    there, their = elsewhere

    def full(*_: object) -> None:
        raise duckdb.IOException("IO Error: pretended: No space left on device")

    with monkeypatch.context() as patch, pytest.raises(ArchiveError, match="not enough room"):
        patch.setattr(there, "take_sealed", full)
        import_bundle(there, their, bundle)
    assert [p for p in their.data_dir.rglob("*") if p.suffix in (".log", ".parquet")] == []
    assert import_bundle(there, their, bundle).run_ids == (ID,)


def test_a_known_id_with_another_life_is_refused(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    run_with_samples(*elsewhere, started_at=NOW - timedelta(days=1))
    with pytest.raises(ArchiveError, match="another run of the id"):
        import_bundle(*elsewhere, bundle)


def assert_refused(path: Path, untouched: tuple[Store, Settings], told: str) -> None:
    """Refused in one sentence, with nothing left behind."""
    there, their = untouched
    with pytest.raises(ArchiveError, match=told):
        import_bundle(there, their, path)
    assert there.runs() == []
    left = [p for p in their.data_dir.rglob("*") if p.is_file() and p.suffix in (".log", ".parquet", ".json")]
    assert left == []
    assert not list(path.parent.parent.rglob("evil*"))


def test_a_bundle_carries_no_secret_of_the_log_or_of_an_older_record(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    run = run_with_samples(store, settings)
    assert run.log_path
    printed = [
        "AWS_SECRET_ACCESS_KEY=s3cr3t/abc",
        "Authorization: Basic czNjcjN0OnMzY3Iz",
        "URLPW=s3cr3t-2 MY_AUTH=s3cr3t",
    ]
    Path(run.log_path).write_text("\n".join(printed))
    old = run.config.model_copy(update={"env": {"URLPW": "s3cr3t-4", "A": "b"}})
    store.save_run(run.model_copy(update={"config": old}))
    target = tmp_path / "b.pitwall.zip"
    export_runs(store.query, [ID], target, NOW, mask_text)
    with zipfile.ZipFile(target) as archive:
        carried = b"".join(archive.read(name) for name in archive.namelist())
    assert b"s3cr3t" not in carried and b"czNjcjN0" not in carried and b'"A": "b"' in carried

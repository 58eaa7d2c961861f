"""Files that only look like a bundle: forged, cut or flipped, each is refused in a sentence."""

from __future__ import annotations

import hashlib
import io
import stat
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from settings import Settings
from storage.queries.load_queries import read_loads
from storage.store import Store
from storage.transfer.archive import ArchiveError, Manifest, Member
from storage.transfer.bundle_import import import_bundle
from tests.storage.transfer.test_bundle import ID, NOW, parquet, run_with_samples
from tests.storage.transfer.test_bundle import bundle as bundle
from tests.storage.transfer.test_bundle import elsewhere as elsewhere
from tests.storage.transfer.test_bundle import honest as honest

pytestmark = pytest.mark.wide


@pytest.fixture(scope="module")
def untouched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Settings]]:
    """A store into which nothing ever comes."""
    settings = Settings(data_dir=tmp_path_factory.mktemp("untouched") / "data")
    opened = Store.open(settings)
    yield opened, settings
    opened.close()


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


def changed_record(old: bytes, new: bytes) -> Forge:
    def forge(members: Members, manifest: Manifest) -> Manifest:
        name = f"runs/{ID}/run.json"
        assert old in members[name]
        members[name] = members[name].replace(old, new)
        return manifest

    return forge


AD_9998 = datetime(9998, 1, 1, tzinfo=UTC)
BC = datetime(1, 1, 1, tzinfo=UTC)
EVENTS = f"runs/{ID}/events.parquet"


def alike(rows: int, text: str = "x") -> bytes:
    """Many rows that are all the same: written as one value and a count."""
    once = pa.array(numpy.zeros(rows, numpy.int8))
    values = {"run_id": ID, "ts": NOW, "kind": "note", "text": text}
    columns = {name: pa.DictionaryArray.from_arrays(once, [value]) for name, value in values.items()}
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer, compression="zstd", row_group_size=rows)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (with_member("../../evil", b"x"), "an unknown member"),
        (with_member("/etc/evil", b"x"), "an unknown member"),
        (with_member(f"runs/{ID}/../../../evil.log", b"x"), "an unknown member"),
        (with_member("runs/../server.log", b"x"), "an unknown member"),
        (with_member(f"runs/{ID}/evil.parquet", b"x"), "an unknown member"),
        (with_member("runs/other-run/server.log", b"x"), "its runs do not match"),
        (with_member(f"runs/{ID}/server.log", lambda: b"0" * 70_000_000), "would unpack to"),
        (with_member(EVENTS, b"PAR1 nonsense PAR1"), "damaged or forged"),
        (with_member(EVENTS, parquet(run_id=["another"], text=["x"])), "rows of another run"),
        (with_member(EVENTS, parquet(run_id=[ID], evil=["x"])), "unknown column 'evil'"),
        (with_member(EVENTS, parquet(run_id=[ID], ts=["yesterday"])), "damaged or forged"),
        (with_member(EVENTS, parquet(text=["x"])), "damaged or forged"),
        (
            with_member(EVENTS, parquet(run_id=[ID] * 2, ts=[NOW, AD_9998])),
            "row 2 has an impossible time",
        ),
        (with_member(EVENTS, parquet(run_id=[ID], ts=[BC])), "row 1 has an impossible time"),
        (changed_record(b'"created_at": "2026', b'"created_at": "9999'), "run.json has an impossible created_at"),
        (changed_record(b'"ready_timeout_s": 600.0', b'"ready_timeout_s": 1e300'), "an impossible ready_timeout_s"),
        (changed_record(b'"color": 3', b'"color": 99999999999999999999'), "an impossible color|not a valid run"),
        (with_member(EVENTS, partial(alike, 3_000_000)), "3,000,000 rows in .* bytes are impossible"),
        (with_member(EVENTS, partial(alike, 60_000_000)), "60,000,000 rows of .* bytes are too many for a run"),
        (with_member(EVENTS, partial(alike, 90_000, "x" * 1_000_000)), r"damaged or forged: .* \(Out of Memory"),
        (with_member(f"runs/{ID}/run.json", b"{}"), "is not a valid run"),
        (changed_record(b'"failed"', b'"running"'), "or to a live one"),
        (changed_record(f'"{ID}"'.encode(), b'"../../evil"'), "belongs to another run"),
        (lambda members, manifest: manifest.model_copy(update={"runs": ()}), "its runs do not match"),
        (lambda members, manifest: manifest.model_copy(update={"schema_number": 999}), "newer Pitwall"),
        (lambda members, manifest: manifest.model_copy(update={"pitwall": "backup"}), "is a Pitwall backup"),
    ],
)
def test_a_forged_bundle_is_refused(bundle: Path, untouched: tuple[Store, Settings], forge: Forge, told: str) -> None:
    assert_refused(rewritten(bundle, forge), untouched, told)


NAN, INFINITE = float("nan"), float("inf")
IMPOSSIBLE = {
    "run_id": [ID] * 6,
    "ts": [NOW] * 6,
    "mono_s": [0.0, 1.0, 2.0, 3.0, NAN, INFINITE],
    "definition": ["vllm.counter"] * 6,
    "engine_index": [0] * 6,
    "generation_tokens_total": [NAN, INFINITE, -5e300, 7.0, 8.0, 9.0],
    "kv_usage_ratio": [0.5, -0.5, 2.0**53 + 2, 0.25, 0.5, 0.5],
    "accepted_per_pos_total": [[1.0, NAN], [1.0, -1.0], [1.0, -INFINITE], [], [1.0], None],
}


def test_impossible_numbers_become_unknown(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    forged = with_member(f"runs/{ID}/counter_samples.parquet", parquet(**IMPOSSIBLE))
    taken_bundle = import_bundle(*elsewhere, rewritten(bundle, forged))
    text = "SELECT mono_s, generation_tokens_total, kv_usage_ratio, accepted_per_pos_total FROM counter_samples"
    columns = elsewhere[0].query(f"{text} ORDER BY mono_s").to_pydict()
    assert columns == {
        "mono_s": [0.0, 1.0, 2.0, 3.0],
        "generation_tokens_total": [None, None, None, 7.0],
        "kv_usage_ratio": [0.5, None, None, 0.25],
        "accepted_per_pos_total": [None, None, None, []],
    }
    assert taken_bundle.text.endswith("; 10 impossible values left out.")


def test_negative_temperatures_are_accepted(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    gpus = {"run_id": [ID], "ts": [NOW], "mono_s": [1.0], "machine_id": ["m"], "gpu_index": [0]}
    gpus |= {"temperature_c": [-5.0], "power_w": [-5.0]}
    names = ("load_id", "point", "metric", "statistic", "unit", "definition")
    texts_by_name = {name: ["x", "x"] for name in names} | {
        "run_id": [ID] * 2,
        "ts": [NOW] * 2,
        "value": [-0.5, INFINITE],
    }

    def forge(members: Members, manifest: Manifest) -> Manifest:
        members[f"runs/{ID}/gpu_samples.parquet"] = parquet(**gpus)
        members[f"runs/{ID}/results.parquet"] = parquet(**texts_by_name)
        return manifest

    taken_bundle = import_bundle(*elsewhere, rewritten(bundle, forge))
    assert elsewhere[0].query("SELECT temperature_c, power_w FROM gpu_samples").to_pylist() == [
        {"temperature_c": -5.0, "power_w": None}
    ]
    assert elsewhere[0].query("SELECT value FROM results ORDER BY value").to_pydict() == {"value": [-0.5, None]}
    assert "2 impossible values left out" in taken_bundle.text


def test_json_of_another_shape_becomes_unknown(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    """Every page of a run reads the parameters of its loads as an object."""
    loads = {name: ["x"] * 4 for name in ("tool", "workload")} | {"run_id": [ID] * 4, "ts": [NOW] * 4}
    loads |= {"load_id": ["0", "1", "2", "3"], "params": ["null", "[1]", None, '{"n": 1}']}
    loads["command"] = ['["a", 1]', '["a", "b"]', '{"a": "b"}', None]
    forged = with_member(f"runs/{ID}/loads.parquet", parquet(**loads))
    taken_bundle = import_bundle(*elsewhere, rewritten(bundle, forged))
    stored = read_loads(elsewhere[0], [ID])[ID]
    assert [(load.params, load.command) for load in stored] == [
        ({}, None), ({}, ["a", "b"]), ({}, None), ({"n": 1}, None),
    ]  # fmt: skip
    assert "4 impossible values left out" in taken_bundle.text


def test_member_unlike_manifest_is_refused(bundle: Path, untouched: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle) as file:
        log = file.read(f"runs/{ID}/server.log")
    other = with_member(f"runs/{ID}/server.log", log.replace(b"serving", b"surfing"))
    assert_refused(rewritten(bundle, other, honest=False), untouched, "does not match its manifest")
    longer = with_member(f"runs/{ID}/server.log", log + b"more")
    assert_refused(rewritten(bundle, longer, honest=False), untouched, "members do not match its manifest")


def test_a_link_is_refused(bundle: Path, untouched: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle, "a") as file:
        info = file.getinfo(f"runs/{ID}/server.log")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        file.comment = b"written anew"  # the table of contents, with the link in it
    assert_refused(bundle, untouched, "is not a regular file")


def test_two_members_of_one_name_are_refused(bundle: Path, untouched: tuple[Store, Settings]) -> None:
    with zipfile.ZipFile(bundle, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(f"runs/{ID}/server.log", b"the other")
    assert_refused(bundle, untouched, "two with the same name")


@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.99])
def test_a_cut_bundle_is_refused(bundle: Path, untouched: tuple[Store, Settings], share: float) -> None:
    data = bundle.read_bytes()
    bundle.write_bytes(data[: int(share * len(data))])
    assert_refused(bundle, untouched, "is truncated or not a Pitwall bundle")


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


def test_a_known_id_with_another_life_is_refused(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    run_with_samples(*elsewhere, started_at=NOW - timedelta(days=1))
    with pytest.raises(ArchiveError, match="a different run with the id"):
        import_bundle(*elsewhere, bundle)


def test_rows_without_a_required_value_are_left_out(bundle: Path, elsewhere: tuple[Store, Settings]) -> None:
    """A page that sorts or groups by such a value would show no run at all."""
    name = f"runs/{ID}/counter_samples.parquet"

    def forge(members: Members, manifest: Manifest) -> Manifest:
        table = pq.read_table(io.BytesIO(members[name]))
        unknown = pa.array([None, *table["definition"].to_pylist()[1:]], pa.string())
        buffer = io.BytesIO()
        pq.write_table(table.set_column(table.column_names.index("definition"), "definition", unknown), buffer)
        members[name] = buffer.getvalue()
        return manifest

    store, settings = elsewhere
    import_bundle(store, settings, rewritten(bundle, forge))
    rows = store.query("SELECT count(*) AS n, count(definition) AS known FROM counter_samples").to_pylist()
    assert rows == [{"n": 2, "known": 2}]


def assert_refused(path: Path, untouched: tuple[Store, Settings], told: str) -> None:
    """Refused in one sentence, with nothing left behind."""
    there, their = untouched
    with pytest.raises(ArchiveError, match=told):
        import_bundle(there, their, path)
    assert there.runs() == []
    paths = [p for p in their.data_dir.rglob("*") if p.is_file() and p.suffix in (".log", ".parquet", ".json")]
    assert paths == []
    assert not list(path.parent.parent.rglob("evil*"))

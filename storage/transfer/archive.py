"""The archive format of bundles and backups: a zip with a manifest that lists every member with size and SHA-256.

Archives are not trusted. Nothing is unpacked before the whole table of contents has been checked against the manifest,
no member with an unexpected name, and nothing beyond a member's stated size. The hashes detect damage; they are not a
signature and do not prove the origin of the file.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Literal
from zlib import error as ZlibError

from pydantic import BaseModel, ConfigDict, ValidationError

from settings import VERSION
from storage.database import StoreError

CHUNK_BYTES = 1 << 20
FORMAT = 1
MANIFEST = "manifest.json"
MANIFEST_BYTES = 16 << 20
MAX_MEMBERS = 200_000
MAX_BYTES = 64 << 30  # unpacked
MAX_RATIO = 300  # of the unpacked to the packed bytes; text logs stay below 100
RATIO_FREE_BYTES = 64 << 20  # below this size the ratio is not checked
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

Kind = Literal["bundle", "backup"]


class ArchiveError(StoreError):
    """A bundle or backup cannot be written or read; the message is one sentence for the user."""


class Member(BaseModel):
    """One file of an archive."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    sha256: str
    size: int


class Manifest(BaseModel):
    """The contents of an archive; `schema_number` is that of its source store."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    pitwall: Kind
    format: int
    version: str
    schema_number: int
    made_at: datetime
    runs: tuple[str, ...] = ()  # in the order of the comparison
    data_dir: str | None = None  # of a backup: the data folder of its paths
    members: dict[str, Member]


class ArchiveWriter:
    """Adds members and hashes them while writing."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self.members: dict[str, Member] = {}

    def add(self, name: str, data: bytes) -> None:
        """Write one member from memory; `name` is its path within the archive."""
        self.add_chunks(name, [data])

    def add_file(self, name: str, path: Path) -> None:
        """Write a file; one that grows meanwhile is included as far as it was read."""
        with path.open("rb") as source:
            self.add_chunks(name, iter(lambda: source.read(CHUNK_BYTES), b""))

    def add_chunks(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write one member in chunks, deflated unless it is Parquet, which is already compressed."""
        digest, size = hashlib.sha256(), 0
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same content is the same file
        info.external_attr = (stat.S_IFREG | 0o600) << 16
        info.compress_type = zipfile.ZIP_STORED if name.endswith(".parquet") else zipfile.ZIP_DEFLATED
        with self._file.open(info, "w", force_zip64=True) as out:
            for data in chunks:
                digest.update(data)
                size += out.write(data)
        self.members[name] = Member(sha256=digest.hexdigest(), size=size)


@contextmanager
def write_archive(
    target: Path,
    kind: Kind,
    schema_number: int,
    made_at: datetime,
    runs: Iterable[str] = (),
    data_dir: str | None = None,
) -> Iterator[ArchiveWriter]:
    """Write an archive; it appears at `target` when complete, readable by its owner only."""
    draft = target.with_name(f".{target.name}.draft")
    draft.unlink(missing_ok=True)
    draft.touch(mode=0o600)
    try:
        with zipfile.ZipFile(draft, "w") as file:
            writer = ArchiveWriter(file)
            yield writer
            manifest = Manifest(
                pitwall=kind,
                format=FORMAT,
                version=VERSION,
                schema_number=schema_number,
                made_at=made_at,
                runs=tuple(runs),
                data_dir=data_dir,
                members=dict(writer.members),
            )
            writer.add(MANIFEST, manifest.model_dump_json(indent=1).encode())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


class Archive:
    """An archive with a checked table of contents; every member is checked when it is read."""

    def __init__(self, file: zipfile.ZipFile, manifest: Manifest, name: str) -> None:
        self._file = file
        self.manifest = manifest
        self.name = name

    def read(self, member: str, max_bytes: int = MANIFEST_BYTES) -> bytes:
        """Return a small member; raises ArchiveError if it is damaged or larger than `max_bytes`."""
        if self.manifest.members[member].size > max_bytes:
            raise ArchiveError(f"{self.name} is not a valid archive: {member} is too large.")
        return b"".join(self.chunks(member))

    def extract(self, member: str, target: Path) -> None:
        """Unpack a member to a path of the caller's choice."""
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as out:
            for data in self.chunks(member):
                out.write(data)

    def chunks(self, member: str) -> Iterator[bytes]:
        """Yield a member's bytes, checked to the end; raises ArchiveError."""
        expected, digest, size = self.manifest.members[member], hashlib.sha256(), 0
        try:
            with self._file.open(member) as source:
                while data := source.read(CHUNK_BYTES):
                    size += len(data)
                    digest.update(data)
                    if size > expected.size:
                        break
                    yield data
        except (zipfile.BadZipFile, ZlibError, EOFError) as error:
            raise ArchiveError(f"{self.name} is damaged: {member} cannot be unpacked ({error}).") from error
        if size != expected.size or digest.hexdigest() != expected.sha256:
            raise ArchiveError(f"{self.name} is damaged: {member} does not match its manifest.")


@contextmanager
def open_archive(
    path: Path, kind: Kind, schema_number: int, names: re.Pattern[str], target_dir: Path
) -> Iterator[Archive]:
    """Open an archive whose member names all match `names`; raises ArchiveError for any other.

    `schema_number` is this version's schema; the disk of `target_dir` must have room for the members.
    """
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as file:
            manifest = _read_manifest(path, file)
            _check_origin(path, manifest, kind, schema_number)
            _check_contents(path, file, names, manifest)
            _check_room(path, manifest, target_dir)
            yield Archive(file, manifest, path.name)
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise ArchiveError(f"{path.name} is truncated or not a Pitwall {kind}: {error}.") from error


def _check_contents(path: Path, file: zipfile.ZipFile, names: re.Pattern[str], manifest: Manifest) -> None:
    infos = file.infolist()
    listed = [info.filename for info in infos]
    if len(infos) > MAX_MEMBERS or len(set(listed)) != len(listed):
        raise ArchiveError(f"{path.name} is not a valid archive: it has too many members, or two with the same name.")
    for info in infos:
        mode = info.external_attr >> 16
        if info.filename != MANIFEST and not names.fullmatch(info.filename):
            raise ArchiveError(f"{path.name} is refused: it has an unknown member {info.filename!r}.")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
            raise ArchiveError(f"{path.name} is refused: {info.filename} is not a regular file.")
        if info.flag_bits & 1 or info.compress_type not in _PACKINGS:
            raise ArchiveError(f"{path.name} is refused: {info.filename} is encrypted or compressed in another way.")
    _check_bomb(path, sum(info.file_size for info in infos))
    sizes = {info.filename: info.file_size for info in infos if info.filename != MANIFEST}
    if sizes != {name: member.size for name, member in manifest.members.items()}:
        raise ArchiveError(f"{path.name} is damaged or forged: its members do not match its manifest.")


def _check_bomb(path: Path, unpacked: int) -> None:
    if unpacked > MAX_BYTES or unpacked > max(MAX_RATIO * path.stat().st_size, RATIO_FREE_BYTES):
        raise ArchiveError(
            f"{path.name} is refused: its {path.stat().st_size:,} bytes would unpack to {unpacked:,}, "
            "which is more than any Pitwall archive."
        )


def _read_manifest(path: Path, file: zipfile.ZipFile) -> Manifest:
    try:
        if file.getinfo(MANIFEST).file_size > MANIFEST_BYTES:
            raise ArchiveError(f"{path.name} is refused: its manifest is too large.")
        with file.open(MANIFEST) as source:
            return Manifest.model_validate_json(source.read(MANIFEST_BYTES))
    except (KeyError, ValidationError, ZlibError, EOFError) as error:
        raise ArchiveError(f"{path.name} has no readable Pitwall manifest.") from error


def _check_origin(path: Path, manifest: Manifest, kind: Kind, schema_number: int) -> None:
    if manifest.pitwall != kind:
        raise ArchiveError(f"{path.name} is a Pitwall {manifest.pitwall}, not a {kind}.")
    if manifest.format > FORMAT or manifest.schema_number > schema_number:
        raise ArchiveError(
            f"{path.name} was made by a newer Pitwall ({manifest.version}, schema {manifest.schema_number}; "
            f"this one has schema {schema_number}): use that version or a later one."
        )


def _check_room(path: Path, manifest: Manifest, target_dir: Path) -> None:
    needed, free = sum(member.size for member in manifest.members.values()), shutil.disk_usage(target_dir).free
    if needed > free:
        raise ArchiveError(f"{path.name} needs {needed:,} bytes of disk space, but only {free:,} are free.")


def check_members(archive: Archive) -> int:
    """Read every member completely and check it against the manifest; return their number."""
    for member in archive.manifest.members:
        for _ in archive.chunks(member):
            pass
    return len(archive.manifest.members)

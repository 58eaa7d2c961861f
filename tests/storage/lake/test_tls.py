"""A lake with certificates of an authority of one's own: shipped to, read and asked over TLS, or not at all."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from machine.private_files import write_private
from machine.run_with_timeout import run_bounded
from storage.lake.config import S3, LakeConfig, LakeError
from storage.lake.connection import opened_lake
from storage.lake.layout import make_lake, required_columns
from storage.sandbox.job import SqlRefusedError
from storage.sandbox.lake.client import LakeSandbox
from tests.storage.lake.boxes import Box, assert_whole, lake_toml
from tests.storage.lake.servers import KEYS, PASSWORD, Certificate, Postgres, S3Server

pytestmark = pytest.mark.lake

CERTIFIED = "localhost"  # 127.0.0.1 is the same server by a name that the certificate does not have
READ = "read-only"


class Authority:
    """A CA that signed one certificate."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.ca, self.certificate = folder / "ca.pem", Certificate(folder / "server.pem", folder / "server.key")
        ca_key, request, names = folder / "ca.key", folder / "server.csr", folder / "names"
        names.write_text(f"subjectAltName=DNS:{CERTIFIED}\n")
        key = ["-newkey", "rsa:2048", "-nodes", "-keyout"]
        _openssl("req", "-x509", *key, ca_key, "-subj", "/CN=CA of the test", "-out", self.ca)
        _openssl("req", *key, self.certificate.key, "-subj", f"/CN={CERTIFIED}", "-out", request)
        signed = ["-CA", self.ca, "-CAkey", ca_key, "-CAcreateserial", "-extfile", names]
        _openssl("x509", "-req", "-in", request, *signed, "-out", self.certificate.cert)


def _openssl(*words: str | Path) -> None:
    subprocess.run(["openssl", *words], check=True, capture_output=True)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("tls") / "ca")


@pytest.fixture(scope="module")
def postgres(authority: Authority) -> Iterator[Postgres]:
    with tempfile.TemporaryDirectory(prefix="pitwall-postgres-") as name:
        Path(name).chmod(0o755)
        server = Postgres(Path(name) / "cluster", authority.certificate)
        yield server
        server.stop_hard()


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[S3Server]:
    server = S3Server(tmp_path_factory.mktemp("s3") / "weed", authority.certificate)
    yield server
    server.stop_hard()


@pytest.fixture
def config(postgres: Postgres, s3: S3Server, authority: Authority, tmp_path: Path) -> LakeConfig:
    name = f"lake_{tmp_path.name}"
    postgres.run(f"CREATE DATABASE {name}")
    key_id, secret = KEYS["rw"]
    path = Path(shutil.copy(authority.ca, tmp_path / "s3.pem"))  # whoever may read the catalogue's reads not this one
    files = S3(endpoint=f"{CERTIFIED}:{s3.port}", key_id=key_id, secret=secret, ca_file=path)
    return LakeConfig(catalogue=checked(postgres, authority, name), data_path=f"s3://pitwall/{name}/", s3=files)


def checked(server: Postgres, authority: Authority, database: str, user: str = "lake", password: str = PASSWORD) -> str:
    """A DSN by which libpq holds the certificate against the authority and the host's name."""
    dsn = server.dsn(database, user, password).replace("127.0.0.1", CERTIFIED)
    return f"{dsn} sslmode=verify-full sslrootcert={authority.ca}"


def test_both_certificates_checked_over_tls(
    boxes: Callable[[str], Box], config: LakeConfig, postgres: Postgres, authority: Authority
) -> None:
    box = boxes("one")
    box.add_runs("a", 2)
    box.ship()
    assert_whole(config, box)
    database = config.data_path.rstrip("/").rpartition("/")[2]
    postgres.run(f"CREATE ROLE tls_reader LOGIN PASSWORD '{READ}'")
    with opened_lake(config) as connection:
        make_lake(connection, required_columns(box.store.query), "tls_reader")
    key_id, secret = KEYS["ro"]
    dsn = checked(postgres, authority, database, "tls_reader", READ)
    reader = f'[reader]\ncatalogue = "{dsn}"\nkey_id = "{key_id}"\nsecret = "{secret}"\n'
    write_private(box.settings.lake_path, (lake_toml(config) + reader).encode())
    asked = LakeSandbox(box.settings, run_bounded).ask("SELECT count(*) AS n FROM requests_of(['a000'])")
    assert asked.table.to_pylist() == [{"n": 30}]
    assert config.s3
    nobody = (lake_toml(config) + reader).replace(f'ca_file = "{config.s3.ca_file}"\n', "")
    write_private(box.settings.lake_path, nobody.encode())
    with pytest.raises(SqlRefusedError, match=r"certificate of the S3 server .* ca_file"):
        LakeSandbox(box.settings, run_bounded).ask("SELECT count(*) AS n FROM requests_of(['a000'])")


@pytest.mark.parametrize(
    ("endpoint", "is_trusted"), [("127.0.0.1", True), (CERTIFIED, False)], ids=["another-host", "unknown-authority"]
)
def test_uncertified_s3_server_gets_nothing(
    boxes: Callable[[str], Box], config: LakeConfig, s3: S3Server, endpoint: str, is_trusted: bool
) -> None:
    assert config.s3
    changed = {"endpoint": f"{endpoint}:{s3.port}", **({} if is_trusted else {"ca_file": None})}
    box = boxes("one")
    box.add_runs("a", 1)
    doubted = Box(
        "one", box.settings, box.store, config.model_copy(update={"s3": config.s3.model_copy(update=changed)})
    )
    with pytest.raises(LakeError, match=r"certificate of the S3 server .* ca_file"):
        doubted.ship()
    assert box.ship().parts == 4, "nothing of it was taken"


def test_uncertified_catalogue_is_not_queried(config: LakeConfig) -> None:
    other = config.model_copy(update={"catalogue": config.catalogue.replace(f"host={CERTIFIED}", "host=127.0.0.1")})
    with pytest.raises(LakeError, match=r"certificate of the catalogue .* sslrootcert"), opened_lake(other):
        raise AssertionError("it was opened")

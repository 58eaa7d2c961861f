"""lake.toml as it is read: paths from where it lies, what goes unencrypted, a refused certificate in a sentence."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from machine.private_files import write_private
from settings import Settings
from storage.lake.config import S3, LakeConfig, LakeError, required_config
from storage.lake.tls import in_clear, refused_certificate
from storage.lake.upkeep import cutoff_sql

BESIDE = "host=/run/postgresql dbname=lake"
S3_REFUSED = "IO Error: SSL peer certificate or SSH remote key was not OK error for HTTP GET to 'https://s3/b'"


def config(catalogue: str = BESIDE, endpoint: str = "s3.example.org", use_ssl: bool = True) -> LakeConfig:
    files = S3(endpoint=endpoint, key_id="k", secret="s", use_ssl=use_ssl)
    return LakeConfig(catalogue=catalogue, data_path="s3://b/", s3=files)


def write_lake_file(settings: Settings, ca_file: str) -> None:
    text = f'catalogue = "{BESIDE}"\ndata_path = "s3://b/"\n[s3]\nendpoint = "s3"\nkey_id = "k"\nsecret = "s"\n'
    write_private(settings.lake_path, f'{text}ca_file = "{ca_file}"\n'.encode())


def test_relative_ca_file_is_beside_lake_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "team.pem").touch()
    (tmp_path / "other.pem").touch()
    monkeypatch.chdir(tmp_path)
    settings = Settings(data_dir=Path("data"))
    write_lake_file(settings, "team.pem")
    found = required_config(settings).s3
    assert found and found.ca_file == tmp_path / "data" / "team.pem"
    write_lake_file(settings, str(tmp_path / "other.pem"))
    found = required_config(settings).s3
    assert found and found.ca_file == tmp_path / "other.pem"
    write_lake_file(settings, "other.pem")
    with pytest.raises(LakeError, match=r"s3\.ca_file is invalid"):
        required_config(settings)


def test_config_given_to_a_process_stays_fixed(tmp_path: Path) -> None:
    (tmp_path / "team.pem").touch()
    files = S3(endpoint="s3", key_id="k", secret="s", ca_file=tmp_path / "team.pem")
    lake_config = LakeConfig(catalogue=BESIDE, data_path="s3://b/", s3=files)
    assert LakeConfig.model_validate_json(lake_config.model_dump_json()) == lake_config


@pytest.mark.parametrize("endpoint", ["s3.example.org", "10.0.0.7:9000", "s3:9000"])
def test_plain_http_to_another_machine_is_told(endpoint: str) -> None:
    (sentence,) = in_clear(config(endpoint=endpoint, use_ssl=False))
    assert endpoint in sentence and "unencrypted" in sentence
    assert in_clear(config(endpoint=endpoint)) == []


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "localhost:9000", "[::1]:9000", "localhost"])
def test_what_stays_on_this_machine_is_not_told(endpoint: str) -> None:
    assert in_clear(config(endpoint=endpoint, use_ssl=False)) == []


def test_unencrypted_catalogue_is_reported() -> None:
    far = "host=db.example.org dbname=lake password=hidden"
    (sentence,) = in_clear(config(far))
    assert "db.example.org" in sentence and "hidden" not in sentence
    assert len(in_clear(config(f"{far} sslmode=prefer"))) == 1
    for mode in ("require", "verify-ca", "verify-full"):
        assert in_clear(config(f"{far} sslmode={mode}")) == []
    assert in_clear(config("host=127.0.0.1 dbname=lake")) == []


def test_refused_certificate_comes_with_advice() -> None:
    actual_refused_certificate = refused_certificate(config(), S3_REFUSED)
    assert (
        actual_refused_certificate
        and "s3.example.org" in actual_refused_certificate
        and "ca_file" in actual_refused_certificate
    )
    libpq = 'IO Error: Unable to connect: connection to server at "db" failed: SSL error: certificate verify failed'
    actual_refused_certificate = refused_certificate(config("host=db dbname=lake"), libpq)
    assert (
        actual_refused_certificate
        and "catalogue db" in actual_refused_certificate
        and "sslrootcert" in actual_refused_certificate
    )
    assert refused_certificate(config(), "IO Error: Connection refused") is None


@pytest.mark.parametrize("days", [0, 0.5, 7.0, 36_500])
def test_snapshot_retention_reaches_the_lake(days: float) -> None:
    row = duckdb.sql(f"SELECT epoch(now() - ({cutoff_sql(days)}))").fetchone()
    assert row == (days * 86_400,)


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 1e9])
def test_invalid_retention_days_keep_no_snapshot(days: float) -> None:
    with pytest.raises(LakeError, match="Snapshots are kept for 0 to 36,500 days"):
        cutoff_sql(days)

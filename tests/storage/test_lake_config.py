"""lake.toml as it is read: paths from where it lies, what goes unencrypted, a refused certificate in a sentence."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from machine.private_files import write_private
from settings import Settings
from storage.lake.config import S3, LakeConfig, LakeError, needed_config
from storage.lake.tls import in_clear, refused_certificate
from storage.lake.upkeep import moment_before

BESIDE = "host=/run/postgresql dbname=lake"
S3_REFUSED = "IO Error: SSL peer certificate or SSH remote key was not OK error for HTTP GET to 'https://s3/b'"


def config(catalogue: str = BESIDE, endpoint: str = "s3.example.org", use_ssl: bool = True) -> LakeConfig:
    files = S3(endpoint=endpoint, key_id="k", secret="s", use_ssl=use_ssl)
    return LakeConfig(catalogue=catalogue, data_path="s3://b/", s3=files)


def written(settings: Settings, ca_file: str) -> None:
    text = f'catalogue = "{BESIDE}"\ndata_path = "s3://b/"\n[s3]\nendpoint = "s3"\nkey_id = "k"\nsecret = "s"\n'
    write_private(settings.lake_path, f'{text}ca_file = "{ca_file}"\n'.encode())


def test_a_relative_ca_file_lies_beside_lake_toml_wherever_pitwall_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "team.pem").touch()
    (tmp_path / "other.pem").touch()
    monkeypatch.chdir(tmp_path)
    settings = Settings(data_dir=Path("data"))
    written(settings, "team.pem")
    found = needed_config(settings).s3
    assert found and found.ca_file == tmp_path / "data" / "team.pem"
    written(settings, str(tmp_path / "other.pem"))
    found = needed_config(settings).s3
    assert found and found.ca_file == tmp_path / "other.pem"
    written(settings, "other.pem")
    with pytest.raises(LakeError, match=r"s3\.ca_file is wrong"):
        needed_config(settings)


def test_a_configuration_that_another_process_is_given_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "team.pem").touch()
    files = S3(endpoint="s3", key_id="k", secret="s", ca_file=tmp_path / "team.pem")
    given = LakeConfig(catalogue=BESIDE, data_path="s3://b/", s3=files)
    assert LakeConfig.model_validate_json(given.model_dump_json()) == given


@pytest.mark.parametrize("endpoint", ["s3.example.org", "10.0.0.7:9000", "s3:9000"])
def test_plain_http_to_another_machine_is_told(endpoint: str) -> None:
    (sentence,) = in_clear(config(endpoint=endpoint, use_ssl=False))
    assert endpoint in sentence and "unencrypted" in sentence
    assert in_clear(config(endpoint=endpoint)) == []


@pytest.mark.parametrize("endpoint", ["127.0.0.1:9000", "localhost:9000", "[::1]:9000", "localhost"])
def test_what_stays_on_this_machine_is_not_told(endpoint: str) -> None:
    assert in_clear(config(endpoint=endpoint, use_ssl=False)) == []


def test_a_catalogue_that_may_be_spoken_to_in_clear_is_told() -> None:
    far = "host=db.example.org dbname=lake password=hidden"
    (sentence,) = in_clear(config(far))
    assert "db.example.org" in sentence and "hidden" not in sentence
    assert len(in_clear(config(f"{far} sslmode=prefer"))) == 1
    for mode in ("require", "verify-ca", "verify-full"):
        assert in_clear(config(f"{far} sslmode={mode}")) == []
    assert in_clear(config("host=127.0.0.1 dbname=lake")) == []


def test_a_refused_certificate_is_told_with_the_way_out() -> None:
    told = refused_certificate(config(), S3_REFUSED)
    assert told and "s3.example.org" in told and "ca_file" in told
    libpq = 'IO Error: Unable to connect: connection to server at "db" failed: SSL error: certificate verify failed'
    told = refused_certificate(config("host=db dbname=lake"), libpq)
    assert told and "catalogue db" in told and "sslrootcert" in told
    assert refused_certificate(config(), "IO Error: Connection refused") is None


@pytest.mark.parametrize("days", [0, 0.5, 7.0, 36_500])
def test_how_long_snapshots_are_kept_is_said_to_the_lake_as_it_reads_it(days: float) -> None:
    row = duckdb.sql(f"SELECT epoch(now() - ({moment_before(days)}))").fetchone()
    assert row == (days * 86_400,)


@pytest.mark.parametrize("days", [-1, float("nan"), float("inf"), 1e9])
def test_no_snapshot_is_kept_for_no_number_of_days(days: float) -> None:
    with pytest.raises(LakeError, match="Snapshots are kept for 0 to 36,500 days"):
        moment_before(days)

"""The numbers of a report as files: CSV and Parquet of every table, with what a spreadsheet could run made harmless."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from cli.main import main
from domain import Run
from settings import Settings
from storage.store import Store
from tests.web.report_export.conftest import Report
from web.report_export.tables import as_zip, data_tables

pytestmark = pytest.mark.wide


def test_every_table_is_in_both_forms(runs: list[Run], report: Report) -> None:
    tables = data_tables(report(runs))
    archive = zipfile.ZipFile(io.BytesIO(as_zip(tables)))
    assert sorted(archive.namelist()) == sorted(
        f"{table.name}.{kind}" for table in tables for kind in ("csv", "parquet")
    )
    for table in tables:
        assert pyarrow.parquet.read_table(io.BytesIO(archive.read(f"{table.name}.parquet"))).equals(table.rows)
        assert pyarrow.csv.read_csv(io.BytesIO(archive.read(f"{table.name}.csv"))).num_rows == table.rows.num_rows
    starts = next(table.rows for table in tables if table.name == "starts")
    assert sorted(starts["run_id"].to_pylist()) == sorted(run.id for run in runs)


def test_formula_like_name_is_text(store: Store, runs: list[Run], report: Report) -> None:
    store.save_run(runs[0].model_copy(update={"name": "=HYPERLINK(1)"}))
    archive = zipfile.ZipFile(io.BytesIO(as_zip(data_tables(report(runs)))))
    assert b"'=HYPERLINK(1)" in archive.read("runs.csv")


@pytest.mark.publishes
def test_the_command_writes_files(
    store: Store, settings: Settings, runs: list[Run], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    page, text = tmp_path / "r.html", tmp_path / "r.md"
    words = ["report", *(run.id for run in runs), "--by", "Ada", "--html", str(page), "--markdown", str(text)]
    assert main([*words, "--tables", str(tmp_path / "tables")]) == 0
    assert "made by Ada" in page.read_text() and "Made by Ada" in text.read_text()
    assert (tmp_path / "tables" / "answers.parquet").is_file()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["20200101-000000-000-zzzz"], "There is no run 20200101-000000-000-zzzz."),
        (["--study", "gone"], "There is no study gone."),
        ([], "Name a run, or a study that has runs."),
        (["--objective", "fastness", "RUN"], "There is no objective 'fastness'"),
    ],
)
@pytest.mark.publishes
def test_bad_words_get_a_sentence(
    store: Store,
    settings: Settings,
    runs: list[Run],
    words: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    store.close()
    monkeypatch.setenv("PITWALL_DATA", str(settings.data_dir))
    assert main(["report", *(runs[0].id if word == "RUN" else word for word in words)]) == 1
    assert sentence in capsys.readouterr().err

"""The description of the views for users is complete, and is what docs/schema.md says."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from cli.main import main
from settings import Settings
from storage.catalog import attached
from storage.published_query import Params, count_views, published_query
from storage.store import Store
from storage.user_sql.schema import CONTRACT, describe_schema, macro_columns, read_macros

DOCUMENT = Path(__file__).resolve().parents[3] / "docs" / "schema.md"


def test_every_view_and_column_has_a_comment(store: Store) -> None:
    bare = store.query(
        "SELECT v.view_name, c.column_name FROM duckdb_views() v JOIN duckdb_columns() c ON c.table_name = v.view_name "
        "AND c.schema_name = 'main' WHERE NOT v.internal AND (v.comment IS NULL OR c.comment IS NULL)"
    )
    assert bare.to_pylist() == []


def test_the_document_says_what_the_comments_say(store: Store) -> None:
    assert DOCUMENT.read_text() == describe_schema(store.query) + "\n", "run: ./pitwall schema > docs/schema.md"


def test_command_prints_document_when_unpublished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`./pitwall schema > docs/schema.md` would otherwise leave an empty file."""
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path / "none"))
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == DOCUMENT.read_text()
    assert not (tmp_path / "none").exists()


def test_template_in_progress_doubles_no_column(settings: Settings, store: Store) -> None:
    before = describe_schema(store.query)
    with store._database.cursor() as cursor, attached(cursor, settings.data_dir / "other", "made"):
        cursor.execute("COPY FROM DATABASE store TO made (SCHEMA)")
        assert describe_schema(store.query) == before


@pytest.mark.publishes
def test_the_contract_views_are_published(settings: Settings, store: Store) -> None:
    with published_query(settings.published_path) as query:
        rows = count_views(query)
    assert rows.keys() >= set(CONTRACT)
    assert {count for view, count in rows.items() if not view.startswith("reference_")} == {0}


def test_folder_without_published_file_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PITWALL_DATA", str(tmp_path))
    assert main(["check"]) == 1
    assert "There is no published file" in capsys.readouterr().err


def test_table_macro_columns_match_their_rows(store: Store) -> None:
    found = macro_columns(store.query)
    assert set(found) == {words.partition("(")[0] for words in read_macros(store.query)} and all(found.values())
    for call in ("run_windows(2)", "runs_found()", "startup_of(NULL)", "run_samples_since(now())"):
        assert found[call.partition("(")[0]] == store.query(f"FROM {call}").column_names


def test_undescribable_macro_costs_no_other(store: Store) -> None:
    def broken(sql: str, params: Params | None = None) -> pa.Table:
        if 'FROM "run_windows"' in sql:
            raise duckdb.BinderException("a column is gone")
        return store.query(sql, params)

    found, whole = macro_columns(broken), macro_columns(store.query)
    assert found.pop("run_windows") == [] and found == {name: whole[name] for name in found}

"""Queries that are kept, and names that would lead elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from storage.queries.literals import literal, with_values
from storage.user_sql.saved_queries import MAX_DISPLAY_CHARACTERS, MAX_DISPLAY_FIELDS, SavedQueries, SavedQuery


def test_saved_query_listed_replaced_deleted(tmp_path: Path) -> None:
    saved = SavedQueries(tmp_path / "queries")
    assert saved.names() == []
    saved.save("zeta", "SELECT 1")
    saved.save("Alpha 2", "SELECT 2")
    saved.save("zeta", "SELECT 'ä'")
    assert saved.names() == ["Alpha 2", "zeta"]
    assert saved.read("zeta") == SavedQuery("SELECT 'ä'", {})
    saved.delete("zeta")
    assert saved.read("zeta") is None
    assert [path.name for path in (tmp_path / "queries").iterdir()] == ["Alpha 2.sql"], "no draft is left"


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "a\\b", "x" * 61, "a\n", "a.sql", "é"])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    saved = SavedQueries(tmp_path / "queries")
    (tmp_path / "x.sql").write_text("secret")
    with pytest.raises(ValueError, match="A name has at most 60 letters"):
        saved.save(name, "SELECT 1")
    assert saved.read(name) is None
    saved.delete(name)
    assert (tmp_path / "x.sql").exists()


def test_external_file_is_a_query_too(tmp_path: Path) -> None:
    (tmp_path / "mine.sql").write_text("SELECT 3")
    (tmp_path / "no name of ours!.sql").write_text("SELECT 4")
    (tmp_path / "notes.txt").write_text("x")
    assert SavedQueries(tmp_path).names() == ["mine"]


def test_display_is_kept_above_the_statement(tmp_path: Path) -> None:
    saved = SavedQueries(tmp_path)
    fields = {"draw": ["line"], "y": ["a & b", "c\n-- ="], "color": [""]}
    saved.save("drawn", "SELECT 1\n", fields)
    assert saved.read("drawn") == SavedQuery("SELECT 1\n", fields)
    assert (tmp_path / "drawn.sql").read_text().splitlines()[1:] == ["SELECT 1"], "a comment above it and no more"
    mine = "-- shown: to everybody\nSELECT 2"
    saved.save("mine", mine)
    assert saved.read("mine") == SavedQuery(mine, {}), "a comment of a person's own is none of ours"


@pytest.mark.parametrize(
    "head", ["", "%%%", "=" * MAX_DISPLAY_CHARACTERS * 2, "&".join(["a=1"] * (MAX_DISPLAY_FIELDS + 1)), "\0\ufffd"]
)
def test_damaged_head_costs_only_the_chart(tmp_path: Path, head: str) -> None:
    (tmp_path / "odd.sql").write_text(f"-- shown: {head}\nSELECT 3")
    found = SavedQueries(tmp_path).read("odd")
    assert found and found.sql == "SELECT 3" and len(found.display) <= 1


def test_parameters_are_written_in_as_literals() -> None:
    sql = with_values(
        "SELECT $none\nWHERE x = $text AND y IN $many\n", {"none": None, "text": "it's", "many": ["a", 2.5, True]}
    )
    assert sql == "SELECT NULL\nWHERE x = 'it''s' AND y IN ['a', 2.5, true]"
    with pytest.raises(KeyError, match="other"):
        with_values("SELECT $one, $other", {"one": 1})
    with pytest.raises(TypeError, match="no SQL literal for object"):
        literal(object())

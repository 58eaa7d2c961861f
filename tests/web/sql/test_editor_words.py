"""The words that the SQL editor offers are DuckDB's."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

ROOT = Path(__file__).resolve().parents[3]


def words(name: str) -> set[str]:
    source = (ROOT / "web" / "sql_editor" / "duckdb_words.js").read_text()
    match = re.search(rf"export const {name} = `(.+?)`", source, re.DOTALL)
    assert match
    return set(match[1].split())


def test_editor_offers_words_of_duckdb_alone() -> None:
    with duckdb.connect() as connection:
        keywords = dict(connection.sql("SELECT keyword_name, keyword_category FROM duckdb_keywords()").fetchall())
        types = {name.lower() for (name,) in connection.sql("SELECT type_name FROM duckdb_types()").fetchall()}
    assert words("KEYWORDS") <= set(keywords) and words("TYPES") <= types
    reserved = {word for word, category in keywords.items() if category == "reserved"}
    assert reserved <= words("KEYWORDS") | words("TYPES"), "a new one of DuckDB's is missing"
    assert not words("KEYWORDS") & {"name", "state", "dlpreviouscopy"}

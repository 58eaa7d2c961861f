"""The published rows can be read with SQL, labelled as published, from the published file too."""

from __future__ import annotations

import pytest

from settings import Settings
from storage.published_query import published_query
from storage.store import Store

ROWS = {"sources": 5, "configurations": 256, "measurements": 417, "claims": 106, "failures": 25, "validations": 14}


@pytest.mark.parametrize("name", ROWS)
def test_all_rows_are_there_and_say_what_they_are(store: Store, name: str) -> None:
    rows = store.query(f"SELECT count(*) AS n, list(DISTINCT standing) AS s FROM reference_{name}").to_pylist()
    assert rows == [{"n": ROWS[name], "s": ["as published"]}]


def test_rows_keep_types_and_nulls(store: Store) -> None:
    (claim,) = store.query("FROM reference_claims WHERE id = 's004.x2conc'").to_pylist()
    assert (claim["stated"], claim["line"], claim["viewpoint"]) == (2.0, 5, None)
    (spread,) = store.query("SELECT number, sd, sd_ddof FROM reference_measurements WHERE id = 's001.m177'").to_pylist()
    assert (spread["number"], spread["sd"]) == (1890.0, 132.0)
    low = store.query("SELECT value FROM reference_measurements WHERE number IS NULL").to_pylist()
    assert low == [{"value": "low 90s"}]
    tests = store.query(
        "SELECT is_pass, count(*) AS n FROM reference_validations GROUP BY ALL ORDER BY ALL"
    ).to_pylist()
    assert tests == [{"is_pass": False, "n": 1}, {"is_pass": True, "n": 11}, {"is_pass": None, "n": 2}]


def test_categories_are_rows(store: Store) -> None:
    rows = store.query("SELECT category, number FROM reference_measurements WHERE category IS NOT NULL ORDER BY number")
    assert rows.to_pylist() == [
        {"category": "philosophy", "number": 5.2},
        {"category": "history", "number": 6.3},
        {"category": "law", "number": 6.8},
    ]


def test_each_line_names_a_document(store: Store) -> None:
    sql = "SELECT count(*) AS n FROM reference_{} c ANTI JOIN reference_sources s ON s.id = c.source"
    for name in ("claims", "failures", "validations", "measurements", "configurations"):
        assert store.query(sql.format(name)).to_pylist() == [{"n": 0}]


@pytest.mark.publishes
def test_the_published_file_has_them(settings: Settings, store: Store) -> None:
    with published_query(settings.published_path) as query:
        assert (
            query("SELECT count(*) AS n FROM reference_failures WHERE workaround IS NOT NULL")["n"].to_pylist()[0] > 15
        )

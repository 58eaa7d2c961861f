"""From an imported text to the notes on its run's page: what was assumed, left out and not read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from collectors.imports.log_import import ImportOptions
from collectors.imports.result_import import ResultImporter
from settings import Settings
from storage.store import Store
from tests.web.conftest import ProvideServices

PAGE = """
from storage.queries import run_data
from web.context import services
from web.loads.panels.tool_result_status import show_import_notes

store = services().store
(run,) = store.runs()
show_import_notes(run_data.load_events(store, run.id))
"""
EXPECTED = "I expected about 71.7 tok/s here."


@pytest.fixture
def store(tmp_path: Path, provide_services: ProvideServices) -> Iterator[Store]:
    settings = Settings(data_dir=tmp_path / "data")
    opened = Store.open(settings)
    provide_services(SimpleNamespace(store=opened, settings=settings, fleet=None))
    yield opened
    opened.close()


def page_of(store: Store, path: Path, text: str) -> AppTest:
    """The notes of an imported text, as its run's page shows them."""
    path.write_text(text)
    importer = ResultImporter(store, lambda: datetime(2026, 11, 22, 12, tzinfo=UTC))
    importer.import_results(path, ImportOptions(path.name), lambda share: None)
    at = AppTest.from_string(PAGE, default_timeout=60).run()
    assert not at.exception
    return at


def test_notes_are_listed_in_a_folded_section(store: Store, tmp_path: Path) -> None:
    at = page_of(store, tmp_path / "post.md", f"Decode: 95.9 tok/s\n{EXPECTED}")
    assert [section.label for section in at.expander] == ["Notes on the import"]
    assert at.markdown[0].value.replace("\\", "") == "- Not read: “I expected about 71.7 tok/s”."


def test_run_of_a_text_names_no_tool(store: Store, tmp_path: Path) -> None:
    page_of(store, tmp_path / "post.md", "Decode: 95.9 tok/s")
    (run,) = store.runs()
    assert run.note and run.note.startswith("Imported from post.md: its text states the numbers. The server's log")


def test_there_is_no_section_without_notes(store: Store, tmp_path: Path) -> None:
    assert not page_of(store, tmp_path / "post.md", "Decode: 95.9 tok/s").expander

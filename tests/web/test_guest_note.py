"""The note in a guest's title row."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from domain import Share
from web.sharing.guest_note import guest_note_html, note_html


@pytest.mark.parametrize(
    ("creator", "shown_text"), [("operator", "the operator"), ("<i>Ann</i> (operator)", "&lt;i>Ann&lt;/i> (operator)")]
)
def test_note_names_creator_and_end(creator: str, shown_text: str) -> None:
    at = datetime(2026, 12, 3, 12, tzinfo=UTC)
    share = Share(id="s", run_ids=("r",), page="live", created_at=at, created_by=creator, expires_at=at)
    text = re.sub(r"<.*?>", "", note_html(share).replace("&lt;i>", "&lt;i&gt;").replace("&lt;/i>", "&lt;/i&gt;"))
    assert text.replace("&gt;", ">").startswith(f"Shared by {shown_text}, read-only, until 03 Dec 2026")


def test_member_has_no_note() -> None:
    assert guest_note_html() == ""

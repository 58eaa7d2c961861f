"""notify.json as somebody may have edited it: what cannot be a channel is refused whole, and nothing fails later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from service.notifications.channels import ChannelBook, describe
from tests.fuzz.inputs import WEBHOOK


def channels_of(path: Path, changes: dict[str, Any]) -> list[str]:
    path.write_text(json.dumps({"channels": [WEBHOOK | changes]}))
    path.chmod(0o600)
    return [describe(channel) for channel in ChannelBook(path).all()]


@pytest.mark.parametrize(
    "changes",
    [{"url": "https://[hooks.example.org/x"}, {"quiet_hours": {"begin": "22:00:00Z", "end": "07:00:00"}}],
)
def test_edited_channel_that_cannot_be_used_is_no_channel(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert channels_of(tmp_path / "notify.json", {}) == [
        "team (slack at hooks.example.org/...): server_failed, quiet 22:00-07:00"
    ]
    assert channels_of(tmp_path / "notify.json", changes) == []

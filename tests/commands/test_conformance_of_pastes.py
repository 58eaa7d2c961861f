"""The hand-typed readings of real pastes, where they are at hand (PITWALL_COMMANDS names their folder)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from commands.explain import explain

FOLDER = os.environ.get("PITWALL_COMMANDS")
EMPTY = (None, "", [], {}, False)
NOT_SCORED = {"refused", "left_out", "repaired", "unresolved", "warnings", "launcher_flags", "secret_names"}


def cases(folder: str | None) -> list[Path]:
    return sorted(Path(folder).glob("*.json")) if folder else []


@pytest.mark.skipif(not FOLDER, reason="PITWALL_COMMANDS is not set: the real pastes are not at hand")
@pytest.mark.parametrize("path", cases(FOLDER), ids=lambda p: p.stem)
def test_real_pastes_read_as_by_a_person(path: Path) -> None:
    case = json.loads(path.read_text())
    got: dict[str, Any] = explain(case["command"]).as_json()
    stated = {key: value for key, value in got.items() if key not in NOT_SCORED and value not in EMPTY}
    assert stated == {key: value for key, value in case["expected"].items() if value not in EMPTY}


@pytest.mark.skipif(not FOLDER, reason="PITWALL_COMMANDS is not set: the real pastes are not at hand")
def test_the_real_pastes_are_there() -> None:
    assert len(cases(FOLDER)) > 20

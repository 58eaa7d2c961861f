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
# That reading is from a time when a settings file that the paste itself writes was not read.
OF_WRITTEN_FILES: dict[str, dict[str, Any]] = {
    "50-trtllm-heredoc-then-serve": {"kv_cache_dtype": "fp8", "gpu_memory_fraction": 0.9, "chunked_prefill": True},
}
NOT_SCORED = {"refused", "left_out", "repaired", "unresolved", "warnings", "launcher_flags", "secret_names"}


def cases(folder: str | None) -> list[Path]:
    return sorted(Path(folder).glob("*.json")) if folder else []


@pytest.mark.skipif(not FOLDER, reason="PITWALL_COMMANDS is not set: the real pastes are not at hand")
@pytest.mark.parametrize("path", cases(FOLDER), ids=lambda p: p.stem)
def test_real_pastes_read_as_by_a_person(path: Path) -> None:
    case = json.loads(path.read_text())
    fields: dict[str, Any] = explain(case["command"]).as_json()
    values_by_key = {key: value for key, value in fields.items() if key not in NOT_SCORED and value not in EMPTY}
    expected = {key: value for key, value in case["expected"].items() if value not in EMPTY}
    assert values_by_key == expected | OF_WRITTEN_FILES.get(path.stem, {})


@pytest.mark.skipif(not FOLDER, reason="PITWALL_COMMANDS is not set: the real pastes are not at hand")
def test_the_real_pastes_are_there() -> None:
    assert len(cases(FOLDER)) > 20

"""The command that Launch previews is the one that will run: with the files that its patterns match."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from commands.explain import explain
from web.launch.draft import LaunchDraft

PANEL = """
from web.launch.launch_check import show_exact_command

show_exact_command()
"""


@pytest.mark.parametrize(
    ("word", "text"),
    [("models/*.gguf", "models/one.gguf"), ("'models/*.gguf'", "'models/*.gguf'"), ("none/*.gguf", "none/*.gguf")],
)
def test_the_preview_names_the_files(word: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/one.gguf").touch()
    monkeypatch.chdir(tmp_path)
    at = AppTest.from_string(PANEL, default_timeout=60)
    at.session_state["draft"] = LaunchDraft(explain(f"llama-server -m {word}").config)
    at.run()
    assert not at.exception, at.exception
    assert [code.value for code in at.code] == [f"llama-server \\\n  -m {text}"]

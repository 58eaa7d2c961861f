"""Consoles as programs record them, with the marks that move a terminal's cursor."""

from __future__ import annotations

from pathlib import Path

from collectors.imports.results.source import without_terminal_marks
from tests.collectors.imports.captured import loads_of

HIDE, SHOW, LINE_START = "\x1b[?25l", "\x1b[?25h", "\x1b[1G\x1b[K"


def test_timings_behind_escape_sequences(tmp_path: Path) -> None:
    path = tmp_path / "ollama.log"
    answer = (
        f"{HIDE}{LINE_START}⠙ {SHOW}{HIDE}{LINE_START}⠹ \x1b[?2026l{LINE_START}{SHOW}Hello{HIDE}\n"
        f"{SHOW}total duration:       17.5s\n{HIDE}{SHOW}load duration:        7.5ms\n"
        "prompt eval count:    18 token(s)\nprompt eval duration: 61.5ms\nprompt eval rate:     294.5 tokens/s\n"
        "eval count:           100 token(s)\neval duration:        9.5s\n⠧ eval rate:            104.5 tokens/s\n"
    )
    path.write_text(f"model_name =    acme:1.5b\n{answer}{answer}")
    for load in loads_of(path):
        assert (load.tool, load.model) == ("ollama", "acme:1.5b")
        assert [(row.metric, row.value) for row in load.result_rows] == [
            ("e2e_ms", 17_500.0), ("model_load_s", 0.0075), ("prompt_tokens", 18.0), ("prompt_ms", 61.5),
            ("prompt_tps", 294.5), ("completion_tokens", 100.0), ("decode_ms", 9_500.0), ("decode_tps", 104.5),
        ]  # fmt: skip


def test_marks_without_an_end_take_linear_time() -> None:
    text = "\x1b]" * 200_000 + "\x1b[" * 200_000
    assert len(without_terminal_marks(text)) <= len(text)

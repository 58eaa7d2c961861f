"""Launch, parse and import name the same engine for what a server's log states of its command."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from collectors.imports.log_import import read_config
from commands.explain import MAX_PASTE, explain
from commands.write import CommandError, command_of, shell_text
from domain import Config
from engines import BY_NAME, ENGINES
from engines.parse import parse_file

FIXTURES = Path(__file__).parents[1] / "fixtures"
CORPUS = os.environ.get("PITWALL_CORPUS")
FOLDERS = [FIXTURES, *([Path(CORPUS)] if CORPUS else [])]
LOGS = [path for folder in FOLDERS for name in BY_NAME for path in sorted((folder / name).glob("*.log"))]


def engine_by_parse(log: Path) -> str | None:
    out = io.StringIO()
    parse_file(log, ENGINES, out)
    engine: str | None = json.loads(out.getvalue())["engine"]
    return engine


def command_of_import(log: Path, engine: str) -> tuple[Config, str] | None:
    config = read_config(log, BY_NAME[engine]).model_copy(update={"launcher": "process"})
    try:
        return config, shell_text(command_of(config))
    except CommandError:
        return None


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}/{log.stem}"[:60])
def test_a_log_has_one_engine(log: Path) -> None:
    engine = engine_by_parse(log)
    if engine is None:
        pytest.skip("a log that names no engine")
    assert engine == log.parent.name
    pasted = explain(log.read_text(errors="replace")[:MAX_PASTE]).config
    assert pasted is None or pasted.engine in (engine, "other")
    imported = command_of_import(log, engine)
    if imported and imported[0].model:
        config = explain(imported[1]).config
        assert config and (config.engine, config.model) == (engine, imported[0].model)


def test_a_command_in_the_prose_before_its_log() -> None:
    explanation = explain(
        "vllm serve o/m -tp 2\n\nIt dies:\n```\nINFO 06-11 11:46:37 [loggers.py:118] Engine 000: x\n```\n"
    )
    assert explanation.config and (explanation.config.engine, explanation.config.model) == ("vllm", "o/m")
    assert "the text around the code block" not in explanation.left_out

"""A command above a log: its settings are the run's where the log states none."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from collectors.imports.log_import import read_config
from engines import BY_NAME

RECORD = "INFO 02-12 13:31:04 [api_server.py:840] vLLM API server version 0.7.2\n"
LOGS = {
    "prompt": ("vllm", f"(venv) me@host:~/x$ vllm serve org/m --tensor-parallel-size 4 --port 6006\n{RECORD}"),
    "lines": ("vllm", f"$ vllm serve org/m \\\n  --tensor-parallel-size 4 \\\n  --port 6006\n{RECORD}"),
    "variable": ("vllm", f"MODEL=org/m\nvllm serve $MODEL -tp 4 --port 6006\n{RECORD}"),
    "behind records": ("vllm", f"{RECORD}^C\n$ vllm serve org/m -tp 4 --port 6006\n{RECORD}"),
    "container": (
        "sglang",
        "docker run --gpus all -p 6006:6006 lmsysorg/sglang \\\n  python3 -m sglang.launch_server \\\n"
        "  --model-path org/m --tp 4 --port 6006\n[2026-11-28 12:00:00 TP0] Load weight begin. avail mem=1 GB\n",
    ),
}


@pytest.mark.parametrize("name", LOGS)
def test_its_settings_are_read(name: str, tmp_path: Path) -> None:
    engine, text = LOGS[name]
    log = tmp_path / "server.log"
    log.write_text(text)
    config = read_config(log, BY_NAME[engine])
    assert (config.model, config.tensor_parallel, config.port) == ("org/m", 4, 6006)
    assert (config.launcher, config.argv) == ("import", ())


def test_what_the_log_states_counts_and_secrets_are_masked(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    text = "INFO 02-12 13:31:04 [utils.py:233] non-default args: {'model': '/cache/m', 'port': 7000}\n"
    log.write_text(f"$ vllm serve org/m --port 6006 -tp 2 --api-key sk-0123456789abcdef0123\n{text}")
    config = read_config(log, BY_NAME["vllm"])
    assert (config.model, config.port, config.tensor_parallel) == ("/cache/m", 7000, 2)
    assert config.unknown_flags == ["--api-key <secret>"]


@pytest.mark.parametrize(
    "text",
    [
        f"{RECORD}INFO 02-12 13:31:04 [a.py:1] vllm serve org/m --port 6006\n",
        f"$ sglang serve --model-path org/m --port 6006\n{RECORD}",
        f"usage: vllm serve [model_tag] [options]\n{RECORD}",
        f"  Example: vllm serve --model <model> --port 6006\n{RECORD}",
        f"  Example: vllm serve --model org/m --port 6006 [options]\n{RECORD}",
    ],
    ids=["record", "another engine's", "usage", "placeholder", "options"],
)
def test_other_lines_are_no_command(text: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(text)
    config = read_config(log, BY_NAME["vllm"])
    assert (config.model, config.port) == (None, None)


@pytest.mark.parametrize("cut", ["seed=0, |chunked", "se|ed=0", "org/|m'"])
def test_an_engine_line_that_a_terminal_wrapped_is_whole(cut: str, tmp_path: Path) -> None:
    head = "INFO 03-09 06:41:09 [core.py:51] Initializing a V1 LLM engine (v0.8.0) with config: model='org/m', "
    text = f"{head}seed=0, chunked_prefill_enabled=True, use_async=False"
    log = tmp_path / "server.log"
    log.write_text(f"{text.replace(cut.replace('|', ''), cut.replace('|', chr(10)))}\n{RECORD}")
    config = read_config(log, BY_NAME["vllm"])
    assert (config.model, config.chunked_prefill) == ("org/m", True)


@pytest.mark.parametrize("line", [f"{RECORD[:-1]} args: Namespace(a=1,\nb=2,\n", "args: Namespace(a=1,\n"])
def test_records_that_never_end_are_read_in_linear_time(line: str, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(RECORD + line * (200_000 // len(line)))
    started = time.process_time()
    read_config(log, BY_NAME["vllm"])
    assert time.process_time() - started < 4

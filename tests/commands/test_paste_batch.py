"""Batch files of Windows: variables, conditions and labels, and no invented environment variables."""

from __future__ import annotations

import pytest

from commands.explain import explain

RUN = 'llama-server.exe -m "{}" -c %CTX% -ngl %NGL% -t 6 --port 8080\n'
SETS = '@echo off\nset "CTX=8192"\nset NGL=24\n'


def test_variables_of_a_batch_file_are_read() -> None:
    explanation = explain(f"{SETS}set /p MODEL=Model file:\n{RUN.format('!MODEL!')}")
    assert explanation.config
    assert (explanation.config.max_model_len, explanation.config.env, explanation.config.model) == (
        8192,
        {},
        "${MODEL}",
    )
    assert explanation.config.unknown_flags == ["-ngl 24", "-t 6"]
    assert explanation.unresolved == ["${MODEL}: read when the script runs"] and explanation.warnings == []


def test_a_variable_for_the_server_is_its_environment() -> None:
    config = explain(
        f"{SETS}set CUDA_VISIBLE_DEVICES=1\n{RUN.format('C:' + chr(92) + 'm' + chr(92) + 'a.gguf')}"
    ).config
    assert config and config.env == {"CUDA_VISIBLE_DEVICES": "1"} and config.model == "C:\\m\\a.gguf"


@pytest.mark.parametrize(
    "change",
    [
        'if "%BIG%"=="1" set CTX=32768\n',
        "if defined BIG (\n  set CTX=32768\n)\n",
        'if /i not "%BIG%"=="" (set CTX=32768)\n',
        'if "%1"=="big" goto big\ngoto run\n:big\nset CTX=32768\n:run\n',
    ],
)
def test_a_conditional_value_is_told(change: str) -> None:
    explanation = explain(f"{SETS}{change}{RUN.format('a.gguf')}")
    assert explanation.config and explanation.config.max_model_len == 8192
    assert any("but 32768 if" in text for text in explanation.warnings)


def test_both_branches_are_candidates() -> None:
    explanation = explain(f"{SETS}if exist big.txt (\n  set CTX=1\n) else (\n  set CTX=2\n)\n{RUN.format('a.gguf')}")
    assert explanation.config and explanation.config.max_model_len is None
    assert any("1 if [ exist big.txt ]; 2 otherwise" in text for text in explanation.unresolved)


def test_continued_lines_and_the_folder_of_the_script() -> None:
    explanation = explain(
        '@echo off\nset ARGS=-c 4096 --no-mmap\nstart "" /b llama-server.exe ^\n -m %~dp0a.gguf ^\n %ARGS%\n'
    )
    assert explanation.config and explanation.config.max_model_len == 4096
    assert explanation.unresolved == ["%~dp0: the folder of the script"]


@pytest.mark.parametrize(
    "start",
    [
        'start "llama-server" cmd /k "llama-server.exe -m q\\a.gguf -c 4096"',
        'start "llama-server" /min cmd.exe /c "cd /d x && llama-server.exe -m q\\a.gguf -c 4096"',
        'cmd /c ""llama-server.exe" -m "q\\a.gguf" -c 4096"',
        'START "my llama-server" /B llama-server.exe -m q\\a.gguf -c 4096',
    ],
)
@pytest.mark.parametrize("head", ["@echo off\n", ""])
def test_the_title_of_a_window_is_no_server(head: str, start: str) -> None:
    explanation = explain(f"{head}{start}\n")
    config = explanation.config
    assert config and (config.executable, config.model, config.max_model_len) == ("llama-server.exe", r"q\a.gguf", 4096)
    assert (explanation.warnings, explanation.unresolved) == ([], [])

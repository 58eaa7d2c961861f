"""Scripts of PowerShell and fish: variables, arrays and conditions."""

from __future__ import annotations

import time

import pytest

from commands.explain import explain

POWERSHELL = """param(
  [int]$Port = 8081,
  [string]$Unused
)
$Ctx = 8192
$model = 'C:\\models\\a.gguf'
$options = @(
  "-m", $model,
  # the window
  "-c", $Ctx,
  '--port', "$Port"
)
CHANGE
& .\\llama-server.exe @options
"""
FISH = """set -gx CUDA_VISIBLE_DEVICES 1
set len 8192
set args --port 8081 --max-model-len $len
CHANGE
vllm serve o/m $args
"""


def test_a_powershell_script() -> None:
    explanation = explain(POWERSHELL.replace("CHANGE", '$options += @("-ngl", "24")\n$options += "-t", "6"'))
    assert explanation.config
    config = explanation.config
    assert (config.model, config.max_model_len, config.port, config.env) == ("C:\\models\\a.gguf", 8192, 8081, {})
    assert config.unknown_flags == ["-ngl 24", "-t 6"]


@pytest.mark.parametrize(
    "change",
    ['if ($env:BIG -eq "1") {\n  $options += @("-ngl", "24")\n}', 'if ($Big) { $options += "-ngl", "24" }'],
)
def test_a_condition_of_powershell_is_told(change: str) -> None:
    explanation = explain(POWERSHELL.replace("CHANGE", change))
    assert explanation.config and explanation.config.unknown_flags == []
    assert any("also gets -ngl 24 if" in text for text in explanation.warnings)


def test_a_typed_in_model_of_powershell() -> None:
    explanation = explain('$Model = Read-Host "Model"\n$env:A = "1"\nllama-server -m $Model -c 4096\n')
    assert explanation.config and explanation.config.env == {"A": "1"} and explanation.config.max_model_len == 4096
    assert explanation.unresolved == ["$Model: read when the script runs"]


def test_a_fish_script() -> None:
    explanation = explain(FISH.replace("CHANGE", "set -a args --enforce-eager\nset args $args -tp 2"))
    assert explanation.config
    config = explanation.config
    assert (config.model, config.port, config.max_model_len, config.tensor_parallel) == ("o/m", 8081, 8192, 2)
    assert config.enforce_eager is True and config.env == {"CUDA_VISIBLE_DEVICES": "1"}


@pytest.mark.parametrize(
    "change",
    [
        'if test -n "$BIG"\n  set -a args --enforce-eager\nend',
        "switch $SIZE\n  case big huge\n    set args $args --enforce-eager\nend",
    ],
)
def test_a_condition_of_fish_is_told(change: str) -> None:
    explanation = explain(FISH.replace("CHANGE", change))
    assert explanation.config and (explanation.config.port, explanation.config.enforce_eager) == (8081, None)
    assert any("also gets --enforce-eager if" in text for text in explanation.warnings)


def test_comments_behind_the_values_of_powershell() -> None:
    text = POWERSHELL.replace("$Ctx = 8192", "$Ctx = 8192  # lower it, if 'memory' is short")
    explanation = explain(text.replace("CHANGE", '$layers = 24 # of 48\n$options += "-ngl", $layers, "-a", "a#b"'))
    assert explanation.config
    assert (explanation.config.max_model_len, explanation.config.served_model_name) == (8192, "a#b")
    assert explanation.config.unknown_flags == ["-ngl 24"] and explanation.unresolved == ["${Port:-8081}"]


def test_options_of_start_process_are_none_of_the_server() -> None:
    explanation = explain(
        '$exe = "C:\\llama-server.exe"\n$words = @("-m", "C:\\a.gguf", "--port", 8081)\n'
        'if (-not [string]::IsNullOrWhiteSpace($Draft)) {\n  $words += "-md", $Draft\n}\n'
        "Start-Process -FilePath $exe -ArgumentList $words -WindowStyle Hidden -PassThru"
        ' -RedirectStandardOutput "C:\\l"\n'
    )
    config = explanation.config
    assert config and (config.executable, config.model, config.port) == ("C:\\llama-server.exe", "C:\\a.gguf", 8081)
    assert config.unknown_flags == [] and config.speculative is None
    assert explanation.warnings == ["${words[@]} also gets -md $Draft if [ -not string ::IsNullOrWhiteSpace $Draft ]"]


PROGRAM = r"D:\apps\b9\llama-server.exe"
SPACED = r"D:\my apps\b9\llama-server.exe"
WINDOWS_PATHS = {
    "a code span": (rf"Mine is `{PROGRAM} -m D:\m\a.gguf -c 4096`, which is slow.", PROGRAM),
    "a prompt": (rf"Mine: {PROGRAM} -m D:\m\a.gguf -c 4096", PROGRAM),
    "a path with a blank": (rf'"{SPACED}" -m D:\m\a.gguf -c 4096', SPACED),
    "single quotes in YAML": (f"models:\n  a:\n    cmd: '\"{SPACED}\" -m D:\\m\\a.gguf -c 4096'\n", SPACED),
    "a folded block": (f'models:\n  a:\n    cmd: >\n      "{SPACED}"\n      -m D:\\m\\a.gguf -c 4096\n', SPACED),
    "escapes of YAML": (
        f'models:\n  a:\n    cmd: "{PROGRAM} -m D:/m/a.gguf -c 4096"\n'.replace("\\", "\\\\").replace("/", "\\\\"),
        PROGRAM,
    ),
}


@pytest.mark.parametrize(("text", "executable"), WINDOWS_PATHS.values(), ids=WINDOWS_PATHS)
def test_a_path_of_windows_keeps_its_backslashes(text: str, executable: str) -> None:
    config = explain(text).config
    assert config and (config.executable, config.model) == (executable, r"D:\m\a.gguf")
    assert config.max_model_len == 4096


@pytest.mark.wide
def test_quoted_paths_are_searched_in_linear_time() -> None:
    for text in ('"' + "/" * 500_000, ' "/' * 60_000, "C:\\a.exe " + "\\" * 500_000, '"a/' * 200_000 + '"'):
        start = time.process_time()
        explain(text)
        assert time.process_time() - start < 10

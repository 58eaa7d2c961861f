"""Python scripts that start a server: lists of words, texts for a shell, conditions, functions."""

from __future__ import annotations

from time import process_time

import pytest

from commands.explain import explain

START = """import os, subprocess, sys
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
MODEL = "o/m"
"""
WORDS = '[sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", MODEL, "--port", str(8001)'
SCRIPTS = {
    "a list in the call": f'subprocess.Popen({WORDS}, "-tp", "2"], stdout=log)',
    "a list with a name": f'cmd = {WORDS}]\ncmd += ["-tp", "2"]\nsubprocess.run(cmd)',
    "append and extend": f'cmd = {WORDS}]\ncmd.append("-tp")\ncmd.extend(["2"])\nsubprocess.run(args=cmd)',
    "lists added": f'common = ["-tp", "2"]\nwith open("log") as log:\n    subprocess.run({WORDS}] + common)',
    "a starred list": f'common = ["-tp", "2"]\nsubprocess.run({WORDS}, *common])',
    "a function": f'def main():\n    n = 2\n    return subprocess.Popen({WORDS}, "-tp", f"{{n}}"])\n',
    "a main block": f'if __name__ == "__main__":\n    subprocess.run({WORDS}, "-tp", "2"])',
    "a text": 'subprocess.run(f"python3 -m vllm.entrypoints.openai.api_server --model {MODEL} --port 8001 -tp 2",'
    " shell=True)",
    "a text of lines": 'command = f"""\n'
    'python3 -m vllm.entrypoints.openai.api_server --model {MODEL} \\\n --port 8001 -tp 2\n"""\n'
    "subprocess.run(command.strip(), shell=True)",
    "a text that is split": 'subprocess.run(shlex.split("python3 -m vllm.entrypoints.openai.api_server --model o/m'
    ' --port 8001 -tp 2"))',
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_a_script_of_python(script: str) -> None:
    explanation = explain(START + script)
    config = explanation.config
    assert config and (config.engine, config.executable, config.model) == ("vllm", "python3", "o/m")
    assert (config.port, config.tensor_parallel, config.env) == (8001, 2, {"CUDA_VISIBLE_DEVICES": "1"})
    assert (explanation.unresolved, explanation.warnings, config.unknown_flags) == ([], [], [])


def test_what_only_a_run_computes_is_unresolved() -> None:
    explanation = explain(
        'import subprocess, torch\nsubprocess.Popen(["python", "-m", "sglang.launch_server", "--model-path", "o/m",\n'
        '  "--tp", str(torch.cuda.device_count()), "--port", os.getenv("PORT", "30001")], env={"A": "b c"})\n'
    )
    config = explanation.config
    assert config and (config.model, config.port, config.tensor_parallel) == ("o/m", 30001, None)
    assert "tensor_parallel is unknown: $(torch.cuda.device_count)" in explanation.warnings and config.env == {
        "A": "b c"
    }


def test_a_condition_of_python_is_told() -> None:
    explanation = explain(
        'import subprocess\ncmd = ["vllm", "serve", "o/m"]\nif eager:\n    cmd += ["--enforce-eager"]\n'
        "subprocess.run(cmd)\n"
    )
    assert explanation.config and explanation.config.enforce_eager is None
    assert any("also gets --enforce-eager if" in text for text in explanation.warnings)


SWITCH = """import subprocess
EAGER = False
CACHED: bool = True
def serve():
    cmd = ["vllm", "serve", "o/m", "--port", "8001"]
    cmd += ["--enforce-eager" if EAGER else "--no-enforce-eager"]
    cmd += ["--enable-prefix-caching"] if CACHED else []
    if not EAGER:
        cmd += ["-tp", "2"]
    print(cmd)
    logger.info(" ".join(cmd))
    subprocess.Popen(" ".join(cmd), shell=True)
"""


def test_a_switch_of_the_script_decides() -> None:
    explanation = explain(SWITCH)
    config = explanation.config
    assert config and (config.enforce_eager, config.prefix_caching, config.tensor_parallel) == (False, True, 2)
    assert (explanation.unresolved, explanation.warnings, explanation.left_out) == ([], [], [])


def test_a_switch_that_changes_decides_nothing() -> None:
    for change in ("if x:\n    EAGER = True\n", "for EAGER in (True, False):\n    pass\n", "def f(EAGER):\n    pass\n"):
        explanation = explain(SWITCH + change)
        assert explanation.config and explanation.config.enforce_eager is None
        assert any("also gets -tp 2 if" in text for text in explanation.warnings)


def test_defaults_of_a_function_hold_unless_its_caller_says_otherwise() -> None:
    explanation = explain(
        'import subprocess\ndef serve(model, port=8001, *, window=4096):\n    subprocess.run(["vllm", "serve", model,\n'
        '      "--port", str(port), "--max-model-len", str(window)])\n'
    )
    config = explanation.config
    assert config and (config.model, config.port, config.max_model_len) == ("${model}", 8001, 4096)
    assert "${model}" in explanation.unresolved


@pytest.mark.parametrize(
    "text",
    [
        "import os\nsubprocess.run(['ls', '-l'])\n",
        "from vllm import LLM\nllm = LLM(model='o/m', tensor_parallel_size=2)\n",
        "import x\ndef broken(:\n",
        "import x\n" + "(" * 5000,
        "import x\nf(" + "[" * 190 + "]" * 190 + ")\n",
    ],
)
def test_a_script_without_a_server_is_refused_soon(text: str) -> None:
    start = process_time()
    assert "No command of a known server" in (explain(text).refused or "")
    assert process_time() - start < 3


PART = """    log = open("server.log", "w")
    try:
        words = ["--max-model-len", str(4096), "--port", str(port)]
        if quantization is not None:
            words.append("--quantization")
            words.append(quantization)
        process = subprocess.Popen(["vllm", "serve", path, *words])
        while True:
            break
"""


def test_a_part_of_a_function_that_ends_within_its_try() -> None:
    explanation = explain(PART)
    assert explanation.config and explanation.refused is None
    assert (explanation.config.engine, explanation.config.max_model_len, explanation.config.quantization) == (
        "vllm",
        4096,
        None,
    )
    assert {"${path}", "${port}"} <= set(explanation.unresolved)
    assert any("--quantization" in warning and "is not None" in warning for warning in explanation.warnings)


def test_a_container_of_an_engine() -> None:
    explanation = explain(
        'import subprocess\nsubprocess.run(["docker", "run", "vllm/vllm-openai:v0.11.0", "--model", "o/m"])\n'
    )
    assert explanation.config and (explanation.config.launcher, explanation.config.model) == ("docker", "o/m")

"""Sentences on what was left out of a paste, refused or guessed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.main import main
from commands.explain import explain
from commands.gpus import stated_gpus


@pytest.mark.parametrize(
    ("paste", "kind", "part"),
    [
        ("vllm serve m --max-num-sekvs 4", "warnings", "--max-num-seqs"),
        ("vllm serve a --model b", "warnings", "two models"),
        ("vllm serve m --tensor-parallel-size two", "warnings", "'two' is not a number"),
        ("vllm serve m --gpu-memory-utilization 0,9", "warnings", "'0,9' is not a number"),
        ("vllm serve m --port 80000", "warnings", "80000 is not a port"),
        ("vllm serve m --port $P", "warnings", "port is unknown: $P"),
        ("CUDA_VISIBLE_DEVICES=0,1,2 vllm serve m -tp 2", "warnings", "3 GPUs"),
        ("vllm serve a\nvllm serve b", "warnings", "two server commands"),
        ("docker run -p 1:2 vllm/vllm-openai --model m", "warnings", "no published port"),
        ("trtllm-serve m --config c.yml", "warnings", "c.yml"),
        ("vllm serve m --port $P", "unresolved", "$P"),
        ("vllm serve <your model>", "unresolved", "<your model>"),
        ("vllm serve m; rm -rf ~ && echo done", "left_out", "rm -rf ~ && echo done"),
        ("vllm serve m 2>&1 | tee -a x_$(date +%F).log", "left_out", "| tee -a x_$(date +%F).log"),
        ("vllm serve m > x.log 2>&1", "left_out", "2>&1"),
        ("vllm serve “m”", "repaired", "curly quotes"),
        ("vllm serve m –port 1", "repaired", "long dashes"),
        ("vllm serve m \\ \n --port 1", "repaired", "after a backslash"),
        ("vllm serve m\u200b", "repaired", "invisible"),
        ("docker run --ipc=host vllm/vllm-openai --model m", "launcher_flags", "--ipc=host"),
    ],
)
def test_what_was_not_taken_as_it_stood_is_said(paste: str, kind: str, part: str) -> None:
    assert any(part in text for text in getattr(explain(paste), kind))


@pytest.mark.parametrize(
    ("paste", "part"),
    [
        (" \n\t\r\n\u00a0\u200b\n", "paste is empty"),
        ("kubectl get pods", "No command of a known server"),
        ("docker run -p 8080:80 ghcr.io/huggingface/text-generation-inference:3 --num-shard 2", "engine is unknown"),
        ("vllm serve m \\\n --port 1 \\\n --hf-overrides '{\"a\":1} \\\n --port 9\n", "line 3 at --hf-overrides"),
        ("x" * 1_000_001, "longer than"),
    ],
)  # fmt: skip
def test_unreadable_paste_refused_in_a_sentence(paste: str, part: str) -> None:
    assert part in (explain(paste).refused or "")


@pytest.mark.parametrize(
    ("paste", "command"),
    [
        (
            "services:\n  a:\n    image: vllm/vllm-openai:v0.9.0\n    entrypoint: [/bin/sh, /start.sh]\n",
            "/bin/sh /start.sh",
        ),
        ("docker run vllm/vllm-openai:v0.9.0 bash /start.sh 8000", "bash /start.sh 8000"),
        ("docker run vllm/vllm-openai:v0.9.0 python3 serve.py", "python3 serve.py"),
    ],
)
def test_a_container_that_starts_a_script_is_refused_by_its_words(paste: str, command: str) -> None:
    explanation = explain(paste)
    assert explanation.config and explanation.config.image == "vllm/vllm-openai:v0.9.0"
    assert explanation.refused == (
        f"The container vllm/vllm-openai:v0.9.0 runs {command}, which is no server's command: "
        "paste the script that starts the server, or its command."
    )


FOREIGN = "gpujob advanced --partition normal \\\n  --server-args {} \\\n  --nodes 2\n"


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        (
            '"--model-path o/m \\\n    --tp-size 4"',
            " Flags of SGLang stand in it: put the start of its command before them.",
        ),
        ("small", ""),
    ],
)
def test_an_unknown_program_is_named(args: str, hint: str) -> None:
    for head in ("", "#!/bin/bash\n# job\n", "$ ", "sudo ", "pip install -q --user gpujob\n"):
        refused = explain(head + FOREIGN.format(args)).refused or ""
        assert refused.startswith("The paste starts gpujob, which is no command of a known server (vLLM, ")
        assert refused.endswith(f"TensorRT-LLM).{hint}")


def test_an_exported_value_that_a_shell_computes_is_told_with_its_name() -> None:
    explanation = explain("export HOST_IP=$(hostname -I | cut -d' ' -f1)\nvllm serve m\n")
    assert explanation.config and explanation.config.env == {}
    assert explanation.unresolved == ["$(hostname -I | cut -d' ' -f1)"]
    text = "the environment variable HOST_IP is left out: only a shell knows $(hostname -I | cut -d' ' -f1)"
    assert explanation.warnings == [text]
    assert explain("export A=$(date)\nexport A=1\nvllm serve m\n").warnings == []


def test_gpus_are_compared_with_all_ranks() -> None:
    for paste in (
        "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m -tp 2 -pp 2",
        "CUDA_VISIBLE_DEVICES=0,1,2,3 vllm serve m -tp 2 -dp 2",
        "CUDA_VISIBLE_DEVICES=0,1 python -m sglang.launch_server --model-path m --tp 2 --dp 2 --enable-dp-attention",
    ):
        assert explain(paste).warnings == []
    explanation = explain("CUDA_VISIBLE_DEVICES=0,1,2 vllm serve m -tp 2 -pp 2")
    assert explanation.warnings == ["3 GPUs are listed (0,1,2) but tensor parallel is 2 times pipeline parallel 2"]


def test_what_was_read_of_a_container_is_not_left_out() -> None:
    explanation = explain(
        "services:\n  a:\n    # its start\n    image: vllm/vllm-openai:v1\n    entrypoint: [sh, /start.sh]\n"
    )
    assert explanation.config and explanation.config.image and explanation.left_out == []


def test_the_command_line_prints_one_json_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paste = tmp_path / "paste"
    paste.write_bytes(b"vllm serve m --port 1 \xff")
    assert main(["explain", str(paste)]) == 0
    assert json.loads(capsys.readouterr().out)["port"] == 1
    paste.write_text(" ")
    assert main(["explain", str(paste)]) == 1
    assert "paste is empty" in json.loads(capsys.readouterr().out)["refused"]
    assert main(["explain", str(tmp_path / "absent")]) == 2
    assert "No such file" in capsys.readouterr().err


def test_text_before_an_open_quote_is_a_draft() -> None:
    config = explain('vllm serve m --port 1 \\\n --hf-overrides \'{"a":1} \\\n --max-model-len 9\n').config
    assert config and (config.model, config.port, config.max_model_len) == ("m", 1, None)


def test_an_unknown_engine_is_not_guessed() -> None:
    config = explain("docker run -p 8080:80 ghcr.io/huggingface/text-generation-inference:3 --num-shard 2").config
    assert config and (config.engine, config.port, config.tensor_parallel) == ("other", 8080, None)


@pytest.mark.parametrize(
    ("paste", "hint"),
    [
        ("/opt/vllm/bin/vlm serve o/m --port 8000", " Did you mean vllm?"),
        ("CUDA_VISIBLE_DEVICES=0 ~/llama.cpp/build/bin/llama-sever -m a.gguf", " Did you mean llama-server?"),
        ("./my-own-thing --port 80", ""),
    ],
)
def test_a_misspelled_path_is_told_as_such(paste: str, hint: str) -> None:
    refused = explain(paste).refused or ""
    path = next(word for word in paste.split() if "/" in word)
    assert refused.startswith(f"{path} is not a known server (") and refused.endswith(
        f"check the spelling of its path.{hint}"
    )


def test_default_assigned_by_a_script_is_applied() -> None:
    read = explain(': "${M:=o/m}" "${TP:=4}"\n: ${PORT:=8000}\nTP=2\nvllm serve "$M" -tp "$TP" --port "$PORT"').config
    assert read and (read.model, read.tensor_parallel, read.port) == ("o/m", 2, 8000)
    config = explain('M=o/mine\n: "${M:=o/m}"\nvllm serve "$M"').config
    assert config and config.model == "o/mine"


@pytest.mark.parametrize(
    "condition",
    [
        '[[ "${EAGER:-0}" == 1 ]] && ARGS+=(--enforce-eager)',
        '[ -n "$EAGER" ] || ARGS+=(--enforce-eager)',
        'if [ -n "$EAGER" ]; then\n  ARGS+=(--enforce-eager)\nfi',
    ],
)
def test_conditional_flag_is_not_stated(condition: str) -> None:
    explanation = explain(f'ARGS=()\n{condition}\nvllm serve o/m "${{ARGS[@]}}" --port 8000')
    assert explanation.config and explanation.config.enforce_eager is None and explanation.config.port == 8000
    assert "${ARGS[@]}" in explanation.unresolved and explanation.config.unknown_flags == []
    plain = explain('ARGS=()\nARGS+=(--enforce-eager)\nvllm serve o/m "${ARGS[@]}"').config
    assert plain and plain.enforce_eager is True


def test_unindented_manifest_is_read_by_line() -> None:
    explanation = explain(
        "apiVersion: apps/v1\nkind: Deployment\nspec:\ntemplate:\nspec:\ncontainers:\n- name: v\n"
        "image: vllm/vllm-openai:v0.20.0\nports:\n- containerPort: 8000\nenv:\n- name: HF_HOME\nvalue: /hf # here\n"
        'args:\n- --model\n- o/m\n- –max-model-len\n- "4096"\nresources:\nlimits:\nmemory: "16Gi"\n'
    )
    config = explanation.config
    assert config and (config.launcher, config.image) == ("kubernetes", "vllm/vllm-openai:v0.20.0")
    assert (config.model, config.max_model_len, config.env) == ("o/m", 4096, {"HF_HOME": "/hf"})
    assert "the manifest has lost its indentation and was read line by line" in explanation.warnings


@pytest.mark.parametrize("item", ["--model a/b", '"--model a/b"', "--model 'a/b'"])
def test_flag_and_value_in_a_list_item_are_two(item: str) -> None:
    explanation = explain(
        f"services:\n  s:\n    image: vllm/vllm-openai:v0.20.0\n    command:\n      - {item}\n      - --port=8000\n"
    )
    assert explanation.config and explanation.config.model == "a/b" and explanation.config.unknown_flags == []
    assert any("are in one list item" in warning for warning in explanation.warnings)


@pytest.mark.parametrize("prompt", ["", "> "])
def test_output_redirected_in_a_line_of_its_own_is_no_prompt(prompt: str) -> None:
    explanation = explain(f'vllm serve m \\\n{prompt}  --port 1 \\\n{prompt}> "$LOG" 2>&1 &')
    assert explanation.config and (explanation.config.model, explanation.config.port) == ("m", 1)
    assert explanation.warnings == [] and explanation.left_out[0] == "> $LOG"


@pytest.mark.parametrize(
    ("paste", "name"),
    [
        ("lmdeploy serve api_server \\\n o/m \\\n --server-port 24545", "LMDeploy"),
        ("OLLAMA_HOST=0.0.0.0 /usr/bin/ollama serve", "Ollama"),
        ("python3 -m mlc_llm serve o/m --mode server", "MLC LLM"),
        ("python -m llama_cpp.server --model a.gguf", "llama-cpp-python"),
        ("[Service]\nExecStart=/opt/venv/bin/text-generation-launcher --model-id o/m", "Text Generation Inference"),
    ],
)
def test_a_server_that_is_not_supported_is_named(paste: str, name: str) -> None:
    refused = explain(paste).refused
    assert refused is not None
    assert refused.startswith(f"The paste starts {name}, which is not supported: commands of vLLM, SGLang, llama.cpp")


def test_a_script_that_starts_another_script_is_named_in_the_refusal() -> None:
    text = "if pgrep -f s -a; then exit 1; fi\nsetsid bash -c \"'$DIR/scripts/launch.sh' m --port 80\" --wait\n"
    refused = explain(text).refused
    assert refused and refused.startswith("The paste starts $DIR/scripts/launch.sh, which is no command")


def test_another_server_beside_a_known_one_is_no_refusal() -> None:
    explanation = explain("ollama serve &\nvllm serve m --port 1")
    assert explanation.refused is None and explanation.config and explanation.config.model == "m"


BATCH = """#!/bin/bash
#SBATCH --gres=gpu:8   # all of the node
#SBATCH --container-image=registry.example/vllm:1
HOST=$(hostname)
echo "http://${HOST}:8000/${SUFFIX}" > /tmp/address
LOG=run-$(date +%s).log
MODEL=${1:-o/m}
vllm serve $MODEL --port 8000
"""


def test_what_the_server_does_not_get_is_not_asked_for() -> None:
    explanation = explain(BATCH)
    assert explanation.config and (explanation.config.model, explanation.config.port) == ("o/m", 8000)
    assert explanation.unresolved == ["${1:-o/m}"]


@pytest.mark.parametrize(
    ("line", "reference"),
    [
        ("export HOST=$(hostname)", "$(hostname)"),
        ("URL=http://$HOST; A=$URL vllm serve m", "$(hostname)"),
        ("vllm serve m --host $HOST", "$(hostname)"),
        ("set -a; HOST=$(hostname)", "$(hostname)"),
    ],
)
def test_what_the_server_gets_is_asked_for(line: str, reference: str) -> None:
    text = f"HOST=$(hostname)\n{line}\n"
    explanation = explain(text if "vllm" in line else f"{text}vllm serve m\n")
    assert reference in explanation.unresolved


def test_options_of_a_batch_job_are_told() -> None:
    flags = ["sbatch --gres=gpu:8", "sbatch --container-image=registry.example/vllm:1"]
    assert explain(BATCH).launcher_flags == flags


@pytest.mark.parametrize(
    ("options", "gpus"),
    [
        ("--gres gpu:2", "count=2"),
        ("--gres=tmpfs:10G,gpu:h100-80gb:4", "count=4"),
        ("--gres=gpu", "count=1"),
        ("--gres=gpu:8(S:0-1)\n#SBATCH --nodes=1", "count=8"),
        ("--gpus-per-node=a100:2", "count=2"),
        ("-G A100:4", "count=4"),
        ("--gres=gpu:8\n#SBATCH --nodes=2", None),
        ("--gpus-per-task=4", None),
        ("--gpus-per-task=4\n#SBATCH --ntasks=1", "count=4"),
        ("-n 1\n#SBATCH --gpus-per-task=a100:4", "count=4"),
        ("--gpus-per-task=4\n#SBATCH --ntasks-per-node=2", None),
        ("--gres=gpu:$N", None),
    ],
)
def test_gpus_of_a_batch_job(options: str, gpus: str | None) -> None:
    explanation = explain(f"#!/bin/bash\n#SBATCH {options}\nvllm serve m --tensor-parallel-size 2\n")
    assert explanation.config and explanation.config.gpus == gpus
    assert stated_gpus(explanation.config) == frozenset(), "a count does not say which"


def test_nodes_of_a_batch_job_are_told() -> None:
    explanation = explain("#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nvllm serve m\n")
    assert explanation.warnings == ["the Slurm job has 2 nodes: how many of their GPUs the server gets is not read"]


def test_gpus_of_a_step_come_before_those_of_its_job() -> None:
    explanation = explain("#SBATCH --gres=gpu:8\nsrun --gres=gpu:4 vllm serve m\n")
    assert explanation.config and explanation.config.gpus == "count=4"


@pytest.mark.parametrize("end", ["exit 2", "echo retired; exit"])
def test_a_script_that_ends_before_its_server_is_told(end: str) -> None:
    explanation = explain(f"{end}\nvllm serve m\n")
    assert explanation.config and explanation.config.model == "m"
    assert any(text.startswith("the script ends in line 1 (`exit") for text in explanation.warnings)


@pytest.mark.parametrize("end", ["test -f x || exit 1", "if [ a ]; then\n  exit 1\nfi", "usage() {\n  exit 1\n}"])
def test_a_script_that_may_end_is_not_told(end: str) -> None:
    explanation = explain(f"{end}\nvllm serve m\n")
    assert explanation.config and explanation.warnings == []


def test_a_computed_alternative_is_shown() -> None:
    explanation = explain('if [ "$DP" = 1 ]; then\n  N=$(( C / 8 ))\nelse\n  N=4\nfi\nvllm serve m --max-num-seqs $N\n')
    assert explanation.unresolved == ['$N: $(( C / 8 )) if [ "$DP" = 1 ]; 4 otherwise']


@pytest.mark.parametrize(
    "prefix",
    [
        "systemd-run --user --scope -p MemoryMax=90%",
        "systemd-run --property MemoryMax=90% --",
        "systemd-inhibit --what=sleep",
        "caffeinate -i",
    ],
)
def test_what_runs_the_server_is_a_flag_of_the_launcher(prefix: str) -> None:
    explanation = explain(f"{prefix} \\\n  vllm serve o/m --port 8001\n")
    assert explanation.config and (explanation.config.model, explanation.config.env, explanation.config.argv[-1]) == (
        "o/m",
        {},
        "8001",
    )
    assert (explanation.launcher_flags, explanation.left_out) == ([prefix], [])


def test_a_usage_line_in_a_comment_of_a_script_is_no_command() -> None:
    explanation = explain(
        "#!/bin/bash\n# Usage:\n#   vllm serve wrong --port 1\ndocker run --rm $IMAGE sleep infinity\n"
    )
    assert explanation.refused and (explanation.config is None or explanation.config.model is None)


def test_servers_in_functions_that_nothing_calls_are_counted() -> None:
    explanation = explain(
        "small() {\n  vllm serve a --port 1\n}\nstop() {\n  docker rm x\n}\nlarge() {\n  vllm serve b --port 2\n}\n"
    )
    assert explanation.config and explanation.config.model == "a"
    assert explanation.warnings == ["2 servers are in this paste; the first one is used"]


def test_a_container_without_an_image_is_refused_in_words() -> None:
    refused = explain("docker run --rm --gpus all\n").refused
    assert refused and "image None" not in refused


PRINTED = "printf '#!/bin/bash\\nexec vllm serve %q ' \"$MODEL\"\n"


@pytest.mark.parametrize("text", ["", 'docker run -d --name node "$IMAGE" sleep infinity\n'])
def test_a_script_that_prints_a_servers_command_for_another_is_refused_so(text: str) -> None:
    refused = explain(f"#!/bin/bash\nwrite() {{\n  {PRINTED}}}\n{text}").refused
    assert refused == (
        "The paste does not start the server itself: its printf writes a command of vLLM for another script. "
        "Paste that script as it is written."
    )


def test_a_server_beside_a_printed_command_is_read() -> None:
    explanation = explain(f"{PRINTED}vllm serve o/m --port 8001\n")
    assert explanation.refused is None and explanation.config and explanation.config.model == "o/m"

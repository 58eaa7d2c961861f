"""Pastes of every kind we know, each with all that must be read from it and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from commands.explain import explain

EMPTY = (None, "", [], {}, False)
NOTES = {"refused", "left_out", "repaired", "unresolved", "warnings", "launcher_flags", "secret_names"}
VLLM = {"engine": "vllm", "launcher": "process", "executable": "vllm", "model": "m"}
SGLANG = {"engine": "sglang", "launcher": "process", "executable": "python3", "model": "m"}
LLAMA = {"engine": "llamacpp", "launcher": "process", "executable": "llama-server", "model": "m.gguf"}
TRT = {"engine": "trtllm", "launcher": "process", "executable": "trtllm-serve", "model": "m"}
IMAGE = {"engine": "vllm", "launcher": "docker", "image": "vllm/vllm-openai", "model": "m"}


def stated_fields(paste: str) -> dict[str, Any]:
    return {k: v for k, v in explain(paste).as_json().items() if k not in NOTES and v not in EMPTY}


CASES: dict[str, tuple[str, dict[str, Any]]] = {
    # --- vLLM's flags
    "sizes with binary suffix": ("vllm serve m --max-model-len 32K", VLLM | {"max_model_len": 32768}),
    "sizes with decimal suffix": ("vllm serve m --max-model-len=25.6k", VLLM | {"max_model_len": 25600}),
    "underscores": ("vllm serve m --max_num_seqs 4", VLLM | {"max_num_seqs": 4}),
    "abbreviations": (
        "vllm serve m --gpu-memory 0.9 --tensor-par 2",
        VLLM | {"gpu_memory_fraction": 0.9, "tensor_parallel": 2},
    ),
    "switches off": (
        "vllm serve m --no-enable-prefix-caching --enable-chunked-prefill=False --no-enable-log-requests",
        VLLM | {"unknown_flags": ["--no-enable-log-requests"]},
    ),
    "short flags": (
        "vllm serve m -tp 2 -pp=3 -dp 4 -q awq",
        VLLM | {"tensor_parallel": 2, "pipeline_parallel": 3, "data_parallel": 4, "quantization": "awq"},
    ),
    "a switch does not eat the model": ("vllm serve --enforce-eager m", VLLM | {"enforce_eager": True}),
    "a misspelt switch does not eat the model": (
        "vllm serve --enforce-eagr m",
        VLLM | {"unknown_flags": ["--enforce-eagr"]},
    ),
    "an attached level": ("vllm serve -O3 m", VLLM | {"unknown_flags": ["-O3"]}),
    "an unknown flag keeps its value": ("vllm serve m --new-thing 7", VLLM | {"unknown_flags": ["--new-thing 7"]}),
    "speculation as JSON": (
        """vllm serve m --speculative-config '{"method":"eagle3","model":"d","num_speculative_tokens":3,"seed":1}'""",
        VLLM | {"speculative": {"method": "eagle3", "model": "d", "num_tokens": 3}},
    ),
    "speculation key by key": (
        "vllm serve m --speculative_config.method=ngram --speculative-config.num_speculative_tokens 4",
        VLLM | {"speculative": {"method": "ngram", "num_tokens": 4}},
    ),
    "speculation before 0.9": (
        "python -m vllm.entrypoints.openai.api_server --model m --speculative-model d --num-speculative-tokens 5",
        VLLM | {"executable": "python", "speculative": {"model": "d", "num_tokens": 5}},
    ),
    "module with interpreter flags": (
        "python3.12 -u -X dev -m vllm.entrypoints.api_server --model m",
        VLLM | {"executable": "python3.12"},
    ),
    "the model's own length is no number": (
        "llama-server -m m.gguf -c 0 -np 2",
        LLAMA | {"max_num_seqs": 2, "unknown_flags": ["-c 0"]},
    ),
    "automatic length is no number": (
        "vllm serve m --max-model-len auto",
        VLLM | {"unknown_flags": ["--max-model-len auto"]},
    ),
    # --- SGLang's
    "SGLang names": (
        "python3 -m sglang.launch_server --model m --tp 2 --dp 3 --pp-size 4"
        " --context-length 8192 --max-running-requests 9"
        " --mem-fraction 0.8 --chunked-prefill-size 4096 --max-prefill-tokens 1"
        " --disable-cuda-graph --disable-radix-cache",
        SGLANG
        | {"tensor_parallel": 2, "data_parallel": 3, "pipeline_parallel": 4, "max_model_len": 8192, "max_num_seqs": 9}
        | {"gpu_memory_fraction": 0.8, "enforce_eager": True, "prefix_caching": False}
        | {"unknown_flags": ["--chunked-prefill-size 4096", "--max-prefill-tokens 1"]},
    ),
    "SGLang speculation": (
        "sglang serve --model-path m --speculative-algorithm EAGLE3 --speculative-draft-model-path d"
        " --speculative-num-steps 3 --speculative-num-draft-tokens 4 --served-model-name q",
        SGLANG
        | {"executable": "sglang", "served_model_name": "q", "unknown_flags": ["--speculative-num-steps 3"]}
        | {"speculative": {"method": "EAGLE3", "model": "d", "num_tokens": 4}},
    ),
    # --- llama.cpp's
    "llama.cpp's switch under its negative name": (
        "llama-server -m m.gguf --no-cache-prompt --no-mmap",
        LLAMA | {"prefix_caching": False, "unknown_flags": ["--no-mmap"]},
    ),
    "llama.cpp names": (
        "./llama-server -m m.gguf -c 8192 -np 4 -a q -ctk q8_0 -ctv q8_0 -md d.gguf"
        " --draft-max 8 -ngl 99 -fa on --jinja -b 512",
        LLAMA
        | {"executable": "./llama-server", "max_model_len": 8192, "max_num_seqs": 4, "served_model_name": "q"}
        | {"kv_cache_dtype": "q8_0", "speculative": {"model": "d.gguf", "num_tokens": 8}}
        | {"unknown_flags": ["-ngl 99", "-fa on", "--jinja", "-b 512"]},
    ),
    "a bare -fa before another flag": ("llama-server -fa -m m.gguf", LLAMA | {"unknown_flags": ["-fa"]}),
    "K and V of two types": (
        "llama-server -m m.gguf -ctk q8_0 -ctv q4_0 --jinja",
        LLAMA | {"unknown_flags": ["-ctk q8_0", "-ctv q4_0", "--jinja"]},
    ),
    "a repository": ("llama-server -hf o/r:Q4_K_M", LLAMA | {"model": "o/r:Q4_K_M"}),
    "drafting by type": (
        "llama-server -m m.gguf --spec-type draft-mtp --spec-draft-n-max 3 --spec-draft-model d.gguf",
        LLAMA | {"speculative": {"method": "draft-mtp", "num_tokens": 3, "model": "d.gguf"}},
    ),
    "a stage of drafting with its settings": (
        "llama-server -m m.gguf --spec-type mtp:n_min=0,n_max=16,p_min=0.75",
        LLAMA | {"speculative": {"method": "mtp", "num_tokens": 16}},
    ),
    "flags win over variables": (
        "LLAMA_ARG_CTX_SIZE=1024 LLAMA_ARG_PORT=1 llama-server -m m.gguf -c 2048",
        LLAMA | {"max_model_len": 2048, "port": 1, "env": {"LLAMA_ARG_CTX_SIZE": "1024", "LLAMA_ARG_PORT": "1"}},
    ),
    # --- TensorRT-LLM's
    "TensorRT-LLM names": (
        "trtllm-serve serve m --tp_size 8 --pp_size 2 --ep_size 4 --max_batch_size 64"
        " --max_num_tokens 8192 --max_seq_len 4096"
        " --kv_cache_free_gpu_memory_fraction 0.85 --tool_parser t --reasoning_parser r"
        " --backend pytorch --config c.yml",
        TRT
        | {"tensor_parallel": 8, "pipeline_parallel": 2, "max_num_seqs": 64, "max_num_batched_tokens": 8192}
        | {"max_model_len": 4096, "gpu_memory_fraction": 0.85, "tool_call_parser": "t", "reasoning_parser": "r"}
        | {"unknown_flags": ["--ep_size 4", "--backend pytorch", "--config c.yml"]},
    ),
    # --- wrappers
    "sudo env nohup": ("sudo env A=1 nohup vllm serve m &", VLLM | {"env": {"A": "1"}}),
    "uvx": ("uvx --from vllm==0.11 vllm serve m", VLLM),
    "srun with exports": (
        "srun --gres=gpu:1 --export=ALL,A=1 vllm serve m",
        VLLM | {"gpus": "count=1", "env": {"A": "1"}},
    ),
    "mpirun with a variable": (
        "mpirun -n 2 -x NCCL_DEBUG=INFO trtllm-llmapi-launch trtllm-serve m",
        TRT | {"env": {"NCCL_DEBUG": "INFO"}},
    ),
    "bash -c": ("""bash -lc "cd /x && A=1 vllm serve m --port 1" """, VLLM | {"port": 1, "env": {"A": "1"}}),
    "cluster script": (
        "~/x/launch-cluster.sh -t tf5 --solo -d exec vllm serve m --port 8000",
        VLLM | {"launcher": "script", "port": 8000},
    ),
    "recipe script": (
        "HF_HOME=/m ./run-recipe.sh some-recipe --setup -n a,b --tp 2",
        {
            "engine": "vllm",
            "launcher": "script",
            "executable": "./run-recipe.sh",
            "tensor_parallel": 2,
            "env": {"HF_HOME": "/m"},
        },
    ),
    # --- containers
    "port mapped": ("docker run -p 8001:8000 vllm/vllm-openai --model m", IMAGE | {"port": 8001}),
    "port mapped at an address": (
        "docker run -p 127.0.0.1:8001:8000/tcp vllm/vllm-openai --model m",
        IMAGE | {"port": 8001},
    ),
    "port not published": ("docker run vllm/vllm-openai --model m", IMAGE),
    "port missed by the mapping": ("docker run -p 8000:8000 vllm/vllm-openai --model m --port 9000", IMAGE),
    "host network": (
        "docker run --network=host -p 1:8000 vllm/vllm-openai --model m --port 9000",
        IMAGE | {"port": 9000},
    ),
    "a random host port": ("docker run -p 8000 vllm/vllm-openai --model m", IMAGE),
    "the other engine's default port": (
        "docker run -p 9000:30000 lmsysorg/sglang python3 -m sglang.launch_server --model-path m",
        SGLANG | {"launcher": "docker", "image": "lmsysorg/sglang", "port": 9000},
    ),
    "clustered and glued options": (
        "docker run -itd -eA=1 -v/a:/b --gpus=all -w /x vllm/vllm-openai --model m",
        IMAGE | {"env": {"A": "1"}, "volumes": ["/a:/b"], "gpus": "all"},
    ),
    "a mount": (
        "docker run --mount type=bind,source=/a,target=/b,readonly vllm/vllm-openai --model m",
        IMAGE | {"volumes": ["/a:/b:ro"]},
    ),
    "CDI devices": (
        "podman run --device nvidia.com/gpu=0 --device=nvidia.com/gpu=1 --device /dev/kfd vllm/vllm-openai --model m",
        IMAGE | {"launcher": "podman", "gpus": "nvidia.com/gpu=0,nvidia.com/gpu=1"},
    ),
    "GPUs of the flag before the variable": (
        "docker run --gpus '\"device=0,1\"' -e CUDA_VISIBLE_DEVICES=5 vllm/vllm-openai --model m",
        IMAGE | {"gpus": "device=0,1", "env": {"CUDA_VISIBLE_DEVICES": "5"}},
    ),
    "GPUs of NVIDIA's variable": (
        "NVIDIA_VISIBLE_DEVICES=2 vllm serve m",
        VLLM | {"gpus": "2", "env": {"NVIDIA_VISIBLE_DEVICES": "2"}},
    ),
    "an entrypoint": (
        "docker run --entrypoint python3 vllm/vllm-openai -m vllm.entrypoints.openai.api_server --model m",
        IMAGE | {"executable": "python3"},
    ),
    "a shell as entrypoint": (
        "docker run --entrypoint /bin/bash vllm/vllm-openai -c 'pip install x && vllm serve m --port 8000'",
        IMAGE | {"executable": "vllm", "port": 8000},
    ),
    "an image that names no engine": (
        "docker run r.example/llm:1 --model-path m --mem-fraction-static 0.8",
        {
            "engine": "sglang",
            "launcher": "docker",
            "image": "r.example/llm:1",
            "model": "m",
            "gpu_memory_fraction": 0.8,
        },
    ),
    # --- variables
    "assigned and default": (
        "P=8001\nvllm serve ${M:-m} --port $P --host ${H:=0.0.0.0}",
        VLLM | {"port": 8001, "host": "0.0.0.0"},
    ),
    "unassigned": ("vllm serve $M --port $P", VLLM | {"model": "$M"}),
    "computed": (
        "export P=$((1+1)) Q=$((X+1))\nvllm serve m --port $P --host $(hostname)",
        VLLM | {"port": 2, "env": {"P": "2"}, "host": "$(hostname)"},
    ),
    "several words in one": (
        'A="--port 1 --dtype half"\nF=(--enforce-eager)\nvllm serve m $A "${F[@]}"',
        VLLM | {"port": 1, "dtype": "half", "enforce_eager": True},
    ),
    "single quotes keep the dollar": ("P=1\nvllm serve m --seed '$P'", VLLM | {"unknown_flags": ["--seed $P"]}),
    "references stay in volumes": (
        "D=/x\ndocker run -v $D:/m -e A=$D vllm/vllm-openai --model m",
        IMAGE | {"volumes": ["$D:/m"], "env": {"A": "$D"}},
    ),
    "literal secrets": (
        "export HF_TOKEN=abc\nvllm serve m --api-key xyz",
        VLLM | {"env": {"HF_TOKEN": "<secret>"}, "unknown_flags": ["--api-key <secret>"]},
    ),
    "secrets by reference": ("vllm serve m --api-key $K", VLLM | {"unknown_flags": ["--api-key $K"]}),
    "appended to": (
        'O="--seed 1"\nO+=" --port 2"\nF=(--dtype)\nF+=(half)\nvllm serve m $O "${F[@]}"',
        VLLM | {"port": 2, "dtype": "half", "unknown_flags": ["--seed 1"]},
    ),
    "the command itself in an array": ('c=(\n  vllm serve m\n  --port 1\n)\nexec "${c[@]}"', VLLM | {"port": 1}),
    "positional parameters": ("P=${2:-8088}\nvllm serve m --port $P", VLLM | {"port": 8088}),
    "a variable that must be set": ("M=${M:?set it}\nvllm serve $M", VLLM | {"model": "$M"}),
    # --- other places that commands stand in
    "tmux": ("tmux new -d -s x 'A=1 vllm serve m --port 1'", VLLM | {"port": 1, "env": {"A": "1"}}),
    "a process list": (
        "root 123 5.0 ? Ssl /usr/bin/vllm serve m --port 1",
        VLLM | {"executable": "/usr/bin/vllm", "port": 1},
    ),
    "a code span": ("It runs with `vllm serve m --port 1` on it's own", VLLM | {"port": 1}),
    "a default in quotes": (
        "L=${1:-\"8192\"}\nvllm serve m --max-model-len $L --port ${2:-'81'}",
        VLLM | {"max_model_len": 8192, "port": 81},
    ),
    "a server whose id is kept": (
        "ID=$(sudo docker run -d vllm/vllm-openai --model m --port 8001)\ndocker logs -f $ID",
        IMAGE | {"port": 8001},
    ),
    "a systemd unit with its environment below": (
        "[Service]\nExecStart=/opt/vllm serve %h/m \\\n  --port 1\n"
        'Environment="A=1 2" CUDA_VISIBLE_DEVICES=3\n\n[Install]',
        VLLM
        | {"executable": "/opt/vllm", "model": "$HOME/m", "port": 1, "gpus": "3"}
        | {"env": {"A": "1 2", "CUDA_VISIBLE_DEVICES": "3"}},
    ),
    "a systemd unit": (
        '[Service]\nEnvironment="A=1"\nExecStart=/opt/vllm serve m \\\n  --port 1\nRestart=always',
        VLLM | {"executable": "/opt/vllm", "port": 1, "env": {"A": "1"}},
    ),
    "Windows paths": (
        "$env:A='1'\n.\\llama-server.exe -m D:\\models\\m.gguf",
        LLAMA | {"executable": ".\\llama-server.exe", "model": "D:\\models\\m.gguf", "env": {"A": "1"}},
    ),
    "a heredoc within a script": (
        'docker run nvcr.io/nvidia/tensorrt-llm/release:1 bash -c \'\ncat > c.yml <<EOF\na: "b"\nEOF'
        "\ntrtllm-serve m --port 1\n'",
        TRT | {"launcher": "docker", "image": "nvcr.io/nvidia/tensorrt-llm/release:1", "port": 1},
    ),
    # --- damage
    "lost backslashes": (
        "vllm serve m\n  --port 1 # the port\n  --dtype half\n\nINFO started --seed 3",
        VLLM | {"port": 1, "dtype": "half"},
    ),
    "a comment within": ("vllm serve m \\\n  # --dtype half \\\n  --port 1", VLLM | {"port": 1}),
    "a comment after a backslash": ("vllm serve m \\ # model\n  --port 1", VLLM | {"port": 1}),
    "PowerShell": (
        "PS C:\\Users\\me> docker run `\n  -p 8000:8000 `\n  vllm/vllm-openai `\n  --model m",
        IMAGE | {"port": 8000},
    ),
    "CMD": ("docker run ^\r\n  -p 8000:8000 ^\r\n  vllm/vllm-openai ^\r\n  --model m", IMAGE | {"port": 8000}),
    "flattened": ("vllm serve m \\ --port 1 \\ --dtype half", VLLM | {"port": 1, "dtype": "half"}),
    "entities": (
        "vllm serve m --hf-overrides '{&quot;a&quot;: 1}' &amp;&amp; echo",
        VLLM | {"unknown_flags": ['--hf-overrides {"a": 1}']},
    ),
    "prose around it": ("I'm stuck, it doesn't start:\n\n$ vllm serve m --port 1\n\nWhat's wrong?", VLLM | {"port": 1}),
    "a code block in a mail": ("> Hi, I'd try\n> ```\n> vllm serve m --port 1\n> ```\n> it's fine", VLLM | {"port": 1}),
    "root's prompt": ("# vllm serve m --port 1", VLLM | {"port": 1}),
    "trace of set -x": ("+ vllm serve m --port 1", VLLM | {"port": 1}),
    "quotes over lines": (
        "vllm serve m --hf-overrides '{\n \"a\": 1}' --port 1",
        VLLM | {"port": 1, "unknown_flags": ['--hf-overrides {\n "a": 1}']},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_paste_states(name: str) -> None:
    paste, expected = CASES[name]
    assert stated_fields(paste) == {key: value for key, value in expected.items() if value not in EMPTY}


def test_disabled_switches_are_false_not_unknown() -> None:
    config = explain("vllm serve m --no-enable-prefix-caching --no-enable-chunked-prefill").config
    assert config and config.prefix_caching is False and config.chunked_prefill is False
    assert config.enforce_eager is None

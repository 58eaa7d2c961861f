"""Settings files that the paste writes itself are read with the command."""

from __future__ import annotations

import pytest

from commands.explain import explain

TRT = "max_seq_len: 131072\\nkv_cache_config:\\n  dtype: fp8\\n  free_gpu_memory_fraction: 0.9\\n"
TRT += "speculative_config:\\n  decoding_type: Eagle\\n  max_draft_len: 3\\n  speculative_model_dir: /m/draft\\n"
TEXT = TRT.replace("\\n", "\n")
SERVE = "trtllm-serve /m/a --port 80 --tp_size 4 --max_seq_len 10 --config options.yaml"
WRITERS = {
    "cat": f"cat > options.yaml <<EOF\n{TEXT}EOF\n",
    "cat, the other way": f"cat <<'EOF' > ./options.yaml\n{TEXT}EOF\n",
    "tee": f"sudo tee options.yaml <<-EOF >/dev/null\n{TEXT}EOF\n".replace(" >/dev/null", ""),
    "cat and tee": f"cat <<EOF | tee options.yaml\n{TEXT}EOF\n",
    "printf": f"printf '{TRT}' > options.yaml\n",
    "printf of lines": "printf '%s\\n' " + " ".join(f'"{line}"' for line in TEXT.splitlines()) + " > options.yaml\n",
    "echo": f'echo -e "{TRT}" > options.yaml\n',
    "echo of lines": "".join(f'echo "{line}" >> options.yaml\n' for line in TEXT.splitlines()),
    "a variable": f"LEN=131072\ncat > options.yaml <<EOF\n{TEXT.replace('131072', '$LEN')}EOF\n",
}


@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_settings_written_by_the_paste_are_read(writer: str) -> None:
    explanation = explain(f"cleanup() {{ local code=$?; rm -f options.yaml; exit $code; }}\n{writer}{SERVE}")
    config = explanation.config
    assert config and config.speculative
    assert (config.engine, config.model, config.tensor_parallel, config.env) == ("trtllm", "/m/a", 4, {})
    assert (config.max_model_len, config.kv_cache_dtype, config.gpu_memory_fraction) == (131072, "fp8", 0.9)
    speculative = config.speculative
    assert (speculative.method, speculative.num_tokens, speculative.model) == ("Eagle", 3, "/m/draft")
    assert not any("options.yaml <<" in text or "heredoc" in text for text in explanation.left_out)
    assert any("must be there when the server starts" in text for text in explanation.warnings)


def test_settings_in_a_container_are_read_through_its_volume() -> None:
    config = explain(
        f"cat > /tmp/a.yaml <<EOF\n{TEXT}EOF\n"
        "docker run -v /tmp:/conf nvcr.io/nvidia/tensorrt-llm/release:1 trtllm-serve m --config /conf/a.yaml"
    ).config
    assert config and config.max_model_len == 131072


def test_settings_written_in_an_inner_script_are_read() -> None:
    config = explain(
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - image: nvcr.io/nvidia/tensorrt-llm/release:1\n"
        "    command: [bash, -c]\n    args:\n    - |\n      cat > /tmp/o.yaml <<EOF\n      max_seq_len: 9\n      EOF\n"
        "      trtllm-serve m --config /tmp/o.yaml\n"
    ).config
    assert config and (config.model, config.max_model_len) == ("m", 9)


@pytest.mark.parametrize("start", ["vllm serve", "python3 -m sglang.launch_server"])
def test_a_file_of_flags_is_read_as_these_flags(start: str) -> None:
    explanation = explain(
        f"cat > c.yaml <<EOF\nmodel: o/m\nport: 81\nkv-cache-dtype: fp8\nEOF\n{start} --config c.yaml --port 80"
    )
    assert explanation.config and explanation.warnings == []
    config = explanation.config
    assert (config.model, config.port, config.kv_cache_dtype, config.unknown_flags) == ("o/m", 80, "fp8", [])


def test_switches_lists_and_mappings_of_a_file_of_flags() -> None:
    config = explain(
        "cat > c.yaml <<EOF\nmodel: o/m\nenforce-eager: true\nenable-prefix-caching: false\n"
        "speculative-config: {method: mtp, num_speculative_tokens: 2}\nserved-model-name: [a]\nEOF\n"
        "vllm serve --config c.yaml"
    ).config
    assert config and config.speculative and config.speculative.num_tokens == 2
    assert (config.enforce_eager, config.prefix_caching, config.served_model_name) == (True, False, "a")


def test_a_file_that_the_paste_does_not_write_is_told() -> None:
    explanation = explain("cat > other.yaml <<EOF\nmax_seq_len: 9\nEOF\ntrtllm-serve m --config options.yaml")
    assert explanation.config and explanation.config.max_model_len is None
    assert "more settings come from options.yaml" in explanation.warnings


CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data:
  worker.yaml: |
    model-path: o/m
    tp-size: 4
    context-length: 8192
---
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
spec:
  components:
  - podTemplate:
      spec:
        containers:
        - image: registry.example/runtime:1
          command: [python3, -m, dynamo.sglang]
          args: [--config, /etc/sglang/worker.yaml, --dyn-tool-call-parser, hermes]
"""


def test_a_config_map_in_the_paste_is_the_file_that_the_command_names() -> None:
    explanation = explain(CONFIG_MAP)
    config = explanation.config
    assert config and (config.engine, config.model, config.tensor_parallel) == ("sglang", "o/m", 4)
    assert config.max_model_len == 8192 and config.unknown_flags == ["--dyn-tool-call-parser hermes"]
    assert explanation.warnings == ["dynamo.sglang is a worker of Dynamo: it serves nothing without Dynamo"]


def test_one_of_two_config_maps_is_not_guessed() -> None:
    first, worker = CONFIG_MAP.split("---\n")
    explanation = explain("---\n".join([first, first.replace("name: settings", "name: others"), worker]))
    assert explanation.config and explanation.config.model is None
    assert "more settings come from /etc/sglang/worker.yaml" in explanation.warnings


def test_a_config_of_compose_is_the_file_that_the_command_names() -> None:
    config = explain(
        "configs:\n  c:\n    content: |\n      max-model-len: 4096\nservices:\n  v:\n"
        "    image: vllm/vllm-openai:v0.20.0\n"
        "    command: --model o/m --config /etc/v.yaml\n    configs: [{source: c, target: /etc/v.yaml}]\n"
    ).config
    assert config and (config.model, config.max_model_len) == ("o/m", 4096)


def test_a_line_of_unknown_settings_does_not_hide_the_others() -> None:
    explanation = explain(
        'if [ "$DP" = true ]; then\n  MODE="enable_attention_dp: true"\nelse\n  MODE="stream_interval: 10"\nfi\n'
        "cat > o.yaml <<EOF\nkv_cache_config:\n  dtype: fp8\n$MODE\nEOF\ntrtllm-serve m --config o.yaml"
    )
    assert explanation.config and explanation.config.kv_cache_dtype == "fp8"
    assert any(text.startswith("$MODE: enable_attention_dp: true") for text in explanation.unresolved)


SPEC = '{"method": "mtp", "num_speculative_tokens": 2}'
MOUNTED = f"""F=/tmp/s.json
printf '%s\\n' '{SPEC}' > "$F"
docker run -v "$F:/spec.json:ro" --entrypoint bash vllm/vllm-openai:v0.11.0 \\
  -c 'S=$(cat /spec.json); exec vllm serve m --speculative-config "$S"'
"""


@pytest.mark.parametrize(
    "paste",
    [MOUNTED, f"echo '{SPEC}' > s.json\nvllm serve m --speculative-config \"$(<s.json)\"\n"],
    ids=["mounted", "read"],
)
def test_a_value_from_a_file_that_the_script_writes(paste: str) -> None:
    explanation = explain(paste)
    assert explanation.config and explanation.config.speculative and explanation.config.speculative.num_tokens == 2
    assert not [text for text in explanation.warnings if "speculative" in text]


@pytest.mark.parametrize(
    "lines", ["if a; then\n  echo '{}' > s.json\nfi", "true", "for i in 1 2; do\necho $i > s.json\ndone"]
)
def test_a_file_that_a_condition_decides_is_no_value(lines: str) -> None:
    explanation = explain(f'{lines}\nvllm serve m --max-model-len "$(cat s.json)"\n')
    assert explanation.config and explanation.config.max_model_len is None and "$(cat s.json)" in explanation.unresolved


BRANCHES = """if [ "$MODE" = mtp ]; then
cat > options.yaml <<EOF
max_batch_size: 8
kv_cache_config: {dtype: fp8, tokens_per_block: 32}
EOF
else
cat > options.yaml <<EOF
max_batch_size: 16
kv_cache_config: {dtype: fp8, tokens_per_block: 64}
EOF
fi
"""


def test_settings_that_a_condition_decides_are_told() -> None:
    explanation = explain(BRANCHES + SERVE)
    assert explanation.config and (explanation.config.max_num_seqs, explanation.config.kv_cache_dtype) == (None, "fp8")
    assert explanation.warnings[:2] == [
        "options.yaml: max_batch_size is 16 or 8: a condition of the script decides",
        "options.yaml: kv_cache_config.tokens_per_block is 32 or 64: a condition of the script decides",
    ]


def test_settings_that_a_condition_adds_are_told() -> None:
    text = f"cat > options.yaml <<EOF\n{TEXT}EOF\nif $BIG; then echo 'max_batch_size: 99' >> options.yaml; fi\n{SERVE}"
    explanation = explain(text)
    assert explanation.config and (explanation.config.max_model_len, explanation.config.max_num_seqs) == (131072, None)
    assert "options.yaml: max_batch_size is 99 or unset: a condition of the script decides" in explanation.warnings


def test_a_file_that_only_a_condition_writes_is_told() -> None:
    explanation = explain(f"if $BIG; then\ncat > options.yaml <<EOF\n{TEXT}EOF\nfi\n{SERVE}")
    assert "a condition of the script decides whether it writes options.yaml" in explanation.warnings


def test_an_unknown_reference_in_a_list_loses_only_its_setting() -> None:
    text = f"cat > options.yaml <<EOF\n{TEXT}cuda_graph_config:\n  batch_sizes: [${{SIZES%, }}]\nEOF\n{SERVE}"
    explanation = explain(text)
    assert explanation.config and (explanation.config.max_model_len, explanation.config.kv_cache_dtype) == (
        131072,
        "fp8",
    )
    assert "${SIZES%, }" in explanation.unresolved


UNIT = "[Service]\nExecStart=/usr/local/bin/llama-server {0}\n  --model ${{DIR}}/m.gguf {0}\n  --port 8081\n"


@pytest.mark.parametrize(
    ("end", "lines"), [("EOF", UNIT.format("\\\\")), ("'EOF'", UNIT.format("\\"))], ids=["bare", "quoted"]
)
def test_a_service_that_a_script_writes_and_enables(end: str, lines: str) -> None:
    explanation = explain(
        f"DIR=/m\ncat > /etc/systemd/system/llama-server.service <<{end}\n{lines}EOF\n"
        "systemctl enable llama-server.service openwebui.service\n"
    )
    assert explanation.config and explanation.config.executable == "/usr/local/bin/llama-server"
    assert (explanation.config.model, explanation.config.port) == ("/m/m.gguf", 8081)
    assert explanation.warnings == []

"""SGLang: its log grammar, counters and command line, put together."""

from engines.base import Engine, SettingsFile, TokenizerApi
from engines.sglang import arguments, counters, flags, log, next_token
from engines.sglang.definitions import DEFINITIONS
from engines.sglang.forced_acceptance import forced_acceptance
from engines.sglang.invocation import INVOCATION
from engines.sglang.nodes import node_commands

ENGINE = Engine(
    name="sglang",
    title="SGLang",
    default_port=30000,
    ready_path="/health",
    metrics_path="/metrics",
    draft_tokens_include_bonus=True,  # --speculative-num-draft-tokens: verified tokens of a step
    switches={"/metrics": "--enable-metrics"},
    owned_by="sglang",
    version_paths=(("/server_info", "version"), ("/get_server_info", "version")),
    is_known_by_version=True,
    packages=("sglang",),
    own_benchmarks=("sglang.bench_one_batch", "sglang.bench_one_batch_server", "sglang.test.send_one"),
    log=log,
    counters=counters,
    definitions=DEFINITIONS,
    commands=flags,
    invocation=INVOCATION,
    settings_file=SettingsFile(flags.SETTINGS_FILE, flags.read_settings, is_made_of_flags=True),
    node_commands=node_commands,
    forced_acceptance=forced_acceptance,
    arguments=arguments,
    sampling_flags=("--sampling-defaults", "--preferred-sampling-params"),
    neutral_flags=(
        "--log-level",
        "--log-level-http",
        "--log-requests",
        "--log-requests-format",
        "--log-requests-level",
        "--log-requests-target",
        "--uvicorn-access-log-exclude-prefixes",
        "--decode-log-interval",
        "--show-time-cost",
        "--crash-dump-folder",
        "--fastapi-root-path",
        "--api-key",
        "--admin-api-key",
    ),
    takes_ignore_eos=True,
    tokenizer=TokenizerApi("prompt", "add_special_tokens", answer_field="text"),  # from 0.5.3 on; of chats later
    next_token=next_token,
    stream_options={"continuous_usage_stats": True},
    memory_fraction_holds_weights=True,
    effective_names={"context_len": "max_model_len"},  # llama.cpp's is one slot's share, which is another thing
)

"""vLLM: its log grammar, counters and command line, put together."""

from engines.base import Engine, SettingsFile, TokenizerApi
from engines.vllm import arguments, counters, flags, log, next_token
from engines.vllm.definitions import DEFINITIONS
from engines.vllm.forced_acceptance import forced_acceptance
from engines.vllm.invocation import INVOCATION
from engines.vllm.nodes import node_commands

ENGINE = Engine(
    name="vllm",
    title="vLLM",
    default_port=8000,
    ready_path="/health",
    metrics_path="/metrics",
    counters_off_flag="--disable-log-stats",
    owned_by="vllm",
    version_paths=(("/version", "version"),),
    packages=("vllm",),
    own_benchmarks=("vllm bench latency", "vllm bench throughput", "vllm bench startup"),
    counters=counters,
    definitions=DEFINITIONS,
    commands=flags,
    invocation=INVOCATION,
    settings_file=SettingsFile(flags.SETTINGS_FILE, flags.read_settings, is_made_of_flags=True),
    node_commands=node_commands,
    forced_acceptance=forced_acceptance,
    log=log,
    import_record=log.IMPORT_RECORD,
    arguments=arguments,
    sampling_flags=("--override-generation-config", "--generation-config"),
    neutral_flags=(
        "--disable-log-requests",
        "--enable-log-requests",
        "--max-log-len",
        "--uvicorn-log-level",
        "--disable-uvicorn-access-log",
        "--disable-access-log-for-endpoints",
        "--log-config-file",
        "--log-error-stack",
        "--log-level",
        "--disable-fastapi-docs",
        "--enable-offline-docs",
        "--allowed-origins",
        "--allowed-methods",
        "--allowed-headers",
        "--root-path",
        "--api-key",
    ),
    neutral_variables=(
        "VLLM_LOGGING_LEVEL",
        "VLLM_LOGGING_PREFIX",
        "VLLM_LOGGING_CONFIG_PATH",
        "VLLM_CONFIGURE_LOGGING",
        "VLLM_LOG_STATS_INTERVAL",
        "VLLM_NO_USAGE_STATS",
        "VLLM_DO_NOT_TRACK",
        "VLLM_API_KEY",
        "VLLM_CACHE_ROOT",
    ),
    tokenizer=TokenizerApi("prompt", "add_special_tokens"),
    next_token=next_token,
    takes_ignore_eos=True,
    stream_options={"continuous_usage_stats": True},
    memory_fraction_holds_weights=True,
    effective_names={"gpu_memory_utilization": "gpu_memory_fraction"},
    claims_memory_share=True,
)

"""SGLang: its log grammar, counters and command line, put together."""

from engines.base import Engine
from engines.sglang import arguments, counters, flags, log

ENGINE = Engine(
    name="sglang",
    title="SGLang",
    default_port=30000,
    ready_path="/health",
    metrics_path="/metrics",
    switches={"/metrics": "--enable-metrics"},
    log=log,
    counters=counters,
    commands=flags,
    arguments=arguments,
    sampling_flags=("--sampling-defaults", "--preferred-sampling-params"),
)

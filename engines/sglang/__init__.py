"""SGLang: its log grammar, counters and command line, put together."""

from engines.base import Engine
from engines.sglang import arguments, counters, flags, log
from engines.sglang.definitions import DEFINITIONS

ENGINE = Engine(
    name="sglang",
    title="SGLang",
    default_port=30000,
    ready_path="/health",
    metrics_path="/metrics",
    switches={"/metrics": "--enable-metrics"},
    log=log,
    counters=counters,
    definitions=DEFINITIONS,
    commands=flags,
    arguments=arguments,
    sampling_flags=("--sampling-defaults", "--preferred-sampling-params"),
)

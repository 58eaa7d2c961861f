"""llama.cpp: its log grammar, counters and command line, put together."""

from engines.base import Engine, TokenizerApi
from engines.llamacpp import arguments, counters, flags, log
from engines.llamacpp.definitions import DEFINITIONS
from engines.llamacpp.forced_acceptance import forced_acceptance
from engines.llamacpp.invocation import INVOCATION

ENGINE = Engine(
    name="llamacpp",
    title="llama.cpp",
    default_port=8080,
    ready_path="/health",
    metrics_path="/metrics",
    slots_path="/slots",
    switches={"/metrics": "--metrics", "/slots": "--slots"},
    owned_by="llamacpp",
    version_paths=(("/props", "build_info"),),
    is_known_by_version=True,
    packages=("xllamacpp", "llama_cpp_python"),
    log=log,
    counters=counters,
    definitions=DEFINITIONS,
    commands=flags,
    invocation=INVOCATION,
    forced_acceptance=forced_acceptance,
    arguments=arguments,
    sampling_flags=("--temp", "--top-k", "--top-p", "--min-p", "--repeat-penalty", "--presence-penalty", "--seed"),
    rare_sampling_flags=(
        "--frequency-penalty",
        "--repeat-last-n",
        "--typical",
        "--top-nsigma",
        "--xtc-probability",
        "--xtc-threshold",
        "--dry-multiplier",
        "--dry-base",
        "--dry-allowed-length",
        "--dry-penalty-last-n",
        "--dynatemp-range",
        "--dynatemp-exp",
        "--mirostat",
        "--mirostat-ent",
        "--mirostat-lr",
        "--adaptive-target",
        "--adaptive-decay",
        "--samplers",
        "--sampler-seq",
    ),
    tokenizer=TokenizerApi("content", "add_special", template_path="/apply-template"),
    takes_ignore_eos=True,
    request_extras={"timings_per_token": True},
)

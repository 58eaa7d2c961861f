"""Start-up facts of vLLM: memory, times, KV capacity, configuration, and start-up phases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from domain import JsonValue
from engines.default_sampling import read_default_sampling
from engines.line_reader import Merge

MERGES: Mapping[str, Merge] = {
    "weights_load_s": "list",
    "compile_passes_s": "list",
    "compile_and_profile_s": "list",
    "profiling_s": "list",
    "compile_graph_s": "rank0_sum",
    "dynamo_s": "rank0_sum",
    "available_kv_gib": "min",
    "available_kv_gib_per_rank": "each",
    "kv_cache_tokens": "min",
    "kv_cache_tokens_printed": "each",
    "max_concurrency": "min",
    "num_gpu_blocks": "min",
    "num_cpu_blocks": "min",
    "architectures": "list",
    "model_file_gib": "first",  # before that of the drafter
    "attention_backend": "first",
    "vision_attention_backend": "first",
}


def _int(text: str) -> int:
    return int(text.replace(",", ""))


ValueReader = Callable[[str], JsonValue]
_FOR_VISION = r"\bfor (?:the )?(?:[Vv]i[Tt]|VIT|[Vv]ision|MM ?[Ee]ncoder|mm[ _]encoder|[Mm]ulti-?modal)"
_N = r"-?(?:\d+\.)?\d+"
# Under a word that all of their texts have, which is searched for first; group names are fact keys.
_FACT_PATTERNS: Mapping[str, tuple[str, ...]] = {
    "GiB": (
        rf"model weights take (?P<model_load_gib>{_N}) ?GiB; .{{1,160}}reserved for KV Cache is "
        rf"(?P<available_kv_gib>{_N}) ?GiB",
        rf"Model loading took (?P<model_load_gib>{_N}) GiB(?: memory)? and (?P<model_load_s>{_N}) s",
        rf"\bCheckpoint size: (?P<model_file_gib>{_N}) GiB\b",
        rf"(?:kv_cache_size=|memory reserved for KV Cache is )(?P<kv_cache_gib>{_N})GiB",
        rf"Current (?:kv|KV) cache memory(?: in use is|:) (?P<kv_cache_gib>{_N}) GiB",
        rf"Available KV cache memory: (?P<available_kv_gib>{_N}) GiB",
        rf"Estimated CUDA graph memory: (?P<estimated_graph_gib>{_N}) GiB",
        rf"Free memory on device \((?P<free_memory_gib>{_N})/(?P<gpu_memory_gib>{_N}) GiB\) on startup\. "
        rf"Desired GPU memory utilization is \((?P<gpu_memory_utilization>{_N}), ",
        rf"Actual usage(?: is|:) (?P<weights_gib>{_N}) GiB for (?:weight|consumed memory|model)",
        rf" (?P<activation_peak_gib>{_N}) GiB for peak activation",
        rf"(?:Initial free memory (?P<free_memory_gib>{_N}) GiB, )?"
        rf"reserved (?P<reserved_kv_gib>{_N}) GiB memory for KV Cache",
        rf"Explicitly set \((?P<reserved_kv_gib>{_N})/{_N}\) GiB for KV cache",
        rf"\btotal_gpu_memory \((?P<gpu_memory_gib>{_N}) ?GiB\) x gpu_memory_utilization "
        rf"\((?P<gpu_memory_utilization>{_N})\)",
        rf"\btotal_gpu_memory=(?P<gpu_memory_gib>{_N})GiB .{{1,400}}\bgpu_memory_utilization="
        rf"(?P<gpu_memory_utilization>{_N})\b",
    ),
    "Using ": (
        r"Using max model len (?P<max_model_len>\d{1,18})",
        r"Using (?P<kv_cache_dtype>\w{1,40}) data type to store kv cache",
        rf"Using (?:AttentionBackendEnum\.)?(?P<attention_backend>[A-Z][A-Z0-9_]+) (?:attention )?backend"
        rf"(?! ?[^.]{{0,80}}{_FOR_VISION})(?: out of|\.| \()",
        r"Using (?P<attention_backend>Flash ?Attention(?: MLA)?|XFormers|FlashInfer|FlexAttention|Pallas|Torch SDPA|"
        r"IPEX|(?:Flash|Cutlass |Triton |Aiter )MLA|Triton(?: Attention)?|ROCmFlashAttention|HPUAttention) "
        rf"(?:V1 |attention )?backend(?! ?[^.]{{0,80}}{_FOR_VISION})",
        r"Using (?P<attention_backend>[A-Z][\w/+-]*(?: [\w/+-]+){0,3}?) backend on V1 engine",
        r"Using (?:(?:\w+ )?backend )?(?:AttentionBackendEnum\.)?"
        r"(?P<vision_attention_backend>[A-Za-z][\w.]*(?: [A-Z]\w*)?)"
        rf"(?: attention)?(?: backend)?(?: \([^()]{{1,80}}\))? ?{_FOR_VISION}",
    ),
    " s": (
        rf"Loading weights took (?P<weights_load_s>{_N}) s",
        rf"torch\.compile (?:takes|took) (?P<compile_passes_s>{_N}) s in total",
        rf"torch\.compile and initial profiling/warmup run together took (?P<compile_and_profile_s>{_N}) s",
        rf"Initial profiling/warmup run took (?P<profiling_s>{_N}) s",
        rf"Compiling a graph for .{{1,80}}? takes (?P<compile_graph_s>{_N}) s",
        rf"Dynamo bytecode transform time: (?P<dynamo_s>{_N}) s",
        rf"Graph capturing finished in (?P<graph_capture_s>{_N}) secs(?:, took (?P<graph_capture_gib>{_N}) GiB)?",
        rf"init engine \(.{{1,60}}?\) took (?P<engine_init_s>{_N}) s(?:econds)?"
        rf"(?: \(compilation: (?P<compile_s>{_N}) s)?",
    ),
    "tokens": (
        r"KV cache size: (?P<kv_cache_tokens>\d[\d,]{0,17}) tokens",
        r"Maximum concurrency for (?P<max_concurrency_context>\d[\d,]{0,17}) tokens per request: "
        rf"(?P<max_concurrency>{_N})x",
        r"Chunked prefill is enabled with max_num_batched_tokens=(?P<max_num_batched_tokens>\d{1,18})\b",
    ),
    "blocks": (
        r"^(?:# )?\w+ blocks: (?P<num_gpu_blocks>\d[\d,]{0,17})(?:, # CPU blocks: (?P<num_cpu_blocks>\d[\d,]{0,17}))?$",
        r"num_gpu_blocks is: (?P<num_gpu_blocks>\d{1,18})",
    ),
    "": (
        rf"^(?:total_gpu_memory\s+(?P<gpu_memory_gib>{_N})GiB|gpu_memory_utilization\s+(?P<gpu_memory_utilization>{_N})|"
        rf"model weights take\s+(?P<model_load_gib>{_N})GiB|available_kv_cache_memory\s+(?P<available_kv_gib>{_N})GiB|"
        rf"PyTorch activation peak memory\s+(?P<activation_peak_gib>{_N})GiB)$",
        rf"Loading model weights took (?P<model_load_gb>{_N}) GB",
        r"(?P<ready>Application startup complete)",
        r"Resolved architecture: (?P<architectures>\w+)",
        r"Auto-fit max_model_len: (?:reduced from \d{1,18} to|full model context length) (?P<max_model_len>\d{1,18})\b",
        rf"The current --gpu-memory-utilization=(?P<gpu_memory_utilization>{_N}) is equivalent to",
    ),
}
_FACTS = {word: tuple(map(re.compile, patterns)) for word, patterns in _FACT_PATTERNS.items()}
_FACTS_IN_BYTES = re.compile(
    r"^Available memory: (?P<available_kv_gib>\d{1,15}), total memory: (?P<gpu_memory_gib>\d{1,15})$"
)
_COUNTS = (
    "num_gpu_blocks",
    "num_cpu_blocks",
    "kv_cache_tokens",
    "max_concurrency_context",
    "max_model_len",
    "max_num_batched_tokens",
)
_READERS: Mapping[str, ValueReader] = {
    **dict.fromkeys(_COUNTS, _int),
    "ready": bool,
    "architectures": str,
    "attention_backend": str,
    "kv_cache_dtype": str,
    "vision_attention_backend": str,
}
_EVERY_RANK = {"available_kv_gib": "available_kv_gib_per_rank", "kv_cache_tokens": "kv_cache_tokens_printed"}
_CONFIG = re.compile(r"Initializing an? (?:V\d )?LLM engine (?:\(v[^)\s]+\) )?with config: ")
_ENGINE_VERSION = re.compile(r"Initializing an? (?:V\d )?LLM engine \(v(?P<version>[^)\s]+)\)")
_CONFIG_FACTS: Mapping[str, tuple[str, ValueReader]] = {
    "quantization": ("quantization", str),
    "dtype": ("dtype", str),
    "kv_cache_dtype": ("kv_cache_dtype", str),
    "max_seq_len": ("max_model_len", _int),
    "tensor_parallel_size": ("tensor_parallel", _int),
    "pipeline_parallel_size": ("pipeline_parallel", _int),
    "data_parallel_size": ("data_parallel", _int),
    "num_spec_tokens": ("num_spec_tokens", _int),
    "method": ("speculative_method", str),
}
# Since 0.14 one warning; before, a warning without the parameters and a line with them.
_SAMPLING = re.compile(
    r"(?:sampling parameters have been overridden by the model's .{1,80}?: `?|"
    r"Using default (?:chat|completion) sampling params from model: )(?P<dict>\{[^{}]*\})"
)
_COUNT = re.compile(r"\d{1,18}")
_CONFIG_PAIR = re.compile(r"\b(\w{4,24})=('?)([\w./-]+)\2(?=[,)\]}])")  # else the log cuts it
_VERSION = re.compile(  # of its API server, behind its banner, or as its container and `collect_env` print it
    r"(?:(?:API server|vLLM|[▀-▟]|^) {0,4}version v?|^vLLM(?:(?: Version)? *: v?| Version ))"
    r"(?P<version>\d+\.\d+[\w.+-]*)"
)
_PHASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Starting to load model"), "loading weights"),
    (
        re.compile(r"Loading (?:safetensors|pt|bin|gguf|shards|weights)[\w .-]*?:\s+(?P<percent>\d{1,3})%"),
        "loading weights",
    ),
    (
        re.compile(r"torch_compile_cache|Dynamo bytecode|Start compiling|Warming up model for the compilation"),
        "compiling",
    ),
    (re.compile(r"Profiling CUDA graph memory|Memory profiling takes"), "profiling memory"),
    (re.compile(r"Capturing (?:CUDA|ACL|XPU) ?[Gg]raphs?[^:]*:\s+(?P<percent>\d{1,3})%"), "capturing graphs"),
    (re.compile(r"Capturing the model for CUDA graphs|Capturing cudagraphs"), "capturing graphs"),
    (re.compile(r"Starting vLLM (?:API )?server|Started server process"), "starting the API server"),
)


class ServedModelFacts:
    """The facts of the served model, without those of its drafter and of a configuration that nothing uses."""

    def __init__(self) -> None:
        self._has_length = False  # the drafter's context length comes after the target's
        self._is_default = False  # the next limit is that of a default configuration

    def note_warning(self, text: str) -> None:
        """Note that vLLM makes a default configuration, for an import that asks for the current one too early."""
        self._is_default = self._is_default or text.startswith("Current vLLM config is not set")

    def read(self, text: str) -> dict[str, JsonValue]:
        """Return the facts of one message, in the key names of the parser's JSON."""
        facts = dict(read_facts(text))
        is_length = "Using max model len " in text
        is_limit = "max_num_batched_tokens" in facts
        is_other_models = (is_length and self._has_length) or (is_limit and self._is_default)
        self._has_length = self._has_length or is_length
        self._is_default = self._is_default and not is_limit
        return {} if is_other_models else facts


def read_facts(text: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the facts of one message, in the key names of the parser's JSON."""
    for key, value in _read_values(text):
        yield key, value
        if key in _EVERY_RANK:
            yield _EVERY_RANK[key], value
    yield from _read_config(text)
    yield from read_sampling(text).items()


def _read_values(text: str) -> Iterator[tuple[str, JsonValue]]:
    patterns = [pattern for word, patterns in _FACTS.items() if word in text for pattern in patterns]
    for pattern in patterns:
        match = pattern.search(text)
        for key, value in match.groupdict().items() if match else ():
            if value is not None:
                yield key, _READERS.get(key, float)(value)
    if sizes := _FACTS_IN_BYTES.match(text):
        yield from ((key, round(int(size) / 2**30, 2)) for key, size in sizes.groupdict().items())


def _read_config(text: str) -> Iterator[tuple[str, JsonValue]]:
    """Yield the facts of the engine's line, without data_parallel_size=1, which each of several engines prints."""
    head = _CONFIG.search(text)
    if head is None:
        return
    seen_names: set[str] = set()
    for name, _, value in _CONFIG_PAIR.findall(text, head.end()):
        entry = _CONFIG_FACTS.get(name)
        if (name, value) == ("data_parallel_size", "1"):
            continue
        if entry and name not in seen_names and value != "None" and (entry[1] is str or _COUNT.fullmatch(value)):
            seen_names.add(name)
            yield entry[0], entry[1](value)


def read_sampling(text: str) -> dict[str, JsonValue]:
    """Return the sampling parameters that the model's files set, as one fact; empty for other messages."""
    return read_default_sampling(_SAMPLING, text)


def is_start(text: str) -> bool:
    """Whether a new start of the engine begins with this message."""
    return "Initializing a" in text and _CONFIG.search(text) is not None


def read_version(text: str) -> str | None:
    """Return the version as the engine's line, the banner or the API server prints it."""
    match = _ENGINE_VERSION.search(text) or _VERSION.search(text)
    return match["version"].rstrip(".") if match else None


def read_phase(text: str) -> str | None:
    """Return the start-up phase: 'loading weights 34 %', 'compiling'."""
    for pattern, phase in _PHASES:
        match = pattern.search(text)
        if match:
            percent = match.groupdict().get("percent")
            return f"{phase} {percent} %" if percent else phase
    return None


def derive(startup: Mapping[str, JsonValue], version: str | None) -> dict[str, JsonValue]:
    """Derive facts from the merged ones: compile time, KV bytes, and the definition of 'KV tokens' in that version."""
    facts: dict[str, JsonValue] = {}
    if "compile_s" not in startup and "compile_passes_s" in startup:
        facts["compile_s"] = round(sum(startup["compile_passes_s"]), 2)
    kv_gib = startup.get("available_kv_gib_per_rank", ())
    ranks = startup.get("tensor_parallel", 1) * startup.get("pipeline_parallel", 1)
    if kv_gib and min(kv_gib) > 0 and len(kv_gib) % ranks == 0:  # Ray prints similar lines of several ranks as one
        facts["kv_cache_bytes"] = round(sum(kv_gib) * 2**30)
    if "kv_cache_tokens" in startup and (definition := kv_tokens_definition(version)):
        facts["kv_cache_tokens_definition"] = definition
    return facts


def kv_tokens_definition(version: str | None) -> str | None:
    """Return how this version computes 'KV cache size: N tokens'; None if the version is unknown.

    Source: `_report_kv_cache_config` of the releases, which changed between 0.20.0 and 0.20.2.
    """
    match = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version or "")
    if match is None or (match[1], match[2], match[3]) == ("0", "20", "1"):
        return None
    is_new = tuple(int(part or 0) for part in match.groups()) >= (0, 20, 2)
    return "max_concurrency * max_model_len" if is_new else "num_blocks // num_groups * min_block_size"

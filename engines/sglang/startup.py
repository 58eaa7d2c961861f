"""Start-up facts of SGLang: weights, KV pools per rank, graphs, limits, speculation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from domain import JsonValue
from engines.default_sampling import read_default_sampling
from engines.line_reader import Merge
from engines.numerals import COUNT, NUMBER

# SGLang's 'GB' means GiB. Of several ranks: the largest memory, the slowest load, the smallest pool.
MERGES: Mapping[str, Merge] = {
    "model_load_gib": "max",
    "model_load_s": "max",
    "draft_load_gib": "max",
    "draft_load_s": "max",
    "available_kv_gib": "min",
    "kv_cache_tokens": "min",
    "swa_tokens": "min",
    "mamba_cache_size": "min",
    "max_running_requests": "min",
    "kv_pools": "list",
    "graph_capture_s": "list",
    "graph_capture_gib": "list",
}
_WEIGHTS = re.compile(rf"Load weight end\. (?:elapsed=(?P<s>{NUMBER}) s, )?type=\w+.*?mem usage=(?P<gb>{NUMBER}) ?GB")
_POOL = re.compile(
    rf"KV Cache is allocated\. (?:dtype: (?:torch\.)?(?P<dtype>\w+), )?.*?#tokens: (?P<tokens>{COUNT}), "
    rf"(?:K size: (?P<k>{NUMBER}) ?GB, V size: (?P<v>{NUMBER}) ?GB|KV size: (?P<kv>{NUMBER}) ?GB)"
)
_SWA_POOL = re.compile(
    rf"SWAKVPool mem usage: (?P<gb>{NUMBER}) ?GB, swa size: (?P<swa>{COUNT}), full size: (?P<full>{COUNT})"
)
_SWA_TOKENS = re.compile(rf"full_layer_tokens=(?P<full>{COUNT}), swa_layer_tokens=(?P<swa>{COUNT})")
_MAMBA = re.compile(rf"Mamba Cache is allocated\. .*?max_mamba_cache_size: (?P<size>{COUNT})")
_GRAPH = re.compile(
    rf"Capture (?:.*? )?graph end\. (?:Time elapsed: |elapsed=)(?P<s>{NUMBER}) ?s"
    rf"(?:[.,] mem usage=(?P<gb>{NUMBER}) ?GB)?",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    rf"\b(max_total_num_tokens|max_running_requests|context_len|chunked_prefill_size|max_prefill_tokens)=({COUNT})"
)
_CHOSEN_BACKEND = re.compile(
    r"^(?:Attention backend not (?:set|(?:explicitly )?specified)\. Use (?P<default>\w+) backend by default|"
    r"Us(?:e|ing) (?P<named>[a-z]\w+) (?:as )?attention backend\b|"
    r"[Aa]ttention backend is (?:automatically )?set to (?P<set>[a-z]\w+))"
)
_AVAILABLE = re.compile(rf"The available memory for KV cache is ({NUMBER}) ?GB")
_KV_DTYPE = re.compile(r"Using KV cache dtype: (?:torch\.)?(\w+)")
_ARGUMENT = re.compile(
    r"\b(speculative_algorithm|speculative_num_draft_tokens|attention_backend|quantization)"
    rf"['\"]?(?:=|: )(?:'(?P<text>[^']+)'|(?P<n>{COUNT}))"
)
_DRAFT_TOKENS_FLAG = re.compile(rf"--speculative-num-draft-tokens[ =]({COUNT})")
_BLOCK_SIZE = re.compile(rf"Initialized \w+ draft runner\..*\bblock_size=({COUNT})")
_STARTUP_TIMES = re.compile(rf"Engine startup timings \(s\): .*?scheduler_e2e=({NUMBER})")
_SAMPLING = re.compile(r"Using default chat sampling params from model generation config: (?P<dict>\{[^{}]*\})")
_NAMES = {"speculative_num_draft_tokens": "num_spec_tokens", "max_total_num_tokens": "kv_cache_tokens"}


_MOST_RANKS = 1024  # a crafted log may name any number


@dataclass
class _Rank:
    """Progress of one rank: its second model is the drafter, and so are the pools after the first pool end."""

    has_weights: bool = False
    has_pools: bool = False
    swa_tokens: int | None = None
    full_is_next: bool = False


class SglangStartup:
    """Reads the facts of one start; tracks per rank whether facts are of the target or of the drafter."""

    def __init__(self) -> None:
        self._ranks: dict[str | None, _Rank] = {}

    def read(self, text: str, process: str | None) -> dict[str, JsonValue]:
        """Return the facts that a message states, in the parser's key names."""
        rank = self._ranks.get(process) or _Rank()
        if len(self._ranks) < _MOST_RANKS:
            self._ranks[process] = rank
        if match := _WEIGHTS.search(text):
            return _weights(match, rank)
        if match := _POOL.search(text):
            return _pool(match, rank)
        if match := _SWA_TOKENS.search(text):
            rank.swa_tokens = int(match["swa"])
            return {"swa_tokens": int(match["swa"]), "kv_cache_tokens": int(match["full"])}
        if match := _SWA_POOL.search(text):
            tokens = {"swa_tokens": int(match["swa"]), "kv_cache_tokens": int(match["full"])}
            return {} if rank.has_pools else {"swa_pool_gb": float(match["gb"]), **tokens}
        if text.startswith("Memory pool end"):
            rank.has_pools = True
            return {}
        return _single_fact(text)


def _weights(match: re.Match[str], rank: _Rank) -> dict[str, JsonValue]:
    role = "draft" if rank.has_weights else "model"
    rank.has_weights = True
    seconds = {f"{role}_load_s": float(match["s"])} if match["s"] else {}
    return {f"{role}_load_gib": float(match["gb"]), **seconds}


def _pool(match: re.Match[str], rank: _Rank) -> dict[str, JsonValue]:
    tokens = int(match["tokens"])
    sizes = {"k_gb": match["k"], "v_gb": match["v"], "kv_gb": match["kv"]}
    pool: dict[str, JsonValue] = {"tokens": tokens, **{k: float(v) for k, v in sizes.items() if v}}
    role = _pool_role(tokens, rank)
    if role:
        pool["role"] = role
    usable = {"kv_cache_tokens": tokens} if role is None else {}
    dtype = {"kv_cache_dtype": match["dtype"]} if match["dtype"] and role != "draft" else {}
    return {"kv_pools": pool, **usable, **dtype}


def _pool_role(tokens: int, rank: _Rank) -> str | None:
    """Return the pool's role; None for the target's only pool; of two, the sliding-window pool comes first."""
    if rank.has_pools:
        return "draft"
    if rank.swa_tokens is None:
        return None
    if rank.full_is_next or tokens != rank.swa_tokens:
        return "target full"
    rank.full_is_next = True
    return "target swa"


def _single_fact(text: str) -> dict[str, JsonValue]:
    if match := _MAMBA.search(text):
        return {"mamba_cache_size": int(match["size"])}
    if match := _GRAPH.search(text):
        size = {"graph_capture_gib": float(match["gb"])} if match["gb"] else {}
        return {"graph_capture_s": float(match["s"]), **size}
    if "max_total_num_tokens=" in text:
        return {_NAMES.get(key, key): int(value) for key, value in _LIMIT.findall(text)}
    if text.startswith("The server is fired up and ready to roll"):
        return {"ready": True}
    if match := _AVAILABLE.search(text):
        return {"available_kv_gib": float(match[1])}
    if match := _KV_DTYPE.search(text):
        return {"kv_cache_dtype": match[1]}
    if match := _CHOSEN_BACKEND.search(text):
        return {"attention_backend": match["default"] or match["named"] or match["set"]}
    if sampling := read_default_sampling(_SAMPLING, text):
        return sampling
    if match := _BLOCK_SIZE.search(text):
        return {"num_spec_tokens": int(match[1])}
    if match := _STARTUP_TIMES.search(text):
        return {"engine_init_s": float(match[1])}
    return _arguments(text) if "server_args=" in text or "--speculative-num-draft-tokens" in text else {}


def _arguments(text: str) -> dict[str, JsonValue]:
    facts: dict[str, JsonValue] = {}
    for match in _ARGUMENT.finditer(text):
        facts[_NAMES.get(match[1], match[1])] = match["text"] or int(match["n"])
    if flag := _DRAFT_TOKENS_FLAG.search(text):
        facts["num_spec_tokens"] = int(flag[1])
    return facts

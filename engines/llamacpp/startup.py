"""Start-up facts of llama.cpp's server: model file, context, buffers, KV cache, slots, readiness."""

from __future__ import annotations

import re
from collections.abc import Mapping

from domain import JsonValue
from engines.line_reader import Merge
from engines.numerals import COUNT, NUMBER

MERGES: Mapping[str, Merge] = {
    "model_load_gib": "sum",
    "draft_load_gib": "sum",
    "kv_cache_bytes": "sum",
    "kv_cache_tokens": "max",
    "context_len": "last",
    **dict.fromkeys(("n_ctx", "n_batch", "n_ubatch", "n_seq_max", "kv_unified", "flash_attention"), "first"),
}
_MIB = 1 << 20
_WEIGHTS = re.compile(
    rf"(?:(?:model|^llm_load_tensors: +\S+) buffer size|"
    rf"^llm_load_tensors: (?:VRAM used|system memory used|mem required)) *[=:] +(?P<mib>{NUMBER}) Mi?B"
)
_KV_CACHE = re.compile(
    rf"llama_kv_cache\w*: +size = +(?P<mib>{NUMBER}) MiB \( *(?P<cells>{COUNT}) cells, +\d+ layers, +"
    rf"(?:{COUNT}/ *)?(?P<streams>{COUNT}) seqs\)"
)
_PLANNED_KV_CACHE = re.compile(
    rf"llama_kv_cache\w*: kv_size = (?P<cells>{COUNT}), .*\btype_k = '(?P<k>\w+)', type_v = '(?P<v>\w+)'"
)
_OLD_KV_CACHE = re.compile(rf"(?:KV|kv) self size += +(?P<mib>{NUMBER}) Mi?B")
_WINDOW = re.compile(r"creating +(?P<non>non-)?SWA KV cache")
_SLOTS = re.compile(rf"initializing(?: slots)?, n_slots = (?P<slots>{COUNT})")
_SLOT_CONTEXT = re.compile(rf"n_ctx_slot = (?P<context>{COUNT}), kv_unified = '?(?P<unified>true|false)")
_AUTO_SLOTS = re.compile(
    rf"\b(?:using|setting) n_parallel = (?P<slots>{COUNT}) and kv_unified = (?P<unified>true|false)"
)
_NEW_SLOT = re.compile(rf"\| new slot,? n_ctx(?:_slot)? = (?P<context>{COUNT})")
_TASK_CONTEXT = re.compile(rf"\| new prompt, n_ctx_slot = (?P<context>{COUNT}),")  # once per request
_FLASH = re.compile(r"Flash Attention (?:was auto|not supported), set to (enabled|disabled)")
_CONTEXT = re.compile(
    rf"(?:^|[\s|:\]])llama_(?:context|new_context_with_model|init_from_model): "
    rf"(?:(?P<count>n_ctx(?:_seq|_per_seq)?|n_batch|n_ubatch|n_seq_max) += +(?P<number>{COUNT})"
    rf"|(?P<switch>flash_attn|kv_unified) += +(?P<state>true|false|enabled|disabled|0|1)\b)"
)
_CACHE_TYPES = re.compile(r"\bK \((?P<k>\w+)\): .*\bV \((?P<v>\w+)\): |\bc\^KV \((?P<latent>\w+)\): ")
_RECURRENT = re.compile(rf"llama_memory_recurrent: +size = +(?P<mib>{NUMBER}) MiB \(")
_WORD = r"\S{1,60}"
_MODEL_FILE = re.compile(
    rf"(?:^|[\s|:\]])(?:print_info|llm_load_print_meta): "
    rf"(?:(?:file type|model ftype) += (?P<quantization>{_WORD}(?: {_WORD}){{0,8}})"
    rf"|(?:file|model) size += +(?P<size>{NUMBER}) (?P<unit>[GM])iB|n_ctx_train += +(?P<trained>{COUNT}))"
)
_METADATA = re.compile(rf"llama_model_loader: - kv +\d+: +[\w-]+\.context_length +u32 += +(?P<trained>{COUNT})")
_OFFLOADED = re.compile(rf"offloaded (?P<on_gpu>{COUNT})/(?P<layers>{COUNT}) layers to GPU")
_BELOW_TRAINED = re.compile(rf"n_ctx_(?:seq|per_seq) \((?P<context>{COUNT})\) < n_ctx_train \((?P<trained>{COUNT})\)")
_OLD_SLOTS = re.compile(rf'(?:initializing slots|new slot)\b.*\b(?P<name>n_slots|n_ctx_slot)"?[:=](?P<number>{COUNT})')
_OLDEST_SLOT = re.compile(rf"^ *-> Slot (?P<slot>{COUNT}) - max context: (?P<context>{COUNT})$")  # until February 2024
_OLD_SLOT_FACTS = {"n_slots": "max_running_requests", "n_ctx_slot": "context_len"}
_CONTEXT_FACTS = {"n_ctx_seq": "context_len", "n_ctx_per_seq": "context_len", "flash_attn": "flash_attention"}
_LLAMA_BOX_READY = re.compile(r"srv +start: server is ready$")
_VERSION = re.compile(
    r"(?:^|\s)(?:build(?:_info)?: +b?|build = ?|build=(?=\d+ commit=)|version: +(?:[\w.-]{1,30} \(build )?|"
    r"build (?=\d+ \([0-9a-f]+\)))(?P<build>\d{2,}\b|\d(?= \([0-9a-f]{7,12}\)))"
)
_JSON_BUILD = re.compile(r"\"build\":(?P<build>\d{2,})\b")  # of builds until May 2024


def read_build(text: str, raw: str) -> str | None:
    """Return the build that a message states; `raw`: its line with all fields."""
    match = _VERSION.search(text) or (_JSON_BUILD.search(raw) if text == "build info" else None)
    return f"b{match['build']}" if match else None


class LlamacppStartup:
    """Reads the facts of one start; buffers after 'loading draft model' are the drafter's."""

    def __init__(self) -> None:
        self._is_draft = False
        self._is_window = False
        self._has_memory = False  # stated for weights or a cache
        self.is_loading = False
        self.is_loaded = False
        self.is_listening = False

    def read(self, text: str, raw: str) -> dict[str, JsonValue]:
        """Return the facts that a message states, in the parser's key names; `raw`: its line with all fields."""
        self._track_loading(text)
        if match := _WEIGHTS.search(text):
            size = float(match["mib"]) / 1024
            self._has_memory = True
            return {"draft_load_gib" if self._is_draft else "model_load_gib": size} if size else {}
        if match := _KV_CACHE.search(text) or _OLD_KV_CACHE.search(text):
            self._has_memory = True
            return {} if self._is_draft else self._kv_cache(match)
        if match := _PLANNED_KV_CACHE.search(text):
            return {} if self._is_draft else self._planned_kv_cache(match)
        if match := _SLOTS.search(text):
            return {"max_running_requests": int(match["slots"]), **_slot_context(text, int(match["slots"]))}
        if match := _AUTO_SLOTS.search(text):
            return {"max_running_requests": int(match["slots"]), "kv_unified": match["unified"] == "true"}
        if match := _NEW_SLOT.search(text) or _TASK_CONTEXT.search(text):
            return {"context_len": int(match["context"])}
        if match := _OLD_SLOTS.search(raw):  # until 2024
            return {_OLD_SLOT_FACTS[match["name"]]: int(match["number"])}
        if match := _OLDEST_SLOT.match(text):
            return {"max_running_requests": int(match["slot"]) + 1, "context_len": int(match["context"])}
        if match := _FLASH.search(text):
            return {"flash_attention": match[1] == "enabled"}
        return {} if self._is_draft else _context(text) or _model_file(text)

    def is_begun_again(self, text: str) -> bool:
        """Whether a message loads the target model again: the server restarted in the same log, or had unloaded it."""
        return self._has_memory and _loads_target(text)

    @property
    def is_ready(self) -> bool:
        """Whether the server listens with its model loaded; it listens before that. A router never loads a model."""
        return self.is_listening and (self.is_loaded or not self.is_loading)

    def _track_loading(self, text: str) -> None:
        # A drafter may also be a few layers of the target's file.
        if "loading draft model" in text or "(rest belong to a sibling model" in text:
            self._is_draft = True
        elif _loads_target(text):
            self.is_loading = True
            self._is_draft = False
        elif "model loaded" in text:
            self.is_loaded = True
        elif "listening on http" in text or text == "HTTP server listening":
            self.is_listening = True
        elif _LLAMA_BOX_READY.match(text):
            self.is_listening = self.is_loaded = True
        if window := _WINDOW.search(text):
            self._is_window = window["non"] is None

    def _kv_cache(self, match: re.Match[str]) -> dict[str, JsonValue]:
        size = {"kv_cache_bytes": round(float(match["mib"]) * _MIB), **_cache_types(match.string)}
        if "cells" not in match.groupdict():
            return size
        tokens = int(match["cells"]) * int(match["streams"])  # without a unified cache each sequence has its own stream
        return {**size, "swa_tokens" if self._is_window else "kv_cache_tokens": tokens}

    def _planned_kv_cache(self, match: re.Match[str]) -> dict[str, JsonValue]:
        cells = {"swa_tokens" if self._is_window else "kv_cache_tokens": int(match["cells"])}
        return cells | _types(match["k"], match["v"])


def _loads_target(text: str) -> bool:
    return "loading model" in text and ("loading model '" in text or text.rstrip().endswith("loading model"))


def _slot_context(text: str, slots: int) -> dict[str, JsonValue]:
    match = _SLOT_CONTEXT.search(text)
    if match is None:
        return {}
    context = int(match["context"])
    return {"context_len": context, "kv_cache_tokens": context if match["unified"] == "true" else context * slots}


def _cache_types(text: str) -> dict[str, JsonValue]:
    """The type of the KV cache; those of K and V where they differ."""
    match = _CACHE_TYPES.search(text)
    if match is None:
        return {}
    return {"kv_cache_dtype": match["latent"]} if match["latent"] else _types(match["k"], match["v"])


def _types(k: str, v: str) -> dict[str, JsonValue]:
    return {"kv_cache_dtype": k} if k == v else {"k_cache_dtype": k, "v_cache_dtype": v}


def _context(text: str) -> dict[str, JsonValue]:
    """A setting of the context; flash attention that is still 'auto' is stated by a later line."""
    if match := _RECURRENT.search(text):
        return {"recurrent_state_bytes": round(float(match["mib"]) * _MIB)}
    if match := _BELOW_TRAINED.search(text):
        return {"context_len": int(match["context"]), "n_ctx_train": int(match["trained"])}
    match = _CONTEXT.search(text)
    if match is None:
        return {}
    name = match["count"] or match["switch"]
    value = int(match["number"]) if match["count"] else match["state"] in ("true", "enabled", "1")
    return {_CONTEXT_FACTS.get(name, name): value}


def _model_file(text: str) -> dict[str, JsonValue]:
    if match := _OFFLOADED.search(text):
        return {"layers_on_gpu": int(match["on_gpu"]), "layers": int(match["layers"])}
    if match := _METADATA.search(text):
        return {"n_ctx_train": int(match["trained"])}
    match = _MODEL_FILE.search(text)
    if match is None:
        return {}
    if match["quantization"]:
        return {"quantization": match["quantization"]}
    if match["size"]:
        return {"model_file_gib": float(match["size"]) / (1 if match["unit"] == "G" else 1024)}
    return {"n_ctx_train": int(match["trained"])}

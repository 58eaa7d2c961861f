"""What llama.cpp's server says once: buffers, KV cache, slots, and what ends it before it serves."""

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
}
_MIB = 1 << 20
_WEIGHTS = re.compile(rf"model buffer size = +(?P<mib>{NUMBER}) MiB")
_KV_CACHE = re.compile(
    rf"llama_kv_cache\w*: +size = +(?P<mib>{NUMBER}) MiB \( *(?P<cells>{COUNT}) cells, +\d+ layers, +"
    rf"(?:{COUNT}/)?(?P<streams>{COUNT}) seqs\)"
)
_OLD_KV_CACHE = re.compile(rf"KV self size += +(?P<mib>{NUMBER}) MiB")
_WINDOW = re.compile(r"creating +(?P<non>non-)?SWA KV cache")
_SLOTS = re.compile(rf"initializing(?: slots)?, n_slots = (?P<slots>{COUNT})")
_SLOT_CONTEXT = re.compile(rf"n_ctx_slot = (?P<context>{COUNT}), kv_unified = '?(?P<unified>true|false)")
_NEW_SLOT = re.compile(rf"\| new slot,? n_ctx(?:_slot)? = (?P<context>{COUNT})")
_FLASH = re.compile(r"Flash Attention was auto, set to (enabled|disabled)")
VERSION = re.compile(r"(?:^|\s)(?:build(?:_info)?: +b?|version: +)(?P<build>\d{2,})\b")


class StartupFacts:
    """Reads the facts of one start; the buffers that follow 'loading draft model' are the drafter's."""

    def __init__(self) -> None:
        self._is_draft = False
        self._is_window = False
        self.is_loading = False
        self.is_loaded = False
        self.is_listening = False

    def read(self, text: str) -> dict[str, JsonValue]:
        """The facts that a message states, in the parser's key names."""
        self._follow(text)
        if found := _WEIGHTS.search(text):
            return {"draft_load_gib" if self._is_draft else "model_load_gib": float(found["mib"]) / 1024}
        if found := _KV_CACHE.search(text) or _OLD_KV_CACHE.search(text):
            return {} if self._is_draft else self._kv_cache(found)
        if found := _SLOTS.search(text):
            return {"max_running_requests": int(found["slots"]), **_slot_context(text, int(found["slots"]))}
        if found := _NEW_SLOT.search(text):
            return {"context_len": int(found["context"])}
        if found := _FLASH.search(text):
            return {"flash_attention": found[1] == "enabled"}
        return {}

    @property
    def is_ready(self) -> bool:
        """Listening alone is not: the server listens before its model is there. A router never loads one itself."""
        return self.is_listening and (self.is_loaded or not self.is_loading)

    def _follow(self, text: str) -> None:
        if "loading draft model" in text:
            self._is_draft = True
        elif "loading model '" in text or text.rstrip().endswith("loading model"):
            self.is_loading = True
            self._is_draft = False
        elif "model loaded" in text:
            self.is_loaded = True
        elif "listening on http" in text:
            self.is_listening = True
        if window := _WINDOW.search(text):
            self._is_window = window["non"] is None

    def _kv_cache(self, found: re.Match[str]) -> dict[str, JsonValue]:
        size = {"kv_cache_bytes": round(float(found["mib"]) * _MIB)}
        if "cells" not in found.groupdict():
            return size
        tokens = int(found["cells"]) * int(found["streams"])  # without a unified cache each sequence has a stream
        return {**size, "swa_tokens" if self._is_window else "kv_cache_tokens": tokens}


def _slot_context(text: str, slots: int) -> dict[str, JsonValue]:
    found = _SLOT_CONTEXT.search(text)
    if found is None:
        return {}
    context = int(found["context"])
    return {"context_len": context, "kv_cache_tokens": context if found["unified"] == "true" else context * slots}

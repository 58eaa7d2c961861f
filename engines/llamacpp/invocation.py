"""Commands, modules and images that start llama.cpp's server."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.llamacpp.flags import DEMO
from engines.llamacpp.router_presets import rewrite_presets

MODEL_FLAGS = ("-m", "--model", "-hf", "--hf-repo")


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """Whether this is `llama-server ...` of any build, `llama serve ...`, or the old `server ...` with a GGUF."""
    if program == "llama":
        return words[after : after + 1] == ["serve"]
    return program.startswith("llama-server") or (program == "server" and _names_gguf(words[after:]))


def _names_gguf(args: Sequence[str]) -> bool:
    return any(word in MODEL_FLAGS for word in args) and any(".gguf" in word for word in args)


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("llama-server", "llama"),
    text_pattern=r"llama-server(?:\.exe)?",
    image_name=re.compile(r"llama[._-]?cpp|llama-server|llamacpp", re.IGNORECASE),
    modules=(DEMO[1],),
    image_command=("llama-server",),
    image_words=("--server",),
    reads_env=True,
    nixos_service="llama-cpp",
    rewrite_file=rewrite_presets,
)

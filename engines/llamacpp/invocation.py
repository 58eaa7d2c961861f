"""How llama.cpp's server is started."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.llamacpp.flags import DEMO

MODEL_FLAGS = ("-m", "--model", "-hf", "--hf-repo")


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """`llama-server ...` of whatever build, `llama serve ...`, or the old `server ...` where it is given a GGUF."""
    if program == "llama":
        return words[after : after + 1] == ["serve"]
    return program.startswith("llama-server") or (program == "server" and _names_gguf(words[after:]))


def _names_gguf(args: Sequence[str]) -> bool:
    return any(word in MODEL_FLAGS for word in args) and any(".gguf" in word for word in args)


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("llama-server", "llama"),
    in_text=r"llama-server(?:\.exe)?",
    image_name=re.compile(r"llama[._-]?cpp|llama-server|llamacpp", re.IGNORECASE),
    modules=(DEMO[1],),
    image_command=("llama-server",),
    image_words=("--server",),
    reads_env=True,
)

"""How SGLang's server is started."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.base import Invocation
from engines.sglang.flags import MODULE


def is_server(program: str, words: Sequence[str], after: int) -> bool:
    """`sglang serve ...`."""
    return program == "sglang" and words[after : after + 1] == ["serve"]


INVOCATION = Invocation(
    is_server=is_server,
    first_words=("sglang",),
    in_text=r"sglang\s+serve|python[\d.]*\s+-m\s+sglang[.\w]*",
    image_name=re.compile(r"sglang", re.IGNORECASE),
    modules=(MODULE, "sglang_router.launch_server", "sglang.srt.server", "sglang.srt.entrypoints.http_server"),
    files=("sglang/launch_server.py",),
    image_command=(),
)

"""Start arguments of TensorRT-LLM from its log: those that `LLM Args:` or Dynamo's worker prints."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engines.arguments import read_pairs
from engines.trtllm.settings import FLAGS

NEEDLES = re.compile(rb"LLM Args: |TensorRT-LLM engine args: |^model=\S+ tokenizer=", re.MULTILINE)
_HEAD = re.compile(r"(?:^|\s)(?:LLM Args|TensorRT-LLM engine args): |^(?=model=\S+ tokenizer=)")
_FLAGS = {name.rpartition(".")[2]: flag for name, flag in FLAGS.items() if name != "kv_cache_config.dtype"}
_SWITCHES = ("enable_chunked_prefill",)


def read_arguments(texts: Sequence[str]) -> list[str]:
    """Return the words that the last line with arguments states; empty if no line of `texts` states any."""
    lines = [text for text in texts if _HEAD.search(text)]
    if not lines:
        return []
    values = read_pairs(_HEAD.split(lines[-1], maxsplit=1)[1], _FLAGS.keys())
    words = [word for name in _SWITCHES if values.pop(name, None) is True for word in (_FLAGS[name],)]
    return words + [word for name, value in values.items() for word in (_FLAGS[name], str(value))]

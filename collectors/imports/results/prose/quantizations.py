"""Reads the quantization of the weights that a text names, where it names only one: 'AWQ', 'Q4_K_M', 'FP8'.

It is that of all results only if it stands apart from them: what a sentence with a figure names is that figure's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from collectors.imports.results.prose.figure_marks import FIGURE

CHARS_AROUND = 32
MAX_SENTENCE_CHARS = 1_000
_HALF, _UNQUANTIZED_BITS = "half", 16
_BITS = r"(?:INT[48]|W\dA\d{1,2})"
_QUANTIZATION = re.compile(
    r"(?<![A-Za-z\d])(?P<name>(?:UD-)?I?Q\d_(?:K(?:_(?:XXS|XS|XL|S|M|L))?|NL|XXS|XS|[SM\d])|(?:MX|NV)?FP4|FP8|BF16|FP16"
    rf"|(?:AWQ|GPTQ)(?:[- ]{_BITS})?|{_BITS}(?:[- ](?:AWQ|GPTQ))?|EXL[23])(?![A-Za-z\d]|_\w)",
    re.IGNORECASE,
)
_OTHER_PRECISION = re.compile(  # in words, or of no exact kind
    r"(?<![\w.-])(?:(?P<bits>\d{1,2})[- ]?bits?|(?:IQ|Q|INT)(?P<digit>\d)"
    r"|(?P<half>(?<!dtype )(?<!dtype=)(?<!torch\.)(?:bfloat16|float16|F16)|half[- ]precision|unquantized))"
    r"(?![\w.]|-?\w)",
    re.IGNORECASE,
)
_BITS_OF_NAME = re.compile(r"(?:Q|FP|BF|INT|W)(?P<bits>\d{1,2})")
_OF_CACHE_BEFORE = re.compile(
    r"(?:\bkv\S{0,20}|\bct[kv]d?|\btype_[kv]|cache\S{0,16})"
    r"(?: (?:cache|dtype|type|in|at|is|[kv]|[kv]=?\S{1,8} and [kv])){0,2}[ =:|*\"'`]{1,6}$",
    re.IGNORECASE,
)
_OF_CACHE_BEHIND = re.compile(r"(?:/\S{1,8})?[ -](?:quantized )?(?:kv|k/v|[kv] cache|cache|attention)\b", re.IGNORECASE)
_EXAMPLE_BEFORE = re.compile(  # 'e.g., AWQ', 'you could try FP8', 'unlike NVFP4'
    r"(?:\be\.g\.|\b(?:for (?:example|instance)|such as|like|unlike|instead of|rather than|without|try(?:ing)?|consider"
    r"|recommend\w*|suggest\w*|include|support(?:s|ed|ing)?|(?:you|one|we) (?:can|could|should|may|might)(?: also)? \w+"
    r"|(?:plan(?:s|ned|ning)?|going|want) (?:to|for)(?: \w+)?))"
    r"[ ,:(]{1,3}(?:(?:the|an?|with|use|using) ){0,2}[\"'`(]?$",
    re.IGNORECASE,
)
_LABEL_BEFORE = re.compile(r"\b(?:quant\w*|precision|weights?|dtype)(?: (?:is|of|in))?\W{1,6}$", re.IGNORECASE)
_END_OF_SENTENCE = re.compile(r"[.!?](?=\s)|\n")


def quantization_of(text: str, has_several_models: bool = False) -> str | None:
    """Return the only quantization that a text names for the weights of all its results.

    None for several, which are compared, and where only advice, an example or some of the figures have it. Of several
    models only a label has it: 'Precision: FP8'.
    """
    matches = [match for match in _QUANTIZATION.finditer(text) if not _is_of_cache(text, match)]
    names = {match["name"].upper() for match in matches}
    longest = max(names, key=len, default="")
    if not names or not all(name in longest for name in names) or _names_other_precision(text, longest):
        return None
    stated = [match for match in matches if not is_example(text, match)]
    if has_several_models:
        stated = [match for match in stated if _LABEL_BEFORE.search(_before(text, match))]
    return longest if any(_is_of_all_figures(text, match, longest) for match in stated) else None


def is_example(text: str, match: re.Match[str]) -> bool:
    """Return whether the words before a setting make it one of advice or of an example: 'e.g. AWQ', 'try --tp 8'."""
    return _EXAMPLE_BEFORE.search(_before(text, match)) is not None


def names_other_quantization(words: str, quantization: str) -> bool:
    """Return whether the name of an arm states another precision than this one: 'vLLM, bfloat16' beside AWQ."""
    names = {match["name"].upper() for match in _QUANTIZATION.finditer(words) if not _is_of_cache(words, match)}
    is_other = any(name not in quantization and quantization not in name for name in names)
    return is_other or _names_other_precision(words, quantization)


def quantization_in_name(model: str) -> str | None:
    """Return the quantization at the end of a model's name: 'tiny-8b-AWQ', 'tiny-8b-Q4_K_M.gguf'."""
    match = next(iter(_at_end(model)), None)
    return match["name"].upper() if match else None


def without_quantization(model: str) -> str:
    """Return the name of a model without its folder, and without the quantization at its end."""
    match = next(iter(_at_end(model)), None)
    name = model[: match.start()] if match else model
    return name.rstrip("-._/").rpartition("/")[2]


def _at_end(model: str) -> Iterator[re.Match[str]]:
    """Yield the quantization behind which a name has no other words than those of its file and its kind."""
    for match in _QUANTIZATION.finditer(model):
        if re.fullmatch(r"(?:[-_.](?:gguf|dynamic|int[48]|awq|gptq|block))*", model[match.end() :], re.IGNORECASE):
            yield match


def _before(text: str, match: re.Match[str]) -> str:
    return text[max(0, match.start() - CHARS_AROUND) : match.start()]


def _names_other_precision(text: str, quantization: str) -> bool:
    """Return whether a text has words for a precision of another number of bits: '8-bit' beside Q4_K_M."""
    bits = _bits_of(quantization)
    others = (match for match in _OTHER_PRECISION.finditer(text) if not _is_of_cache(text, match))
    return any(_differ(bits, _bits_of_words(match)) for match in others)


def _bits_of(quantization: str) -> int | None:
    """Return the bits of a weight; None where the name leaves them open, as AWQ does."""
    match = _BITS_OF_NAME.search(quantization)
    return int(match["bits"]) if match else None


def _bits_of_words(match: re.Match[str]) -> int:
    return _UNQUANTIZED_BITS if match[_HALF] else int(match["bits"] or match["digit"])


def _differ(bits: int | None, other_bits: int) -> bool:
    return other_bits == _UNQUANTIZED_BITS if bits is None else other_bits != bits


def _is_of_all_figures(text: str, match: re.Match[str], quantization: str) -> bool:
    """Return whether a name stands in a sentence without a figure, or every sentence with a figure has it."""
    start, end = _limits_of_sentence(text, match)
    if not FIGURE.search(text[start:end]):
        return True
    sentences = _sentences(text[:start], text[end:])
    return all(quantization in sentence.upper() for sentence in sentences if FIGURE.search(sentence))


def _limits_of_sentence(text: str, match: re.Match[str]) -> tuple[int, int]:
    first = max(0, match.start() - MAX_SENTENCE_CHARS)
    ends = [end.end() for end in _END_OF_SENTENCE.finditer(text, first, match.start())]
    behind = _END_OF_SENTENCE.search(text, match.end(), match.end() + MAX_SENTENCE_CHARS)
    return (ends[-1] if ends else first), (
        behind.start() if behind else min(len(text), match.end() + MAX_SENTENCE_CHARS)
    )


def _sentences(*parts: str) -> Iterable[str]:
    return (sentence[:MAX_SENTENCE_CHARS] for part in parts for sentence in _END_OF_SENTENCE.split(part))


def _is_of_cache(text: str, match: re.Match[str]) -> bool:
    """Return whether a name is the type of the KV cache: '--kv-cache-dtype fp8', '-ctk q8_0', 'FP8 KV cache'."""
    before = _before(text, match)
    return _OF_CACHE_BEFORE.search(before) is not None or _OF_CACHE_BEHIND.match(text, match.end()) is not None

"""The only definition of a secret, by name, shape and value: for commands, logs, bundles and pages alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the server's shim imports this module and must not load pydantic
    from domain import JsonValue

MASK = "<secret>"
HIDDEN_PREFIX = "PITWALL_SECRET_"
SERVER_API_KEY = "SERVER_API_KEY"  # the variable in which a workload finds the key of its server
SHORTEST_VALUE = 8  # characters; a shorter value is masked only in its own field

Span = tuple[int, int]

# 'HF_TOKEN', 'VLLM_API_KEY', 'PGPASSWORD', 'AWS_ACCESS_KEY_ID' and 'URLPW', but not 'MAX_TOKENS' or 'PASSWORD_FILE'.
_SECRET_ENDING = (
    r"(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?|(?<![A-Z])AUTH|AUTHORIZATION|"
    r"(?<!BY)(?<!COM)(?<!SUR)PASS|PW|(?<=_)PWD)(?:[_-]?(?:ID|\d+))?"
)
_SECRET_NAME = re.compile(rf"(?<![A-Z])(?!OLD_?PWD$)[\w-]*?{_SECRET_ENDING}$", re.IGNORECASE)
_SECRET_FLAG = re.compile(
    r"--?(hft|([\w-]*[-_])?(api[-_]?key|hf[-_]token|auth[-_]token|access[-_]token|bearer[-_]token|password|secret)|token)$",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"\$(\w+|\{\w+(:?[-?+=][^}]*)?\}|env:\w+)$|%\w+%$")
_HARMLESS_VALUE = re.compile(r"(?:none|null|true|false|yes|no|on|off|\d{1,6}|\*+)$", re.IGNORECASE)
_SWITCH = re.compile(r"(?:true|false|yes|no|on|off|[01])$", re.IGNORECASE)
_PLACEHOLDERS = frozenset({"empty", "none", "null", "dummy", "changeme", "your-key", "not-needed", "no-key-required"})

_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-(?=[\w-]*\d)[\w-]{16,}|nvapi-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[\w-]{35}|"
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}|pwt_[\w-]{40,}|xox[abeprs]-[\w-]{10,}|wandb_v1_\w{20,}|"
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})|(?<=hooks\.slack\.com/services/)[\w/]{20,}|(?<=Bearer )[\w.~+/-]{8,}=*"
)
_QUOTE = r"""\\{0,3}['"]"""  # as JSON within a text has it too: '{\"HF_TOKEN\": \"...\"}'
_ASSIGNMENT = rf"""(?:{_QUOTE})?\s*[:=]\s*\[?(?:{_QUOTE})?"""
_VALUE = r"""(?P<value>(?:[^\s'",;&\])}\\]|\\(?!\\{0,2}['"]))+)"""
_TEXT_TOKENS = ("BOS", "EOS", "EOT", "PAD", "UNK", "SEP", "CLS", "MASK", "STOP", "IMAGE")  # 'EOS_TOKEN' is no secret
_NO_TEXT_TOKEN = "".join(f"(?<!{name}_)" for name in _TEXT_TOKENS)
_SECRET_PATTERNS = (
    re.compile(rf"(?<![a-z]){_NO_TEXT_TOKEN}{_SECRET_ENDING}{_ASSIGNMENT}{_VALUE}"),
    re.compile(
        r"(?:api[-_]?key|access[-_]key(?:[-_]id)?|secret[-_]key|(?:hf|auth|access|refresh|bearer)[-_]token|"
        rf"_secret|password|passwd|passphrase){_ASSIGNMENT}{_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"""authorization(?:{_QUOTE})?\s*[:=,]\s*\(?b?(?:{_QUOTE})?(?:(?:basic|bearer|token|digest|apikey)\s+(?P<value>[\w.~+/=-]{{4,}})|"""
        r"""(?P<bare>(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}))""",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<!\S)--?[\w-]*(?:api[-_]?key|hf[-_]token|auth[-_]token|password|secret)\s+(?P<value>[^\s-]\S*)",
        re.IGNORECASE,
    ),
    re.compile(r"://[^\s/:@]*:(?P<value>[^\s/@]+)(?=@)"),
    re.compile(r"[?&](?:token|key|sig|signature|x-amz-signature)=(?P<value>[^\s&'\"#]{8,})", re.IGNORECASE),
    re.compile(rf"\bkey{_ASSIGNMENT}(?P<value>sk-[\w-]{{12,}})", re.IGNORECASE),
    re.compile(rf"{_QUOTE}token{_QUOTE}\s*:\s*{_QUOTE}(?P<value>(?=[\w.~+/=-]*\d)[\w.~+/=-]{{12,}})", re.IGNORECASE),
)


_HINTS = ("key", "token", "secret", "pass", "auth", "pw", "credential", "://", "sig")  # every pattern needs one


def is_secret_name(name: str, value: str = "") -> bool:
    """Whether an environment variable of this name holds a secret; one that holds 'true' or '0' is a switch."""
    return bool(_SECRET_NAME.match(name)) and not _SWITCH.match(value)


def is_secret_flag(flag: str) -> bool:
    """Whether the value of this command-line flag is a secret ('--api-key', '--hf-token')."""
    return bool(_SECRET_FLAG.fullmatch(flag))


def is_reference(value: str) -> bool:
    """Whether a value is masked or only refers to a secret stored elsewhere ('$HF_TOKEN', '${KEY:-}', '%KEY%')."""
    return value in ("", MASK) or bool(_REFERENCE.fullmatch(value) and not _SHAPES.search(value))


def is_distinctive(value: str) -> bool:
    """Whether a secret's value can be searched for in any text: a placeholder or a short word cannot."""
    return len(value) >= SHORTEST_VALUE and value.lower() not in _PLACEHOLDERS and not is_reference(value)


class KnownSecrets:
    """Values that this process knows to be secret, in memory only; thread-safe."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        """Mask these values in every text from now on."""
        values = self._values.union(filter(is_distinctive, values))
        if values != self._values:
            self._values, self._pattern = values, pattern_of_values(values)

    def spans(self, text: str) -> list[Span]:
        """Return their positions in a text."""
        return [match.span() for match in self._pattern.finditer(text)] if self._pattern else []


KNOWN = KnownSecrets()


def pattern_of_values(values: Iterable[str]) -> re.Pattern[str] | None:
    """Return a pattern of the values, the longest first; None if there are no values."""
    words = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words))) if words else None


def secret_spans(text: str, secrets: Iterable[str] = ()) -> list[Span]:
    """Return the (start, end) of secrets in a text, in order: known values, given values, and secret-like text."""
    spans = [*KNOWN.spans(text), *(match.span() for match in _SHAPES.finditer(text))]
    if pattern := pattern_of_values(filter(is_distinctive, secrets)):
        spans += [match.span() for match in pattern.finditer(text)]
    lowered = text.lower()
    for pattern in _SECRET_PATTERNS if any(hint in lowered for hint in _HINTS) else ():
        for match in pattern.finditer(text):
            group = "value" if match["value"] else "bare"
            if not (_HARMLESS_VALUE.match(match[group]) or is_reference(match[group])):
                spans.append(match.span(group))
    return merge_spans(spans)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, overlapping ones merged."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def mask_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Mask known and given secrets and secret-like text ('api_key: x', '--api-key x')."""
    for start, end in reversed(secret_spans(text, secrets)):
        text = text[:start] + MASK + text[end:]
    return text


def mask_json(value: JsonValue, name: str = "") -> JsonValue:
    """Mask secrets in JSON, recognised by the key of a value or by the look of its text."""
    if isinstance(value, dict):
        return {key: mask_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_json(item, name) for item in value]
    if not isinstance(value, str):
        return value
    is_secret = is_secret_flag(f"--{name}") or (name.isupper() and is_secret_name(name, value))
    return MASK if is_secret and not is_reference(value) else mask_text(value)

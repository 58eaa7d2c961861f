"""The one list of what is a secret, by name, by shape and by value: for commands, logs, bundles and pages alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # the shim of a server needs a name of this module, and no pydantic for as long as the server lives
    from domain import JsonValue

MASK = "<secret>"
HIDDEN_PREFIX = "PITWALL_SECRET_"
SERVER_API_KEY = "SERVER_API_KEY"  # the variable in which a workload finds the key of its server
SHORTEST_VALUE = 8  # characters; a shorter value is a secret in its own place alone

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
_SAYS_NOTHING = re.compile(r"(?:none|null|true|false|yes|no|on|off|\d{1,6}|\*+)$", re.IGNORECASE)
_SWITCH = re.compile(r"(?:true|false|yes|no|on|off|[01])$", re.IGNORECASE)
_PLACEHOLDERS = frozenset({"empty", "none", "null", "dummy", "changeme", "your-key", "not-needed", "no-key-required"})

_SHAPES = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-(?=[\w-]*\d)[\w-]{16,}|nvapi-[\w-]{16,}|(?:AKIA|ASIA)[0-9A-Z]{16}\b|AIza[\w-]{35}|"
    r"gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}|pwt_[\w-]{40,}|xox[abeprs]-[\w-]{10,}|wandb_v1_\w{20,}|"
    r"eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,})|(?<=hooks\.slack\.com/services/)[\w/]{20,}|(?<=Bearer )[\w.~+/-]{8,}=*"
)
_SAYS = r"""['"]?\s*[:=]\s*\[?['"]?"""
_VALUE = r"""(?P<value>[^\s'",;&\])}]+)"""
_TEXT_TOKENS = ("BOS", "EOS", "EOT", "PAD", "UNK", "SEP", "CLS", "MASK", "STOP", "IMAGE")  # 'EOS_TOKEN' is no secret
_NO_TEXT_TOKEN = "".join(f"(?<!{name}_)" for name in _TEXT_TOKENS)
_PLACES = (
    re.compile(rf"(?<![a-z]){_NO_TEXT_TOKEN}{_SECRET_ENDING}{_SAYS}{_VALUE}"),
    re.compile(
        r"(?:api[-_]?key|access[-_]key(?:[-_]id)?|secret[-_]key|(?:hf|auth|access|refresh|bearer)[-_]token|"
        rf"_secret|password|passwd|passphrase){_SAYS}{_VALUE}",
        re.IGNORECASE,
    ),
    re.compile(
        r"""authorization['"]?\s*[:=,]\s*\(?b?['"]?(?:(?:basic|bearer|token|digest|apikey)\s+(?P<value>[\w.~+/=-]{4,})|"""
        r"""(?P<bare>(?=[\w.~+/=-]*\d)[\w.~+/=-]{16,}))""",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?<!\S)--?[\w-]*(?:api[-_]?key|hf[-_]token|auth[-_]token|password|secret)\s+(?P<value>[^\s-]\S*)",
        re.IGNORECASE,
    ),
    re.compile(r"://[^\s/:@]*:(?P<value>[^\s/@]+)(?=@)"),
    re.compile(r"[?&](?:token|key|sig|signature|x-amz-signature)=(?P<value>[^\s&'\"#]{8,})", re.IGNORECASE),
)


_HINTS = ("key", "token", "secret", "pass", "auth", "pw", "credential", "://", "sig")  # one is in every place above


def is_secret_name(name: str, value: str = "") -> bool:
    """Whether an environment variable of this name holds a secret; one that holds 'true' or '0' is a switch."""
    return bool(_SECRET_NAME.match(name)) and not _SWITCH.match(value)


def is_secret_flag(flag: str) -> bool:
    """Whether the value of this command-line flag is a secret ('--api-key', '--hf-token')."""
    return bool(_SECRET_FLAG.fullmatch(flag))


def is_reference(value: str) -> bool:
    """Whether a value is masked or only points at a secret kept elsewhere ('$HF_TOKEN', '${KEY:-}', '%KEY%')."""
    return value in ("", MASK) or bool(_REFERENCE.fullmatch(value) and not _SHAPES.search(value))


def is_distinctive(value: str) -> bool:
    """Whether a secret's value gives it away wherever it stands: a placeholder or a short word does not."""
    return len(value) >= SHORTEST_VALUE and value.lower() not in _PLACEHOLDERS and not is_reference(value)


class KnownSecrets:
    """The values that this process knows to be secret, held in memory alone; any thread may ask or add."""

    def __init__(self) -> None:
        self._values: frozenset[str] = frozenset()
        self._pattern: re.Pattern[str] | None = None

    def add(self, values: Iterable[str]) -> None:
        """Mask these wherever they appear from now on."""
        values = self._values.union(filter(is_distinctive, values))
        if values != self._values:
            self._values, self._pattern = values, any_of(values)

    def spans(self, text: str) -> list[Span]:
        """Where they stand in a text."""
        return [match.span() for match in self._pattern.finditer(text)] if self._pattern else []


KNOWN = KnownSecrets()


def any_of(values: Iterable[str]) -> re.Pattern[str] | None:
    """A pattern of the values, the longest first; None for no value."""
    words = sorted(values, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words))) if words else None


def secret_spans(text: str, secrets: Iterable[str] = ()) -> list[Span]:
    """Where secrets stand in a text, as (start, end), in order: known ones, given ones, and what looks like one."""
    spans = [*KNOWN.spans(text), *(match.span() for match in _SHAPES.finditer(text))]
    if pattern := any_of(filter(is_distinctive, secrets)):
        spans += [match.span() for match in pattern.finditer(text)]
    lowered = text.lower()
    for place in _PLACES if any(hint in lowered for hint in _HINTS) else ():
        for match in place.finditer(text):
            group = "value" if match["value"] else "bare"
            if not (_SAYS_NOTHING.match(match[group]) or is_reference(match[group])):
                spans.append(match.span(group))
    return merge_spans(spans)


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, overlapping ones as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def mask_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Text without known and given secrets, and without what looks like one ('api_key: x', '--api-key x')."""
    for start, end in reversed(secret_spans(text, secrets)):
        text = text[:start] + MASK + text[end:]
    return text


def mask_json(value: JsonValue, name: str = "") -> JsonValue:
    """JSON without secrets: known by the name that a value stands under, or by what its text looks like."""
    if isinstance(value, dict):
        return {key: mask_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_json(item, name) for item in value]
    if not isinstance(value, str):
        return value
    is_secret = is_secret_flag(f"--{name}") or (name.isupper() and is_secret_name(name, value))
    return MASK if is_secret and not is_reference(value) else mask_text(value)

"""The one home of what is a secret: recognised by its name, kept out of the store, the pages and the logs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from domain import JsonValue

MASK = "<secret>"
HIDDEN_PREFIX = "PITWALL_SECRET_"
SERVER_API_KEY = "SERVER_API_KEY"  # the variable in which a workload finds the key of its server

# 'HF_TOKEN', 'VLLM_API_KEY', 'PGPASSWORD' and 'AWS_ACCESS_KEY_ID', but not 'MAX_TOKENS' or 'PASSWORD_FILE'.
_SECRET_NAME = re.compile(r"(TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)([_-]?(ID|\d+))?$", re.IGNORECASE)
_SECRET_FLAG = re.compile(
    r"--?(hft|([\w-]*[-_])?(api[-_]?key|hf[-_]token|auth[-_]token|access[-_]token|bearer[-_]token|password|secret)|token)$",
    re.IGNORECASE,
)
_API_KEY_NAME = re.compile(r"--?api[-_]key|(VLLM|SGLANG|LLAMA)_API_KEY")
_ASSIGNMENT = re.compile(r"(?P<flag>--?[\w-]+=)?(?P<name>[A-Za-z_]\w*)=(?P<value>.*)$", re.DOTALL)
_REFERENCE = re.compile(r"\$(\w+|\{\w+(:?[-?+=][^}]*)?\}|env:\w+)$|%\w+%$")
_POINTED = re.compile(r"\$\{?(env:)?(?P<name>\w+)(:?-(?P<default>[^}]*))?")
_IN_TEXT = re.compile(
    r"""(?P<head>(?<![\w-])[\w-]*(?:api[-_]key|hf[-_]token|_TOKEN|_SECRET|password)['"]?\s*[:=]\s*\[?['"]?)(?P<value>[^\s'",\])}]+)""",
    re.IGNORECASE,
)
_TOKEN_SHAPES = re.compile(
    r"\b(hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|nvapi-[\w-]{16,})|(?<=Bearer )[\w.~+/-]{8,}=*"
)
_FLAG_IN_TEXT = re.compile(
    r"(?P<head>(?<!\S)--?[\w-]*(?:api[-_]?key|hf[-_]token|auth[-_]token|password|secret)\s+)(?P<value>[^\s-]\S*)",
    re.IGNORECASE,
)
_URL_PASSWORD = re.compile(r"(?P<head>://[^\s/:@]+:)(?P<value>[^\s/@]+)(?=@)")
_SHORTEST_IN_TEXT = 4  # a shorter value would blot out innocent text


def is_secret_name(name: str) -> bool:
    """Whether an environment variable of this name holds a secret."""
    return bool(_SECRET_NAME.search(name))


def is_secret_flag(flag: str) -> bool:
    """Whether the value of this command-line flag is a secret ('--api-key', '--hf-token')."""
    return bool(_SECRET_FLAG.fullmatch(flag))


def is_reference(value: str) -> bool:
    """Whether a value is masked or only points at a secret kept elsewhere ('$HF_TOKEN', '${KEY:-}', '%KEY%')."""
    return value in ("", MASK) or bool(_REFERENCE.fullmatch(value) and not _TOKEN_SHAPES.search(value))


def replace_in_argv(argv: Sequence[str], replace: Callable[[str, str], str]) -> list[str]:
    """The argv with every secret value `v` of flag or variable `name` replaced by `replace(name, v)`.

    Known are '--flag value ...' up to the next flag, '--flag=value', 'NAME=value' and '--env=NAME=value'.
    """
    words: list[str] = []
    open_flag: str | None = None  # vLLM takes several keys behind one --api-key
    for word in argv:
        flag, equals, value = word.partition("=")
        assigned = _ASSIGNMENT.fullmatch(word)
        if equals and is_secret_flag(flag):
            word, open_flag = f"{flag}={replace(flag, value)}", None
        elif assigned and is_secret_name(assigned["name"]):
            word = f"{assigned['flag'] or ''}{assigned['name']}={replace(assigned['name'], assigned['value'])}"
        elif word.startswith("-"):
            open_flag = word if is_secret_flag(word) else None
        elif open_flag:
            word = replace(open_flag, word)
        words.append(word)
    return words


def mask_argv(argv: Sequence[str]) -> list[str]:
    """The argv with literal secrets as '<secret>'; references stay as they were written."""
    return replace_in_argv(argv, lambda _, value: value if is_reference(value) else MASK)


def mask_env(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with literal values of secret names as '<secret>'."""
    return {name: MASK if is_secret_name(name) and not is_reference(value) else value for name, value in env.items()}


def mask_text(text: str, secrets: Iterable[str] = ()) -> str:
    """Text without the given secrets, and without what looks like one ('api_key: x', '--api-key x', 'Bearer x')."""
    for secret in sorted((s for s in secrets if len(s) >= _SHORTEST_IN_TEXT), key=len, reverse=True):
        text = text.replace(secret, MASK)
    text = _TOKEN_SHAPES.sub(MASK, text)
    for pattern in (_IN_TEXT, _FLAG_IN_TEXT, _URL_PASSWORD):
        text = pattern.sub(_without_value, text)
    return text


def _without_value(match: re.Match[str]) -> str:
    says_nothing = match["value"] in ("None", "null") or is_reference(match["value"])
    return match[0] if says_nothing else match["head"] + MASK


def mask_json(value: JsonValue, name: str = "") -> JsonValue:
    """JSON without secrets: known by the name that a value stands under, or by what its text looks like."""
    if isinstance(value, dict):
        return {key: mask_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_json(item, name) for item in value]
    if not isinstance(value, str):
        return value
    return MASK if is_secret_flag(f"--{name}") and not is_reference(value) else mask_text(value)


def hide_secrets(argv: Sequence[str], given: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The argv with each secret as `${PITWALL_SECRET_n}`, and the environment that holds them.

    A masked value or a reference is looked up in `given` by its flag or variable name.
    """
    hidden: dict[str, str] = {}

    def hide(name: str, value: str) -> str:
        if is_reference(value):
            pointed = _POINTED.match(value)
            elsewhere = given.get(pointed["name"], pointed["default"] or "") if pointed else ""
            value = given.get(name, elsewhere)
        variable = f"{HIDDEN_PREFIX}{len(hidden)}"
        hidden[variable] = value
        return f"${{{variable}}}"

    return replace_in_argv(argv, hide), hidden


def missing_secrets(argv: Sequence[str], env: Mapping[str, str], given: Mapping[str, str]) -> list[str]:
    """The flags and variables whose secret is masked here and not among those given."""
    masked = {name: value for name, value in env.items() if value == MASK}
    replace_in_argv(argv, lambda name, value: masked.setdefault(name, value) if value == MASK else value)
    return sorted(name for name in masked if name not in given)


def find_api_key(argv: Sequence[str], env: Mapping[str, str], given: Mapping[str, str]) -> str | None:
    """The key that the server will ask for, if the command or what was given says it."""
    stated = {name: value for name, value in {**env, **given}.items() if not is_reference(value)}
    replace_in_argv(argv, lambda name, value: value if is_reference(value) else stated.setdefault(name, value))
    keys = (value for name, value in stated.items() if _API_KEY_NAME.fullmatch(name))
    return next((key.split(",")[0] for key in keys), None)
